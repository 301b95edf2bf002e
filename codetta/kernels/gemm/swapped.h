// The product with its roles swapped, for few rows and columns that lie as the model holds them: rows of b are broadcast straight from
// memory, read once and never packed; the (small) a is packed.
#pragma once

#include "codetta/kernels/gemm/x86.h"

namespace codetta::kernels::gemm {

// Columns that a task computes together: a multiple of every register tile's rows (3, 6, 12) and of the 16 that are transposed at a time.
inline constexpr int64_t kSwappedColumns = 48;

// @pre v.b.k_stride is 1, v.n >= kSwappedColumns, both operands in the register tile's dtype
struct Swapped {
    Kernel pack, product; // pack fills temporary 0 with panels of a; the product reads it
    sym::Expr packed_bytes;
    sym::Expr padded_rows; // of a: whole panels
};
// rows_hint: how many rows are likely; the panel's width follows it.
Swapped emit_swapped(const problem::Problem& p, const View& v, const X86Config& c, int64_t vector_lanes, int64_t rows_hint);

} // namespace codetta::kernels::gemm
