#include "codetta/ops/compose.h"

namespace codetta::ops {

Compose::Compose(GraphBuilder& b, const NodeView& n) : b_(b), compute_(scalar::DType::f32) {
    for (size_t i = 0; i < n.input_count(); ++i)
        if (n.has_input(i) && n.input(i).dtype == scalar::DType::f64) compute_ = scalar::DType::f64;
}

ValueId Compose::wide(ValueId v) {
    scalar::DType have = type(v).dtype, want = compute_.value_or(scalar::compute_type(have));
    return have == want ? v : op("cast", {v}, {{"dtype", want}});
}

ValueId Compose::rounded(ValueId v, scalar::DType t) {
    return type(v).dtype == t ? v : op("cast", {v}, {{"dtype", t}, {"implicit", true}});
}

ValueId Compose::over(ValueId a, const Expr& count) { return op("div", {a}, {{"scalar", count}}); }

ValueId Compose::sum(ValueId a, const std::vector<size_t>& dims, bool keepdim) {
    if (dims.empty()) return a;
    std::vector<Expr> list;
    for (size_t d : dims) list.emplace_back(static_cast<int64_t>(d));
    return op("sum", {a}, {{"dims", list}, {"keepdim", keepdim}});
}

ValueId Compose::dot(ValueId a, ValueId b, std::vector<Expr> a_batch, std::vector<Expr> b_batch, std::vector<Expr> a_contract,
                     std::vector<Expr> b_contract) {
    return op("dot_general", {a, b},
              {{"a_batch", std::move(a_batch)},
               {"b_batch", std::move(b_batch)},
               {"a_contract", std::move(a_contract)},
               {"b_contract", std::move(b_contract)},
               {"dtype", scalar::compute_type(type(a).dtype)}});
}

} // namespace codetta::ops
