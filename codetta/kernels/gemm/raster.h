// The order in which a persistent kernel walks over output tiles.
#pragma once

#include "codetta/sym/expr.h"
#include "codetta/tile/builder.h"

namespace codetta::kernels::gemm {

struct TilePlace {
    sym::Expr m, n; // tile indices
};

// Tile number `index` of tiles_m by tiles_n in groups of `group` tile rows: inside a group, down the rows first, then to the next column.
// Neighbours in number share an operand in L2. Emits lets.
// @post index -> (m, n) is a bijection of 0 .. tiles_m * tiles_n - 1
TilePlace grouped_raster(tile::Builder& b, const sym::Expr& index, const sym::Expr& tiles_m, const sym::Expr& tiles_n, int64_t group);

} // namespace codetta::kernels::gemm
