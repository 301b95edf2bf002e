// The bf16 product on AMX tiles: blocks of 2 by 2 tiles whose sums stay in tile registers over all of k, while the block before goes
// through its epilogue.
#pragma once

#include "codetta/kernels/gemm/view.h"
#include "codetta/kernels/template.h"

namespace codetta::kernels::gemm {

namespace amx {

// Rows of the result whose operand stays in the second cache while columns pass by.
inline constexpr int64_t kBlock = 256;

struct Config {
    bool swapped = false; // b, as it lies, gives the rows of the tiles and a, packed in temporary 0, their columns; else a the rows, packed
                          // in temporary 1 (0)
    bool columns_packed = true; // not swapped: the tiles' columns come from temporary 0; else each task packs its panels
    int64_t row_tiles = 2, column_tiles = 2;
    bool all_rows = false; // a task takes all rows of the result, block after block; else one block
    bool rows_once = true; // whether the rows' tiles stay out of the first cache
    int64_t depth = 0;     // steps of k (32 each) summed at once for a block of rows, so that the columns stay in the first cache; 0: all
    int64_t group = 4;     // blocks of columns that a task takes
    int64_t unit = 1;      // rows of the epilogue in a step of k
    int64_t prefetch = 4;  // cache lines of the next columns that a step of k asks for
};

// The kernels that fill a temporary: panels of `tiles` tiles of a side that is `count` wide into temporary 0; blocks of rows of a, batch by
// batch.
Kernel emit_pack_columns(const problem::Problem& p, const View& v, const Side& side, const sym::Expr& count, int64_t tiles);
Kernel emit_pack_rows(const problem::Problem& p, const View& v, int64_t tiles, uint32_t temporary);
Kernel emit_product(const problem::Problem& p, const View& v, const Config& c);

// What must hold for reading b's rows in place, as the rows of the tiles.
bool can_swap(const problem::Problem& p, const View& v);

} // namespace amx

Template x86_amx();

} // namespace codetta::kernels::gemm
