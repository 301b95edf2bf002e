// Addresses and single accesses of every space.
#include "codetta/base/error.h"
#include "codetta/codegen/nvptx/statements.h"
#include "codetta/tile/view.h"

namespace codetta::codegen::nvptx {

using sym::Expr;
using tile::Space;
using tile::View;

namespace {

constexpr unsigned kSharedSpace = 3;

} // namespace

Offset NvptxStatements::bytes_in_shared(const View& v) const {
    const tile::Buffer& b = kernel.buffer(v);
    CODETTA_CHECK(b.space == Space::smem || b.space == Space::barrier, "'{}' does not lie in shared memory", b.name);
    Offset bytes;
    bytes.add(tile::offset_bytes(kernel.program, v.buffer));
    bytes.add(kernel.integers.resolve(v.offset) * (b.space == Space::barrier ? 8 : scalar::bytes(b.dtype)));
    return bytes;
}

llvm::Value* NvptxStatements::shared_address(const Offset& bytes) {
    llvm::Value* address = shared;
    if (!bytes.symbolic.is(0)) address = ir.b.CreateAdd(address, kernel.integers.emit_i32(bytes.symbolic));
    return bytes.constant == 0 ? address : ir.b.CreateAdd(address, ir.i32(bytes.constant));
}

// PTX ISA 9.7.9.23, swizzling modes: the 16-byte chunk index XOR the row index, both parts of the address.
llvm::Value* NvptxStatements::swizzled(llvm::Value* address, const tile::SwizzleBits& s) {
    if (s.bits == 0) return address;
    const int64_t mask = ((int64_t{1} << s.bits) - 1) << s.base;
    return ir.b.CreateXor(address, ir.b.CreateAnd(ir.b.CreateLShr(address, static_cast<uint64_t>(s.shift)), ir.i32(mask)));
}

std::vector<Expr> NvptxStatements::places(const View& v) const {
    std::vector<Expr> out;
    const Expr base = kernel.integers.resolve(v.offset);
    for (const Expr& o : tile::offsets(v.layout)) out.push_back(base + kernel.integers.resolve(o));
    return out;
}

llvm::Value* NvptxStatements::pointer(const View& v, const Expr& place) {
    const tile::Buffer& b = kernel.buffer(v);
    if (b.space == Space::gmem) {
        Offset offset;
        offset.add(place);
        return kernel.address(v.buffer, offset);
    }
    CODETTA_CHECK(b.space == Space::smem, "'{}' has no address", b.name);
    Offset bytes;
    bytes.add(tile::offset_bytes(kernel.program, v.buffer));
    bytes.add(place * scalar::bytes(b.dtype));
    return ir.b.CreateIntToPtr(swizzled(shared_address(bytes), v.swizzle), ir.b.getPtrTy(kSharedSpace));
}

int64_t NvptxStatements::alignment(const View& v, const Expr& place) const {
    const tile::Buffer& b = kernel.buffer(v);
    const int64_t size = scalar::bytes(b.dtype);
    int64_t whole = b.space == Space::smem ? 1024 : std::max(b.align_bytes, size);
    Expr bytes = place * size;
    if (b.space == Space::smem) bytes = bytes + tile::offset_bytes(kernel.program, v.buffer);
    if (v.swizzle.bits) whole = std::min<int64_t>(whole, int64_t{1} << v.swizzle.base);
    const int64_t divisor = kernel.integers.facts().divisor(bytes);
    while (divisor % whole != 0) whole /= 2;
    return std::max(whole, size);
}

llvm::Value* NvptxStatements::load(const View& v, const Expr& place, int lanes) {
    const tile::Buffer& b = kernel.buffer(v);
    auto* access = ir.b.CreateAlignedLoad(ir.lanes_of(ir.type(b.dtype), lanes), pointer(v, place),
                                          llvm::Align(static_cast<uint64_t>(alignment(v, place))));
    if (b.parameter && !b.written && b.no_alias)
        access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir.context, {}));
    return access;
}

llvm::Value* NvptxStatements::load_element(const View& v, const Expr& place) {
    if (!in_registers(v)) return load(v, place, 1);
    const auto known = kernel.integers.resolve(place).constant();
    CODETTA_CHECK(known.has_value(), "element {} of the registers '{}' is not known at compile time", sym::to_string(place),
                  kernel.buffer(v).name);
    return registers_.load(v.buffer, *known);
}

void NvptxStatements::store_element(const View& v, const Expr& place, llvm::Value* value) {
    if (in_registers(v)) {
        const auto known = kernel.integers.resolve(place).constant();
        CODETTA_CHECK(known.has_value(), "element {} of the registers '{}' is not known at compile time", sym::to_string(place),
                      kernel.buffer(v).name);
        return registers_.store(v.buffer, *known, value);
    }
    ir.b.CreateAlignedStore(value, pointer(v, place), llvm::Align(static_cast<uint64_t>(alignment(v, place))));
}

} // namespace codetta::codegen::nvptx
