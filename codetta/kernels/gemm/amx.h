// The bf16 product on AMX tiles: blocks of 2 by 2 tiles whose sums stay in tile registers over all of k, while the block before goes
// through its epilogue.
#pragma once

#include "codetta/kernels/gemm/view.h"
#include "codetta/kernels/template.h"

namespace codetta::kernels::gemm {

namespace amx {

struct Config {
    bool swapped = false;       // the columns' side (b) gives the rows of the tiles, read as it lies; the rows' side (a) is packed
    bool rows_packed = false;   // the tiles' rows come from temporary `rows_temporary`, in strips; else from memory
    bool columns_packed = true; // the tiles' columns come from temporary 0, in panels; else each task packs its panel
    uint32_t rows_temporary = 0;
    int64_t row_tiles = 2, column_tiles = 2;
    int64_t block = 256;  // rows of the result that a task takes (they stay in the second cache); 0: all
    int64_t depth = 0;    // steps of k (32 each) summed at once for all rows of a task, so that the columns stay in the first cache; 0: all
    int64_t group = 4;    // blocks of columns that a task takes
    int64_t unit = 1;     // rows of the epilogue in a step of k
    int64_t prefetch = 4; // cache lines of the next columns that a step of k asks for
};

// The kernels that fill a temporary: with panels of `tiles` tiles of a side that is `count` wide; with strips of rows, in groups of
// `tiles`, batch by batch.
Kernel emit_pack_columns(const problem::Problem& p, const View& v, const Side& side, const sym::Expr& count, int64_t tiles,
                         uint32_t temporary);
Kernel emit_pack_rows(const problem::Problem& p, const View& v, const Side& side, const sym::Expr& count, int64_t tiles,
                      uint32_t temporary);
Kernel emit_product(const problem::Problem& p, const View& v, const Config& c);

// What must hold for reading b's rows in place, as the rows of the tiles.
bool can_swap(const problem::Problem& p, const View& v);

} // namespace amx

Template x86_amx();

} // namespace codetta::kernels::gemm
