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

// Both operands are packed in blocks of neighbouring tiles: [k/32][tiles][one tile], zero past the last k. What a row or column past the
// last one holds is never looked at. A tile of rows is [16 rows][32 k], one of columns (a panel) [16 pairs of k][16 columns][2].
inline sym::Expr block_elements(const sym::Expr& k, int64_t tiles) { return steps_of(k) * (tiles * kTileElements); }

// A tile of memory as the row operand (16 rows at a distance of `pitch` elements, contiguous k) and as the column operand (16 columns,
// pairs of k).
tile::View row_tile(const tile::View& memory, const sym::Expr& offset, const sym::Expr& pitch);
tile::View column_tile(const tile::View& memory, const sym::Expr& offset);

// Columns first .. first + panels*16*tiles - 1 (those below `count`) of a side into the panels from `to` on. `memory`: the side's buffer at
// element (batch, 0, 0).
void pack_columns(tile::Builder& b, const Side& side, const sym::Expr& count, const sym::Expr& k, const tile::View& memory,
                  const sym::Expr& first, int64_t tiles, const sym::Expr& panels, const tile::View& to);
// Rows first .. first + 16*tiles - 1 (those below `count`) of a side into the block `to`. `turned`: scratch of one tile, for sides whose k
// does not lie together.
void pack_rows(tile::Builder& b, const Side& side, const sym::Expr& count, const sym::Expr& k, const tile::View& memory,
               const sym::Expr& first, int64_t tiles, const tile::View& to, const tile::View& turned);
// The last k of rows first .. end-1 (k past 32 * floor(k/32)) as rows of 32, zero past the last k. @pre side.k_stride is 1; tail lies in
// scratch
void pack_tail(tile::Builder& b, const Side& side, const sym::Expr& k, const tile::View& memory, const sym::Expr& first,
               const sym::Expr& end, const tile::View& tail);

// The block `to` of two tiles of rows from rows first .. end-1 (rounded to bf16) (at most 32) of scratch, contiguous along k: row r at
// values.offset + r
// * pitch.
void pack_values(tile::Builder& b, const sym::Expr& k, const tile::View& values, const sym::Expr& pitch, const sym::Expr& first,
                 const sym::Expr& end, const tile::View& to);

// Two tiles of rows times `panels` panels of two tiles: column c of row r to result.offset + r * pitch + c, in f32 scratch, also the rows
// and columns that do not exist.
void multiply_rows(tile::Builder& b, const sym::Expr& k, const tile::View& rows, const tile::View& columns, const sym::Expr& panels,
                   const tile::View& result, const sym::Expr& pitch);

} // namespace codetta::kernels::gemm::amx
