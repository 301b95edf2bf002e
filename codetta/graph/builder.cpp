#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/graph/op_def.h"

namespace codetta::graph {

GraphBuilder::GraphBuilder(const OpSet& ops, Graph graph) : ops_(&ops), graph_(std::move(graph)) {
    for (size_t i = 0; i < graph_.values.size(); ++i) by_name_.emplace(graph_.values[i].name, ValueId(i));
}

ValueId GraphBuilder::new_value(std::string name, TensorType type) {
    ValueId v(graph_.values.size());
    while (name.empty() || by_name_.contains(name)) name = fmt::format("{}", next_name_++);
    by_name_.emplace(name, v);
    graph_.values.push_back({std::move(name), std::move(type)});
    return v;
}

ValueId GraphBuilder::input(std::string name, TensorType type, InputKind kind, bool frozen) {
    CODETTA_CHECK(!by_name_.contains(name), "the input name '{}' is taken", name);
    ValueId v = new_value(std::move(name), std::move(type));
    graph_.inputs.push_back({v, kind, frozen, std::nullopt});
    return v;
}

ValueId GraphBuilder::constant(scalar::HostArray data) {
    std::vector<sym::Expr> shape(data.extents().begin(), data.extents().end());
    ValueId v = new_value({}, contiguous(data.dtype(), std::move(shape)));
    graph_.inputs.push_back({v, InputKind::constant, false, std::move(data)});
    return v;
}

std::vector<ValueId> GraphBuilder::add(std::string op, std::vector<std::optional<ValueId>> inputs, Attributes attributes,
                                       std::string location) {
    Node n;
    n.op = std::move(op);
    n.inputs = std::move(inputs);
    n.attributes = std::move(attributes);
    n.location = location.empty() ? location_ : std::move(location);
    for (const auto& v : n.inputs)
        CODETTA_CHECK(!v || v->value < graph_.values.size(), "op '{}': an operand is not a value of the graph", n.op);
    try {
        apply_signature(ops_->signature(n.op), n);
    } catch (const base::UserError& e) {
        if (!ops_->find(n.op)) throw base::UserError(e.message(), n.location);
        throw base::UserError(e.message(), fmt::format("op '{}'{}", n.op, n.location.empty() ? "" : " at " + n.location));
    }
    for (TensorType& t : ops_->infer(graph_, n)) n.outputs.push_back(new_value({}, std::move(t)));
    std::vector<ValueId> outputs = n.outputs;
    graph_.nodes.push_back(std::move(n));
    return outputs;
}

std::vector<ValueId> GraphBuilder::add(Node node, std::span<const Value> results) {
    node.outputs.clear();
    for (const Value& v : results) node.outputs.push_back(new_value(v.name, v.type));
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs;
}

void GraphBuilder::reserve_names(const Graph& g) {
    for (const Value& v : g.values) {
        if (v.name.find_first_not_of("0123456789") != std::string::npos || v.name.size() > 9) continue;
        next_name_ = std::max<size_t>(next_name_, std::stoul(v.name) + 1);
    }
}

ValueId GraphBuilder::add1(std::string op, std::vector<std::optional<ValueId>> inputs, Attributes attributes, std::string location) {
    std::vector<ValueId> outputs = add(std::move(op), std::move(inputs), std::move(attributes), std::move(location));
    CODETTA_CHECK(outputs.size() == 1, "op '{}' has {} outputs, not one", graph_.nodes.back().op, outputs.size());
    return outputs[0];
}

void GraphBuilder::set_strides(ValueId v, std::vector<sym::Expr> strides) {
    TensorType& t = graph_.values[v.value].type;
    CODETTA_CHECK(strides.size() == t.shape.size(), "'%{}' has {} dimensions, not {}", graph_.value(v).name, t.shape.size(),
                  strides.size());
    t.strides = std::move(strides);
}

void GraphBuilder::set_into(ValueId result, ValueId target) {
    for (auto n = graph_.nodes.rbegin(); n != graph_.nodes.rend(); ++n) {
        if (n->outputs.empty() || n->outputs[0] != result) continue;
        n->into = target;
        graph_.values[result.value].type.strides = graph_.type(target).strides;
        return;
    }
    throw base::InternalError(fmt::format("'%{}' is not the first output of a node", graph_.value(result).name));
}

void GraphBuilder::output(ValueId v) {
    Output o;
    o.kind = find_input(graph_, v) ? Output::Kind::input : Output::Kind::value;
    o.value = v;
    graph_.outputs.push_back(std::move(o));
}

} // namespace codetta::graph
