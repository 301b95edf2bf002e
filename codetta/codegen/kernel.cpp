#include "codetta/codegen/kernel.h"

#include "codetta/base/error.h"

namespace codetta::codegen {

Offset Kernel::offset(const tile::View& v) const {
    Offset result;
    result.add(integers.resolve(v.offset));
    return result;
}

llvm::Value* Kernel::address(tile::BufferId id, const Offset& offset) {
    const tile::Buffer& b = program.buffer(id);
    llvm::Value* pointer = base[id.value];
    CODETTA_CHECK(pointer != nullptr, "the buffer '{}' is used outside the life of its alloc", b.name);
    llvm::Type* element = ir.type(b.dtype);
    if (!offset.symbolic.is(0)) pointer = ir.b.CreateInBoundsGEP(element, pointer, integers.emit(offset.symbolic));
    if (offset.constant != 0) pointer = ir.b.CreateInBoundsPtrAdd(pointer, ir.i64(offset.constant * scalar::bytes(b.dtype)));
    return pointer;
}

void Kernel::tag_access(llvm::Instruction* access, tile::BufferId buffer) {
    llvm::MDNode* own = scope[buffer.value];
    if (!own) return;
    access->setMetadata(llvm::LLVMContext::MD_alias_scope, llvm::MDNode::get(ir.context, {own}));
    llvm::SmallVector<llvm::Metadata*, 8> others;
    for (auto* other : scope)
        if (other && other != own) others.push_back(other);
    if (!others.empty()) access->setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(ir.context, others));
}

} // namespace codetta::codegen
