// Buffers, single elements, prefetches and atomics on x86.
#include "codetta/base/error.h"
#include "codetta/codegen/x86/statements.h"

namespace codetta::codegen::x86 {

using tile::Space;

void X86Statements::alloc(const tile::Alloc& s) {
    const auto& buffer = kernel.program.buffer(s.buffer);
    llvm::Value*& base = kernel.base[s.buffer.value];
    switch (buffer.space) {
    case Space::rmem: {
        const auto elements = buffer.elements.constant();
        CODETTA_CHECK(elements.has_value(), "the register buffer '{}' has no static extent", buffer.name);
        base = ir.slot(ir.type(buffer.dtype), *elements, 64);
        base->setName(buffer.name);
        return;
    }
    case Space::scratch:
        base = ir.b.CreateInBoundsPtrAdd(scratch, kernel.integers.emit(tile::offset_bytes(kernel.program, s.buffer)), buffer.name);
        return;
    case Space::tmm: {
        const int64_t tile_elements = 1024 / scalar::bytes(buffer.dtype);
        const auto elements = buffer.elements.constant();
        CODETTA_CHECK(elements && *elements % tile_elements == 0, "the tile buffer '{}' must hold whole tiles of {} elements", buffer.name,
                      tile_elements);
        const int count = static_cast<int>(*elements / tile_elements);
        for (int first = 0; first + count <= 8; ++first) {
            bool free = true;
            for (int t = first; t < first + count; ++t) free = free && !tile_taken_[static_cast<size_t>(t)];
            if (!free) continue;
            for (int t = first; t < first + count; ++t) tile_taken_[static_cast<size_t>(t)] = true;
            first_tile_.resize(kernel.program.buffers.size(), -1);
            first_tile_[s.buffer.value] = first;
            return;
        }
        throw base::InternalError(fmt::format("more than 8 tile registers are alive at '{}'", buffer.name), kernel.program.name);
    }
    default: throw base::InternalError(fmt::format("a CPU has no memory for the buffer '{}'", buffer.name), kernel.program.name);
    }
}

void X86Statements::release(const tile::Alloc& s) {
    const auto& buffer = kernel.program.buffer(s.buffer);
    kernel.base[s.buffer.value] = nullptr;
    if (buffer.space != Space::tmm) return;
    const int64_t count = *buffer.elements.constant() * scalar::bytes(buffer.dtype) / 1024;
    for (int64_t t = 0; t < count; ++t) tile_taken_[static_cast<size_t>(first_tile_[s.buffer.value] + t)] = false;
    first_tile_[s.buffer.value] = -1;
}

llvm::Value* X86Statements::load_index(const tile::LoadIndex& s) {
    llvm::Value* raw = memory.load(memory.access(s.source), 1);
    const auto dtype = kernel.buffer(s.source).dtype;
    CODETTA_CHECK(scalar::is_integer(dtype), "an index must be an integer, not {}", scalar::to_string(dtype));
    return dtype == scalar::DType::u8 ? ir.b.CreateZExt(raw, ir.b.getInt64Ty()) : ir.b.CreateSExtOrTrunc(raw, ir.b.getInt64Ty());
}

void X86Statements::fail_check(int32_t code) {
    ir.b.CreateAlignedStore(ir.i32(code), kernel.status, llvm::Align(4));
    ir.b.CreateBr(kernel.leave);
}

void X86Statements::emit(const tile::Prefetch& s) {
    llvm::Value* address = memory.address(memory.access(s.target));
    ir.call(llvm::Intrinsic::prefetch, {ir.b.getPtrTy()}, {address, ir.i32(s.for_write), ir.i32(4 - s.level), ir.i32(1)});
}

void X86Statements::emit(const tile::Atomic& s) {
    Plan plan;
    const layout::Layout layouts[] = {s.source.layout, s.destination.layout};
    plan.space = iterate(layouts);
    roll(plan, 64);
    const Access from = memory.access(s.source), to = memory.access(s.destination);
    const bool is_float = scalar::is_float(to.dtype);
    CODETTA_CHECK(scalar::bytes(to.dtype) >= 4, "no atomic addition on {}", scalar::to_string(to.dtype));
    run(kernel, plan, [&](const std::vector<Offset>& at, int) {
        Access source = from, destination = to;
        source.offset.add(at[0].symbolic + at[0].constant);
        destination.offset.add(at[1].symbolic + at[1].constant);
        llvm::Value* value = memory.load(source, 1);
        ir.b.CreateAtomicRMW(is_float ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add, memory.address(destination), value,
                             llvm::Align(static_cast<uint64_t>(scalar::bytes(to.dtype))), llvm::AtomicOrdering::Monotonic);
    });
}

} // namespace codetta::codegen::x86
