// AMX: tile registers by literal numbers, so that each statement is one instruction (LLVM's typed form would load a configuration in every
// function).
#include "codetta/base/error.h"
#include "codetta/codegen/x86/statements.h"
#include "codetta/tile/view.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace codetta::codegen::x86 {

using tile::View;

int X86Statements::tile_number(const View& v, int64_t element_offset) {
    const auto& buffer = kernel.buffer(v);
    const auto first = v.buffer.value < first_tile_.size() ? first_tile_[v.buffer.value] : -1;
    CODETTA_CHECK(first >= 0, "the tile buffer '{}' is used outside the life of its alloc", buffer.name);
    const auto offset = kernel.integers.resolve(v.offset).constant();
    CODETTA_CHECK(offset.has_value(), "a tile register of '{}' is chosen at run time: unroll the loop", buffer.name);
    const int64_t elements = 1024 / scalar::bytes(buffer.dtype), at = *offset + element_offset;
    CODETTA_CHECK(at % elements == 0, "element {} of '{}' is not the first of a tile", at, buffer.name);
    return first + static_cast<int>(at / elements);
}

namespace {

// A view of tile registers taken apart: dims inside a row, dims over the 16 rows, dims over tiles. The second view, if any, is the memory
// on the other side.
struct TileDims {
    std::vector<Dim> columns, rows, tiles;
};

TileDims take_apart(std::span<const layout::Layout> layouts, int64_t columns) {
    TileDims result;
    std::vector<Dim> left = iterate(layouts).dims;
    while (!left.empty()) {
        Dim dim = left.back();
        left.pop_back();
        const auto stride = dim.strides[0].constant();
        CODETTA_CHECK(stride && *stride > 0, "a view of tile registers must have static strides > 0");
        const int64_t border = *stride < columns ? columns : *stride < 16 * columns ? 16 * columns : INT64_MAX;
        if (border != INT64_MAX && dim.extent * *stride > border) { // reaches over the border: two dims
            const int64_t inner = border / *stride;
            CODETTA_CHECK(inner * *stride == border && dim.extent % inner == 0,
                          "a view of tile registers is not made of whole rows and tiles");
            Dim outer = dim;
            outer.extent = dim.extent / inner;
            for (auto& s : outer.strides) s = s * inner;
            dim.extent = inner;
            left.push_back(outer);
        }
        (border == columns ? result.columns : border == 16 * columns ? result.rows : result.tiles).push_back(dim);
    }
    int64_t in_row = 1, rows = 1;
    for (const auto& d : result.columns) in_row *= d.extent;
    for (const auto& d : result.rows) rows *= d.extent;
    CODETTA_CHECK(in_row == columns && rows == 16, "a tile statement moves {} rows of {} elements instead of 16 of {}", rows, in_row,
                  columns);
    return result;
}

} // namespace

// Row r of a tile is the 64 bytes at first + r * pitch, whatever the coordinates mean.
void X86Statements::copy_tiles(const tile::Copy& s) {
    CODETTA_CHECK(s.limits.empty(), "a tile copy has no limits: clamp its addresses");
    const bool load = is_tile(s.destination);
    const View &registers = load ? s.destination : s.source, &mem = load ? s.source : s.destination;
    const auto dtype = kernel.buffer(registers).dtype;
    const int64_t columns = 64 / scalar::bytes(dtype);
    const layout::Layout layouts[] = {registers.layout, mem.layout};
    TileDims dims = take_apart(layouts, columns);
    for (const auto& d : dims.columns)
        CODETTA_CHECK(d.strides[1] == d.strides[0], "a row of a tile must be contiguous in memory, in the order of the register");
    std::optional<sym::Expr> pitch;
    for (const auto& d : dims.rows)
        if (d.strides[0].is(columns)) pitch = d.strides[1];
    CODETTA_CHECK(pitch.has_value(), "the rows of a tile must follow each other");
    for (const auto& d : dims.rows)
        CODETTA_CHECK(d.strides[1] == *pitch * (*d.strides[0].constant() / columns),
                      "the rows of a tile must lie at one distance in memory");
    llvm::Value* bytes = kernel.integers.emit(*pitch * scalar::bytes(dtype));
    const tile::Atom& atom = kernel.atoms.get(s.atom);
    const auto id = llvm::Intrinsic::lookupIntrinsicID(atom.spelling.text);
    CODETTA_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic '{}' (atom '{}')", atom.spelling.text, atom.name);
    Plan plan{{dims.tiles}, -1, 1, std::vector<bool>(dims.tiles.size(), false), 1};
    run(kernel, plan, [&](const std::vector<Offset>& at, int) {
        llvm::Value* number = ir.b.getInt8(static_cast<uint8_t>(tile_number(registers, at[0].constant)));
        ir.call(id, {}, {number, memory.address(moved(memory.access(mem), at[1])), bytes});
    });
}

void X86Statements::fill_tiles(const tile::Fill& s) {
    CODETTA_CHECK(s.value == 0, "tile registers can only be filled with 0");
    const layout::Layout layouts[] = {s.destination.layout};
    TileDims dims = take_apart(layouts, 64 / scalar::bytes(kernel.buffer(s.destination).dtype));
    Plan plan{{dims.tiles}, -1, 1, std::vector<bool>(dims.tiles.size(), false), 1};
    run(kernel, plan, [&](const std::vector<Offset>& at, int) {
        ir.call(llvm::Intrinsic::x86_tilezero, {}, {ir.b.getInt8(static_cast<uint8_t>(tile_number(s.destination, at[0].constant)))});
    });
}

// d and a: row m of the tile; b: row k / pack of the tile holds (n, k % pack), pack = the elements in 4 bytes.
void X86Statements::multiply_tiles(const tile::Mma& s, const tile::Atom& atom) {
    CODETTA_CHECK(!s.accumulate_if, "'{}' always accumulates: fill its accumulators", atom.name);
    const auto id = llvm::Intrinsic::lookupIntrinsicID(atom.spelling.text);
    CODETTA_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic '{}' (atom '{}')", atom.spelling.text, atom.name);
    const int64_t tm = atom.d.shape[0], tn = atom.d.shape[1], tk = atom.a.shape[1], pack = 4 / scalar::bytes(atom.b.dtype);
    const auto offset = [&](const View& v, int64_t row, int64_t column) {
        const auto at = (tile::offset_of(v.layout.mode(0), row) + tile::offset_of(v.layout.mode(1), column)).constant();
        CODETTA_CHECK(at.has_value(), "a view of tile registers must be static");
        return *at;
    };
    const auto expect = [&](const View& v, const char* which, int64_t row, int64_t column, int64_t wanted) {
        const int64_t got = offset(v, row, column) - offset(v, 0, 0);
        CODETTA_CHECK(got == wanted, "{} of '{}': element ({}, {}) lies at {} of its tile register instead of {}", which, atom.name, row,
                      column, got, wanted);
    };
    for (int64_t i : {1, 15}) {
        expect(s.d, "d", i, 0, i * tn);
        expect(s.d, "d", 0, i, i);
        expect(s.a, "a", i, 0, i * tk);
        expect(s.a, "a", 0, i, i);
        expect(s.b, "b", i, 0, i * pack);
        expect(s.b, "b", 0, i * pack, i * tk);
        expect(s.b, "b", 0, i * pack + 1, i * tk + 1);
    }
    const int64_t m = tile::static_size(s.d.layout.mode(0)), n = tile::static_size(s.d.layout.mode(1)),
                  k = tile::static_size(s.a.layout.mode(1));
    const auto number = [&](const View& v, int64_t row, int64_t column) {
        return ir.b.getInt8(static_cast<uint8_t>(tile_number(v, offset(v, row, column))));
    };
    for (int64_t p = 0; p < k; p += tk)
        for (int64_t i = 0; i < m; i += tm)
            for (int64_t j = 0; j < n; j += tn) {
                llvm::Value* accumulator = number(s.d, i, j);
                if (!s.accumulate && p == 0) ir.call(llvm::Intrinsic::x86_tilezero, {}, {accumulator});
                ir.call(id, {}, {accumulator, number(s.a, i, p), number(s.b, j, p)});
            }
}

} // namespace codetta::codegen::x86
