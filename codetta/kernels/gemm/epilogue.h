// One row of a product's result through its epilogue: every other stage of the problem, then the writes.
#pragma once

#include "codetta/kernels/gemm/view.h"
#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels::gemm {

// Row `row`, `lanes` columns from `column` on; those at or past `limit` do not exist. values: the accumulators of these columns, in
// scratch.
void epilogue_row(const problem::Problem& p, const View& v, tile::Builder& b, StageEmitter& at, const sym::Expr& row,
                  const sym::Expr& column, int64_t lanes, const std::optional<sym::Expr>& limit, const tile::View& values);

} // namespace codetta::kernels::gemm
