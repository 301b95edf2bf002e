#include "codetta/kernels/gemm/amx_tiles.h"

#include "codetta/kernels/binding.h"
#include "codetta/layout/int_tuple.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/condition.h"

namespace codetta::kernels::gemm::amx {

using layout::IntTuple;
using scalar::DType;
using sym::Expr;
using tile::Builder;
using tile::View;

namespace {

View with(const View& memory, const Expr& offset, layout::Layout l) {
    return {memory.buffer, memory.offset + offset, std::move(l), memory.swizzle};
}

// (columns of `tiles` tiles, 2 * pairs of k), in a panel and in plain memory.
layout::Layout in_panel(int64_t tiles, int64_t pairs) {
    return tile::make_layout({IntTuple{IntTuple(kRows), IntTuple(tiles)}, IntTuple{IntTuple(2), IntTuple(pairs)}},
                             {IntTuple{IntTuple(2), IntTuple(kTileElements)}, IntTuple{IntTuple(1), IntTuple(2 * kRows)}});
}
layout::Layout in_memory(const Side& side, int64_t tiles, int64_t pairs) {
    return tile::make_layout({IntTuple{IntTuple(kRows), IntTuple(tiles)}, IntTuple{IntTuple(2), IntTuple(pairs)}},
                             {IntTuple{IntTuple(side.row_stride), IntTuple(kRows * side.row_stride)},
                              IntTuple{IntTuple(side.k_stride), IntTuple(2 * side.k_stride)}});
}

void when_tail(Builder& b, const Expr& k, const Expr& whole, const Builder::Body& body) {
    if (b.facts().divisor(k) % kDepth == 0) return;
    b.when({sym::lt(whole, k)}, body);
}

} // namespace

View row_tile(const View& memory, const Expr& offset, const Expr& pitch) {
    return with(memory, offset, tile::make_layout({IntTuple(kRows), IntTuple(kDepth)}, {IntTuple(pitch), IntTuple(1)}));
}

View column_tile(const View& memory, const Expr& offset) {
    return with(memory, offset,
                tile::make_layout({IntTuple(kRows), IntTuple{IntTuple(2), IntTuple(kRows)}},
                                  {IntTuple(2), IntTuple{IntTuple(1), IntTuple(2 * kRows)}}));
}

void pack_columns(Builder& b, const Side& side, const Expr& count, const Expr& k, const View& memory, const Expr& first, int64_t tiles,
                  const Expr& panels, const View& to) {
    const Expr whole = sym::floor_div(k, kDepth) * kDepth, step = tiles * kTileElements;
    const auto block = [&](const Expr& c, int64_t at_once, const View& panel, const Expr& k0) {
        const View from = with(memory, c * side.row_stride + k0 * side.k_stride, in_memory(side, at_once, kRows));
        b.copy(from, with(panel, sym::floor_div(k0, kDepth) * step, in_panel(at_once, kRows)),
               {.limits = {tile::limit_of_mode(from.layout, 0, count - c)}});
    };
    const auto tail = [&](const Expr& c, int64_t at_once, const View& panel) {
        const View last = with(panel, sym::floor_div(k, kDepth) * step, in_panel(at_once, kRows));
        b.fill(last, 0);
        b.loop("kt", whole, k, 2, [&](const Expr& k0) {
            const View from = with(memory, c * side.row_stride + k0 * side.k_stride, in_memory(side, at_once, 1));
            const View pair = b.rmem("pair", DType::bf16, {at_once * kRows, 2});
            b.copy(from, pair, {.limits = {tile::limit_of_mode(from.layout, 0, count - c), tile::limit_of_mode(from.layout, 1, k - k0)}});
            b.copy(pair, with(last, (k0 - whole) * kRows, in_panel(at_once, 1)));
        });
    };
    const auto panel_of = [&](const Expr& q, const Expr& t) {
        return with(to, q * block_elements(k, tiles) + t * kTileElements, to.layout);
    };
    const auto column_of = [&](const Expr& q, const Expr& t) { return b.let("c", first + (q * tiles + t) * kRows); };
    if (side.k_stride.is(1)) { // a tile at a time along all of k: as many streams of memory as it has columns
        b.loop("q", 0, panels, [&](const Expr& q) {
            b.loop("t", 0, tiles, [&](const Expr& t) {
                const Expr c = column_of(q, t);
                b.loop("kp", 0, whole, kDepth, [&](const Expr& k0) { block(c, 1, panel_of(q, t), k0); });
                when_tail(b, k, whole, [&] { tail(c, 1, panel_of(q, t)); });
            });
        });
        return;
    }
    // A step of k at a time over all panels, whose columns may lie together.
    b.loop("kp", 0, whole, kDepth,
           [&](const Expr& k0) { b.loop("q", 0, panels, [&](const Expr& q) { block(column_of(q, 0), tiles, panel_of(q, 0), k0); }); });
    when_tail(b, k, whole, [&] { b.loop("q", 0, panels, [&](const Expr& q) { tail(column_of(q, 0), tiles, panel_of(q, 0)); }); });
}

void pack_tail(Builder& b, const Side& side, const Expr& k, const View& memory, const Expr& first, const Expr& end, const View& tail) {
    const Expr whole = sym::floor_div(k, kDepth) * kDepth;
    when_tail(b, k, whole, [&] {
        b.loop("r", first, end, [&](const Expr& r) {
            const View from = strided(memory, memory.offset + r * side.row_stride + whole, kDepth, 1);
            b.copy(from, strided(tail, tail.offset + (r - first) * kDepth, kDepth, 1),
                   {.limits = {tile::limit_of_mode(from.layout, 0, k - whole)}});
        });
    });
}

void pack_rows(Builder& b, const Side& side, const Expr& count, const Expr& k, const View& memory, const Expr& first, int64_t tiles,
               const View& to, const View& turned) {
    const Expr whole = sym::floor_div(k, kDepth) * kDepth;
    const auto place = [&](const Expr& t, const Expr& k0) { return (sym::floor_div(k0, kDepth) * tiles + t) * kTileElements; };
    if (side.k_stride.is(1)) { // row by row
        b.loop("r", 0, sym::min(tiles * kRows, count - first), [&](const Expr& r) {
            const Expr row = b.let("row", memory.offset + (first + r) * side.row_stride);
            const Expr column = b.let("column", to.offset + place(sym::floor_div(r, kRows), 0) + sym::mod(r, kRows) * kDepth);
            b.loop("kp", 0, whole, kDepth, [&](const Expr& k0) {
                b.copy(strided(memory, row + k0, kDepth, 1), strided(to, column + k0 * (tiles * kRows), kDepth, 1));
            });
            when_tail(b, k, whole, [&] {
                const View from = strided(memory, row + whole, kDepth, 1), last = b.rmem("last", DType::bf16, {kDepth});
                b.copy(from, last, {.limits = {tile::limit_of_mode(from.layout, 0, k - whole)}});
                b.copy(last, strided(to, column + whole * (tiles * kRows), kDepth, 1));
            });
        });
        return;
    }
    // As columns first, whose pairs of k are then turned as elements of 32 bits.
    const auto turn = [&](const Expr& t, const Expr& k0) {
        b.copy(column_tile(turned, 0), with(to, place(t, k0),
                                            tile::make_layout({IntTuple(kRows), IntTuple{IntTuple(2), IntTuple(kRows)}},
                                                              {IntTuple(kDepth), IntTuple{IntTuple(1), IntTuple(2)}})));
    };
    const auto pairs = [&](const Expr& t, const Expr& k0, int64_t of, const Expr& k_left, const View& destination) {
        const Expr c = first + t * kRows;
        const View from = with(memory, c * side.row_stride + k0 * side.k_stride, in_memory(side, 1, of));
        std::vector<tile::Limit> limits{tile::limit_of_mode(from.layout, 0, count - c)};
        if (of == 1) limits.push_back(tile::limit_of_mode(from.layout, 1, k_left));
        b.copy(from, destination, {.limits = limits});
    };
    const View all = with(turned, 0, in_panel(1, kRows));
    b.loop("t", 0, tiles, [&](const Expr& t) {
        b.loop("kp", 0, whole, kDepth, [&](const Expr& k0) {
            pairs(t, k0, kRows, kDepth, all);
            turn(t, k0);
        });
        when_tail(b, k, whole, [&] {
            b.fill(all, 0);
            b.loop("kt", whole, k, 2, [&](const Expr& k0) { pairs(t, k0, 1, k - k0, with(turned, (k0 - whole) * kRows, in_panel(1, 1))); });
            turn(t, whole);
        });
    });
}

void pack_values(Builder& b, const Expr& k, const View& values, const Expr& pitch, const Expr& first, const Expr& end, const View& to) {
    b.loop("r", first, end, [&](const Expr& row) {
        const Expr r = row - first, from = values.offset + row * pitch;
        const Expr place = b.let("place", to.offset + sym::floor_div(r, kRows) * kTileElements + sym::mod(r, kRows) * kDepth);
        b.loop("kp", 0, k, kDepth, [&](const Expr& k0) {
            const View wide = b.rmem("wide", b.dtype(values), {kDepth});
            b.copy(strided(values, from + k0, kDepth, 1), wide, {.limits = {tile::limit_of_mode(wide.layout, 0, k - k0)}});
            View narrow = wide;
            if (b.dtype(values) != DType::bf16) {
                narrow = b.rmem("narrow", DType::bf16, {kDepth});
                b.map(narrow, {wide}, [](scalar::Builder&, std::span<const scalar::Value> in) { return in[0]; });
            }
            b.copy(narrow, strided(to, place + k0 * (2 * kRows), kDepth, 1));
        });
    });
}

void multiply_rows(Builder& b, const Expr& k, const View& rows, const View& columns, const Expr& panels, const View& result,
                   const Expr& pitch) {
    for (const char* feature : {"amx_tile", "amx_bf16"}) b.require(feature);
    b.loop("panel", 0, panels, [&](const Expr& j) {
        std::vector<View> sums;
        for (int t = 0; t < 4; ++t) {
            sums.push_back(b.tmm("sum", DType::f32, tile::row_major(std::vector<int64_t>{kRows, kRows})));
            b.fill(sums.back(), 0);
        }
        b.loop("p", 0, steps_of(k), [&](const Expr& p) {
            std::vector<View> a;
            for (int64_t r = 0; r < 2; ++r) {
                a.push_back(b.tmm("a", DType::bf16, tile::row_major(std::vector<int64_t>{kRows, kDepth})));
                b.copy(row_tile(rows, (p * 2 + r) * kTileElements, kDepth), a.back(), {.atom = "amx.tileload_bf16"});
            }
            for (int64_t t = 0; t < 2; ++t) {
                const View column = column_tile(columns, j * block_elements(k, 2) + (p * 2 + t) * kTileElements);
                const View c = b.tmm("b", DType::bf16, column.layout);
                b.copy(column, c, {.atom = "amx.tileload_bf16"});
                for (int64_t r = 0; r < 2; ++r) b.mma("amx.tdpbf16ps", sums[static_cast<size_t>(2 * r + t)], a[static_cast<size_t>(r)], c);
            }
        });
        for (int64_t r = 0; r < 2; ++r)
            for (int64_t t = 0; t < 2; ++t)
                b.copy(sums[static_cast<size_t>(2 * r + t)],
                       with(result, r * kRows * pitch + (2 * j + t) * kRows,
                            tile::make_layout({IntTuple(kRows), IntTuple(kRows)}, {IntTuple(pitch), IntTuple(1)})),
                       {.atom = "amx.tilestore_f32"});
    });
}

} // namespace codetta::kernels::gemm::amx
