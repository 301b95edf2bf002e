#include "codetta/frontends/tensor/tensor.h"

#include <cstring>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/frontends/tensor/traced_node.h"
#include "codetta/ops/list.h"

namespace codetta::frontends::tensor {

namespace {

std::string place_of(const std::source_location& where) {
    const std::string_view path = where.file_name();
    return fmt::format("{}:{}", path.substr(path.find_last_of('/') + 1), where.line());
}

void check_name(const std::string& name) {
    bool good = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
    for (const char c : name) good &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    CODETTA_USER_CHECK(good, "'{}' is no name for a tensor; use letters, digits and '_'", name);
}

Tensor leaf(TracedNode node) { return {std::make_shared<const TracedNode>(std::move(node)), 0}; }

graph::TensorType type_of(const Buffer& b) {
    graph::TensorType type{b.dtype(), {}, {}};
    type.shape.assign(b.shape().begin(), b.shape().end());
    type.strides.assign(b.strides().begin(), b.strides().end());
    return type;
}

/// Some attributes are only looked at when the op's meaning is asked for: ask now, while the place is known.
void check_meaning(const graph::Graph& g, const std::string& location) {
    const graph::Node& n = g.nodes.back();
    if (!vocabulary().get(n.op).lower) return;
    try {
        (void)vocabulary().lower(g, n);
    } catch (const base::UserError& e) {
        throw base::UserError(e.message(), fmt::format("op '{}' at {}", n.op, location));
    }
}

} // namespace

const graph::OpSet& vocabulary() {
    static const graph::OpSet ops = ops::list();
    return ops;
}

const graph::TensorType& Tensor::type() const { return node_->types[output_]; }

Shape Tensor::shape() const {
    Shape shape;
    for (const sym::Expr& e : type().shape) shape.emplace_back(e, node_->facts);
    return shape;
}

Dim Tensor::size(int64_t d) const {
    const auto dimensions = static_cast<int64_t>(rank());
    CODETTA_USER_CHECK(-dimensions <= d && d < dimensions, "there is no dimension {} of {}", d, graph::to_string(type()));
    return {type().shape[static_cast<size_t>(d < 0 ? d + dimensions : d)], node_->facts};
}

Tensor input(std::string name, const Shape& shape, DType dtype, const Shape& strides) {
    check_name(name);
    TracedNode node;
    node.kind = TracedNode::Kind::input;
    node.facts = merge_facts(facts_of(shape), facts_of(strides));
    node.types = {graph::contiguous(dtype, exprs(shape))};
    CODETTA_USER_CHECK(strides.empty() || strides.size() == shape.size(), "input '{}' has {} sizes and {} strides", name, shape.size(),
                       strides.size());
    if (!strides.empty()) node.types[0].strides = exprs(strides);
    node.name = std::move(name);
    return leaf(std::move(node));
}

Tensor parameter(std::string name, const Buffer& data, bool frozen) {
    check_name(name);
    TracedNode node;
    node.kind = TracedNode::Kind::parameter;
    node.types = {type_of(data)};
    node.name = std::move(name);
    node.data = data;
    node.frozen = frozen;
    return leaf(std::move(node));
}

Tensor constant(const Buffer& data) {
    TracedNode node;
    node.kind = TracedNode::Kind::constant;
    node.content = scalar::HostArray::borrow(data.dtype(), data.shape(), data.strides(), data.data()).clone();
    node.types = {graph::contiguous(data.dtype(), {data.shape().begin(), data.shape().end()})};
    return leaf(std::move(node));
}

std::vector<Tensor> apply(std::string_view op, std::vector<std::optional<Tensor>> operands, graph::Attributes attributes,
                          std::source_location where, const sym::Facts& facts) {
    auto node = std::make_shared<TracedNode>();
    node->op = op;
    node->location = place_of(where);
    node->facts = facts;
    try {
        for (const auto& operand : operands)
            if (operand) node->facts = merge_facts(node->facts, operand->node()->facts);
    } catch (const base::UserError& e) {
        throw base::UserError(e.message(), fmt::format("op '{}' at {}", op, node->location));
    }
    // The op alone, over its operands' types: the vocabulary checks it and says what comes out.
    graph::Graph empty;
    empty.facts = node->facts;
    graph::GraphBuilder builder(vocabulary(), std::move(empty));
    std::vector<std::optional<graph::ValueId>> inputs;
    for (const auto& operand : operands)
        inputs.push_back(operand ? std::optional(builder.input(fmt::format("x{}", inputs.size()), operand->type())) : std::nullopt);
    const std::vector<graph::ValueId> outputs = builder.add(node->op, inputs, attributes, node->location);
    for (const graph::ValueId v : outputs) node->types.push_back(builder.type(v));
    check_meaning(builder.graph(), node->location);
    node->operands = std::move(operands);
    node->attributes = std::move(attributes);
    std::vector<Tensor> results;
    for (uint32_t i = 0; i < outputs.size(); ++i) results.emplace_back(node, i);
    return results;
}

Tensor apply1(std::string_view op, std::vector<std::optional<Tensor>> operands, graph::Attributes attributes, std::source_location where,
              const sym::Facts& facts) {
    std::vector<Tensor> results = apply(op, std::move(operands), std::move(attributes), where, facts);
    CODETTA_USER_CHECK(results.size() == 1, "op '{}' has {} results, not one", op, results.size());
    return results[0];
}

} // namespace codetta::frontends::tensor
