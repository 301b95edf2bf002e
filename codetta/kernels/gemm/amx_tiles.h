// The tiles that AMX multiplies (16 rows of 64 bytes), the packed forms of both operands of a bf16 product, and the statements that fill
// them.
#pragma once

#include "codetta/kernels/gemm/view.h"
#include "codetta/sym/expr.h"
#include "codetta/tile/builder.h"

namespace codetta::kernels::gemm::amx {

inline constexpr int64_t kRows = 16;                     // of a tile, and columns of its result
inline constexpr int64_t kDepth = 32;                    // k of one instruction
inline constexpr int64_t kTileElements = kRows * kDepth; // of bf16: 1 KiB

// How many steps of kDepth cover k.
inline sym::Expr steps_of(const sym::Expr& k) { return sym::ceil_div(k, kDepth); }

// Column panels: [k/32][tiles][16 pairs of k][16 columns][2], zero past the last k; what a column past the last one holds is never looked
// at.
inline sym::Expr panel_elements(const sym::Expr& k, int64_t tiles) { return steps_of(k) * (tiles * kTileElements); }
// Row strips: [k/32][16 rows][32], zero past the last k.
inline sym::Expr strip_elements(const sym::Expr& k) { return steps_of(k) * kTileElements; }

// A tile of memory as the row operand (16 rows at a distance of `pitch` elements, contiguous k) and as the column operand (16 columns,
// pairs of k).
tile::View row_tile(const tile::View& memory, const sym::Expr& offset, const sym::Expr& pitch);
tile::View column_tile(const tile::View& memory, const sym::Expr& offset);

// Columns first .. first + 16*tiles - 1 (those below `count`) of a side into the panel that begins at `panel`. `memory`: the side's buffer
// at element (batch, 0, 0).
void pack_columns(tile::Builder& b, const Side& side, const sym::Expr& count, const sym::Expr& k, const tile::View& memory,
                  const sym::Expr& first, int64_t tiles, const tile::View& panel);
// Rows first .. first+15 (those below `count`) of a side into the strip that begins at `strip`. `turned`: scratch of one tile, for sides
// whose k does not lie together.
void pack_rows(tile::Builder& b, const Side& side, const sym::Expr& count, const sym::Expr& k, const tile::View& memory,
               const sym::Expr& first, const tile::View& strip, const tile::View& turned);
// The last k of rows first .. end-1 (k past 32 * floor(k/32)) as rows of 32, zero past the last k. @pre side.k_stride is 1; tail lies in
// scratch
void pack_tail(tile::Builder& b, const Side& side, const sym::Expr& k, const tile::View& memory, const sym::Expr& first,
               const sym::Expr& end, const tile::View& tail);

} // namespace codetta::kernels::gemm::amx
