// Writes a decomposition: nodes of a GraphBuilder as expressions. 16-bit results inside are kept in f32; `rounded` ends in the dtype asked
// for, removably.
#pragma once

#include "codetta/ops/pointwise.h"

namespace codetta::ops {

using graph::GraphBuilder;
using graph::ValueId;

class Compose {
public:
    explicit Compose(GraphBuilder& b) : b_(b) {}
    // All of it in the widest compute type of n's operands, which may be of several dtypes.
    Compose(GraphBuilder& b, const NodeView& n);
    TensorType type(ValueId v) const { return b_.type(v); }
    ValueId op(const std::string& name, std::vector<std::optional<ValueId>> inputs, graph::Attributes attributes = {}) {
        return b_.add1(name, std::move(inputs), std::move(attributes));
    }
    ValueId wide(ValueId v); // in its compute type, or the one of all
    ValueId rounded(ValueId v, scalar::DType t);
    ValueId add(ValueId a, ValueId b) { return op("add", {a, b}); }
    ValueId sub(ValueId a, ValueId b) { return op("sub", {a, b}); }
    ValueId mul(ValueId a, ValueId b) { return op("mul", {a, b}); }
    ValueId scaled(ValueId a, double factor) { return op("mul", {a}, {{"scalar", factor}}); }
    ValueId over(ValueId a, const Expr& count); // a / count
    ValueId exp(ValueId a) { return op("exp", {a}); }
    ValueId sum(ValueId a, const std::vector<size_t>& dims, bool keepdim);
    ValueId view(ValueId a, std::vector<Expr> shape) { return op("view", {a}, {{"shape", std::move(shape)}}); }
    // Product with f32 (or f64) result; dimensions by number.
    ValueId dot(ValueId a, ValueId b, std::vector<Expr> a_batch, std::vector<Expr> b_batch, std::vector<Expr> a_contract,
                std::vector<Expr> b_contract);

private:
    GraphBuilder& b_;
    std::optional<scalar::DType> compute_;
};

} // namespace codetta::ops
