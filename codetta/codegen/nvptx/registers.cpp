#include "codetta/codegen/nvptx/registers.h"

#include "codetta/base/error.h"
#include "codetta/tile/view.h"

namespace codetta::codegen::nvptx {

void Registers::alloc(tile::BufferId id) {
    const tile::Buffer& b = kernel_.program.buffer(id);
    Buffer& own = buffers_[id.value];
    if (!own.variables.empty()) return; // once per kernel: a block that runs again uses the same registers
    const auto elements = b.elements.constant();
    CODETTA_CHECK(elements.has_value() && *elements <= 512, "'{}' is no fragment for registers", b.name);
    own.pairs = scalar::bytes(b.dtype) == 2 && scalar::is_float(b.dtype) && *elements % 2 == 0;
    own.type = own.pairs ? kernel_.ir.lanes_of(kernel_.ir.type(b.dtype), 2) : kernel_.ir.type(b.dtype);
    llvm::Function& f = *kernel_.ir.function;
    llvm::IRBuilder<> entry(&f.getEntryBlock(), f.getEntryBlock().begin());
    for (int64_t i = 0; i < (own.pairs ? *elements / 2 : *elements); ++i)
        own.variables.push_back(entry.CreateAlloca(own.type, nullptr, b.name));
}

std::vector<int64_t> Registers::places(const tile::View& v) const {
    std::vector<int64_t> out;
    const sym::Expr base = kernel_.integers.resolve(v.offset);
    for (const sym::Expr& o : tile::offsets(v.layout)) {
        const auto place = kernel_.integers.resolve(base + o).constant();
        CODETTA_CHECK(place.has_value(), "element {} of the registers '{}' is not known at compile time", sym::to_string(base + o),
                      kernel_.buffer(v).name);
        out.push_back(*place);
    }
    return out;
}

llvm::AllocaInst* Registers::variable(tile::BufferId id, int64_t place) {
    const Buffer& own = buffers_[id.value];
    const auto index = static_cast<size_t>(own.pairs ? place / 2 : place);
    CODETTA_CHECK(place >= 0 && index < own.variables.size(), "element {} of the registers '{}'", place, kernel_.program.buffer(id).name);
    return own.variables[index];
}

llvm::Value* Registers::load(tile::BufferId id, int64_t place) {
    auto* variable = this->variable(id, place);
    llvm::Value* value = kernel_.ir.b.CreateLoad(variable->getAllocatedType(), variable);
    return has_pairs(id) ? kernel_.ir.b.CreateExtractElement(value, static_cast<uint64_t>(place & 1)) : value;
}

void Registers::store(tile::BufferId id, int64_t place, llvm::Value* value) {
    auto* variable = this->variable(id, place);
    if (has_pairs(id)) {
        llvm::Value* old = kernel_.ir.b.CreateLoad(variable->getAllocatedType(), variable);
        value = kernel_.ir.b.CreateInsertElement(old, value, static_cast<uint64_t>(place & 1));
    }
    kernel_.ir.b.CreateStore(value, variable);
}

llvm::Value* Registers::load_pair(tile::BufferId id, int64_t place) {
    CODETTA_CHECK(has_pairs(id) && place % 2 == 0, "no pair at {}", place);
    auto* variable = this->variable(id, place);
    return kernel_.ir.b.CreateLoad(variable->getAllocatedType(), variable);
}

void Registers::store_pair(tile::BufferId id, int64_t place, llvm::Value* value) {
    CODETTA_CHECK(has_pairs(id) && place % 2 == 0, "no pair at {}", place);
    kernel_.ir.b.CreateStore(value, variable(id, place));
}

} // namespace codetta::codegen::nvptx
