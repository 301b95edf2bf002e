#include "codetta/kernels/gemm/panel.h"

#include "codetta/layout/int_tuple.h"
#include "codetta/scalar/function.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"

#include <algorithm>

namespace codetta::kernels::gemm {

using layout::IntTuple;
using sym::Expr;

namespace {

constexpr int64_t kBlock = 16; // the square that is transposed at a time

tile::View matrix(const tile::View& memory, const Expr& offset, int64_t rows, const Expr& row_stride, int64_t columns,
                  const Expr& column_stride) {
    return {memory.buffer, memory.offset + offset,
            tile::make_layout({IntTuple(rows), IntTuple(columns)}, {IntTuple(row_stride), IntTuple(column_stride)}), memory.swizzle};
}

// columns x ks of b, cast to the panel's dtype when it differs, into the panel. Past the last k there are zeros, whatever memory the panel lies in; what a column past the last one
// holds is never looked at.
void move(tile::Builder& b, const PanelFormat& format, const tile::View& from, const tile::View& to, const Expr& columns_left,
          const Expr& k_left) {
    const int64_t rows = tile::static_size(from.layout.mode(0)), columns = tile::static_size(from.layout.mode(1));
    std::vector<tile::Limit> limits{tile::limit_of_mode(from.layout, 0, columns_left), tile::limit_of_mode(from.layout, 1, k_left)};
    const bool whole_k = k_left == Expr(columns);
    if (whole_k && b.dtype(from) == format.dtype) {
        b.copy(from, to, {.limits = limits});
        return;
    }
    tile::View piece = b.rmem("raw", b.dtype(from), {rows, columns});
    b.copy(from, piece, {.limits = limits});
    if (b.dtype(from) != format.dtype) {
        const tile::View cast = b.rmem("cast", format.dtype, {rows, columns});
        b.map(cast, {piece}, [](scalar::Builder&, std::span<const scalar::Value> in) { return in[0]; });
        piece = cast;
    }
    b.copy(piece, to);
}

} // namespace

void pack_panel(tile::Builder& b, const View& v, const PanelFormat& format, const tile::View& b_memory, const Expr& n0,
                const tile::View& panel) {
    const bool along_k = v.b.k_stride.is(1);
    const int64_t step = along_k ? kBlock : format.group, columns = along_k ? std::min(kBlock, format.width) : format.width;
    const auto block = [&](const Expr& c, const Expr& k0, int64_t ks, const Expr& k_left) {
        const tile::View from =
            matrix(b_memory, (n0 + c) * v.b.row_stride + k0 * v.b.k_stride, columns, v.b.row_stride, ks, v.b.k_stride);
        tile::View to = matrix(panel, k0 * format.width + c * format.group, columns, format.group, ks, format.width);
        if (format.group > 1)
            to.layout = tile::make_layout({IntTuple(columns), IntTuple{IntTuple(format.group), IntTuple(ks / format.group)}},
                                          {IntTuple(format.group), IntTuple{IntTuple(1), IntTuple(format.group * format.width)}});
        move(b, format, from, to, v.n - n0 - c, k_left);
    };
    // A block of columns from the first k to the last: as many streams of memory as it has columns, which the prefetcher can follow.
    const auto all_k = [&](const Expr& c) {
        const Expr whole = sym::floor_div(v.k, step) * step;
        b.loop("kp", 0, whole, step, [&](const Expr& k0) { block(c, k0, step, step); });
        if (whole == v.k || b.facts().proves(sym::eq(whole, v.k))) return;
        if (step == format.group)
            b.when({sym::lt(whole, v.k)}, [&] { block(c, whole, step, v.k - whole); });
        else // the rest of k, a group at a time
            b.loop("kp", whole, v.k, format.group, [&](const Expr& k0) { block(c, k0, format.group, v.k - k0); });
    };
    if (columns == format.width)
        all_k(0);
    else
        b.loop("cp", 0, format.width, columns, all_k);
}

} // namespace codetta::kernels::gemm
