// Allocs, fills, indices, checks, prefetches, atomics and shuffles.
#include "codetta/base/error.h"
#include "codetta/codegen/nvptx/statements.h"

#include <llvm/IR/InlineAsm.h>

namespace codetta::codegen::nvptx {

using tile::Space;

NvptxStatements::NvptxStatements(Kernel& kernel)
    : Statements(kernel), tensormaps(kernel.program.buffers.size()), ir(kernel.ir), registers_(kernel), body_(kernel.ir, kernel.target) {
    body_.special = [this](const scalar::Op& op, std::span<const Value> in, std::span<const scalar::DType> types) {
        return approximate(op, in, types);
    };
}

llvm::CallInst* NvptxStatements::assembly(llvm::Type* result, const std::string& text, const std::string& constraints,
                                          llvm::ArrayRef<llvm::Value*> arguments, bool side_effect) {
    llvm::SmallVector<llvm::Type*, 16> types;
    for (auto* a : arguments) types.push_back(a->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    auto* call = ir.b.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, side_effect), arguments);
    call->addFnAttr(llvm::Attribute::NoUnwind);
    if (side_effect)
        call->addFnAttr(llvm::Attribute::Convergent);
    else
        call->addFnAttr(llvm::Attribute::getWithMemoryEffects(ir.context, llvm::MemoryEffects::none()));
    return call;
}

llvm::CallInst* NvptxStatements::command(const std::string& text, const std::string& constraints, llvm::ArrayRef<llvm::Value*> arguments) {
    return assembly(ir.b.getVoidTy(), text, constraints + (constraints.empty() ? "" : ",") + "~{memory}", arguments);
}

llvm::Value* NvptxStatements::all_hold(const std::vector<sym::Condition>& conditions) {
    llvm::Value* all = ir.b.getTrue();
    for (const auto& c : conditions) {
        llvm::Value* one = kernel.integers.emit(c);
        all = all == ir.b.getTrue() ? one : ir.b.CreateAnd(all, one);
    }
    return all;
}

int NvptxStatements::warp_count() const { return std::get<tile::Grid>(kernel.program.frame).threads / 32; }

void NvptxStatements::alloc(const tile::Alloc& s) {
    if (kernel.program.buffer(s.buffer).space == Space::rmem) registers_.alloc(s.buffer);
}

llvm::Value* NvptxStatements::load_index(const tile::LoadIndex& s) {
    llvm::Value* value = load_element(s.source, kernel.integers.resolve(s.source.offset));
    return kernel.buffer(s.source).dtype == scalar::DType::u8 ? ir.b.CreateZExt(value, ir.b.getInt64Ty())
                                                              : ir.b.CreateSExt(value, ir.b.getInt64Ty());
}

// Leaves the thread: kernels whose threads meet at barriers afterwards check their indices before.
void NvptxStatements::fail_check(int32_t code) {
    CODETTA_CHECK(kernel.status != nullptr, "a check without a status slot");
    ir.b.CreateStore(ir.i32(code), kernel.status);
    ir.b.CreateRetVoid();
}

void NvptxStatements::emit(const tile::Fill& s) {
    const scalar::DType t = kernel.buffer(s.destination).dtype;
    llvm::Constant* value = ir.element(t, s.value);
    for (const auto& place : places(s.destination)) store_element(s.destination, place, value);
}

void NvptxStatements::emit(const tile::Prefetch& s) {
    if (kernel.buffer(s.target).space == Space::tensormap) {
        command("prefetch.tensormap [$0];", "l", {tensormaps[s.target.buffer.value]});
        return;
    }
    command(s.level == 1 ? "prefetch.global.L1 [$0];" : "prefetch.global.L2 [$0];", "l",
            {ir.b.CreatePtrToInt(pointer(s.target, kernel.integers.resolve(s.target.offset)), ir.b.getInt64Ty())});
}

void NvptxStatements::emit(const tile::Atomic& s) {
    const auto from = places(s.source), to = places(s.destination);
    const bool is_float = scalar::is_float(kernel.buffer(s.destination).dtype);
    for (size_t i = 0; i < from.size(); ++i)
        ir.b.CreateAtomicRMW(is_float ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add, pointer(s.destination, to[i]),
                             load_element(s.source, from[i]), llvm::MaybeAlign(), llvm::AtomicOrdering::Monotonic);
}

void NvptxStatements::emit(const tile::Shuffle& s) {
    const auto from = places(s.source), to = places(s.destination);
    std::vector<llvm::Value*> values;
    for (const auto& place : from) values.push_back(load_element(s.source, place));
    for (size_t i = 0; i < to.size(); ++i) {
        llvm::Value* value = values[i];
        llvm::Type* type = value->getType();
        const unsigned bits = type->getScalarSizeInBits();
        CODETTA_CHECK(bits <= 32, "a shuffle moves up to 32 bits, not {}", bits);
        llvm::Value* word = ir.b.CreateZExt(ir.b.CreateBitCast(value, ir.integer(static_cast<int>(bits))), ir.b.getInt32Ty());
        word = assembly(ir.b.getInt32Ty(), "shfl.sync.bfly.b32 $0, $1, $2, 0x1f, 0xffffffff;", "=r,r,n", {word, ir.i32(s.xor_mask)});
        store_element(s.destination, to[i], ir.b.CreateBitCast(ir.b.CreateTrunc(word, ir.integer(static_cast<int>(bits))), type));
    }
}

} // namespace codetta::codegen::nvptx
