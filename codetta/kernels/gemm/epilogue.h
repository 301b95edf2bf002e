// One row of a product's result through its epilogue: every other stage of the problem, then the writes.
#pragma once

#include <functional>

#include "codetta/kernels/gemm/view.h"
#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels::gemm {

// Row `row`, `lanes` columns from `column` on; those at or past `limit` do not exist. values: the accumulators of these columns, in
// scratch.
void epilogue_row(const problem::Problem& p, const View& v, tile::Builder& b, StageEmitter& at, const sym::Expr& row,
                  const sym::Expr& column, int64_t lanes, const std::optional<sym::Expr>& limit, const tile::View& values);

// body(limit) for `lanes` columns from `column` on, a multiple of `lanes`: without a limit where all of them are below n, else with the
// number of those that are.
void columns_that_exist(tile::Builder& b, const sym::Expr& column, int64_t lanes, const sym::Expr& n,
                        const std::function<void(const std::optional<sym::Expr>& limit)>& body);

} // namespace codetta::kernels::gemm
