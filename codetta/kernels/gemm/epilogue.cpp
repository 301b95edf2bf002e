#include "codetta/kernels/gemm/epilogue.h"

namespace codetta::kernels::gemm {

void epilogue_row(const problem::Problem& p, const View& v, tile::Builder& b, StageEmitter& at, const sym::Expr& row,
                  const sym::Expr& column, int64_t lanes, const std::optional<sym::Expr>& limit, const tile::View& values) {
    if (v.m_axis) at.set(*v.m_axis, row);
    at.set(*v.n_axis, column);
    at.open_lanes(*v.n_axis, lanes, limit);
    for (uint32_t s = 0; s < p.stages.size(); ++s) {
        const problem::Stage& st = p.stages[s];
        tile::View value;
        if (s == v.product.stage.value) {
            value = b.rmem("row", v.accumulator, {lanes});
            b.copy(values, value);
        } else {
            value = at.body(st, at.reads(st));
        }
        at.value(s) = {value, true, false, {}, {}};
        at.write(st, value);
    }
    at.close_lanes();
}

void columns_that_exist(tile::Builder& b, const sym::Expr& column, int64_t lanes, const sym::Expr& n,
                        const std::function<void(const std::optional<sym::Expr>& limit)>& body) {
    if (b.facts().divisor(n) % lanes == 0)
        body(std::nullopt);
    else
        b.when({sym::le(column + lanes, n)}, [&] { body(std::nullopt); }, [&] { body(n - column); });
}

} // namespace codetta::kernels::gemm
