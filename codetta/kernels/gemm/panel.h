// The packed form of a product's b operand: panels of `width` columns, each [k][width] (pairs of k side by side for 16-bit dot products), zero where there is no column.
#pragma once

#include "codetta/kernels/gemm/view.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/expr.h"
#include "codetta/tile/builder.h"

namespace codetta::kernels::gemm {

struct PanelFormat {
    int64_t width = 64;              // columns of a panel
    int64_t group = 1;               // consecutive k of one column that lie together
    scalar::DType dtype = scalar::DType::f32;
    sym::Expr k;                     // rounded up to group
    sym::Expr elements() const { return padded_k() * width; }  // of one panel
    sym::Expr padded_k() const { return sym::ceil_div(k, group) * group; }
};

// Writes the panel of columns n0 .. n0+width-1 of b to `panel` (its first element). `b_memory`: b's buffer at element (batch, 0, 0).
void pack_panel(tile::Builder& b, const View& v, const PanelFormat& format, const tile::View& b_memory, const sym::Expr& n0, const tile::View& panel);

} // namespace codetta::kernels::gemm
