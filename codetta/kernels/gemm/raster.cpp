#include "codetta/kernels/gemm/raster.h"

#include "codetta/sym/expr.h"

namespace codetta::kernels::gemm {

using sym::Expr;

TilePlace grouped_raster(tile::Builder& b, const Expr& index, const Expr& tiles_m, const Expr& tiles_n, int64_t group) {
    Expr width = b.let("group_tiles", tiles_n * group);
    Expr number = b.let("group", floor_div(index, width));
    Expr rest = b.let("in_group", mod(index, width));
    Expr rows = b.let("group_rows", max(1, min(group, tiles_m - number * group))); // the last group may have fewer
    return {b.let("tile_m", number * group + mod(rest, rows)), b.let("tile_n", floor_div(rest, rows))};
}

} // namespace codetta::kernels::gemm
