#include "codetta/graph/graph.h"

namespace codetta::graph {

TensorType contiguous(scalar::DType dtype, std::vector<sym::Expr> shape) {
    std::vector<sym::Expr> strides(shape.size());
    sym::Expr stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        strides[i] = stride;
        if (i > 0) stride = stride * sym::max(1, shape[i]);
    }
    return {dtype, std::move(shape), std::move(strides)};
}

bool is_contiguous(const TensorType& t) { return t.strides == contiguous(t.dtype, t.shape).strides; }

sym::Expr element_count(const TensorType& t) { return sym::product(t.shape); }

const Input* find_input(const Graph& g, ValueId v) {
    for (const Input& input : g.inputs)
        if (input.value == v) return &input;
    return nullptr;
}

std::vector<std::optional<uint32_t>> producers(const Graph& g) {
    std::vector<std::optional<uint32_t>> result(g.values.size());
    for (uint32_t i = 0; i < g.nodes.size(); ++i)
        for (ValueId v : g.nodes[i].outputs) result[v.value] = i;
    return result;
}

} // namespace codetta::graph
