// The recorded program as a Graph.
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/frontends/tensor/compiled.h"
#include "codetta/frontends/tensor/traced_node.h"
#include "codetta/graph/op_def.h"

namespace codetta::frontends::tensor {

namespace {

using Kind = TracedNode::Kind;

/// Calls visit for every node that `last` needs and that is not done, operands before what reads them; `visit` makes it done.
/// Without recursion, since programs may be deep.
template <class Done, class Visit>
void for_each_node(const std::shared_ptr<const TracedNode>& last, Done done, Visit visit) {
    std::vector<std::pair<std::shared_ptr<const TracedNode>, size_t>> open = {{last, 0}}; // node, how many operands were looked at
    while (!open.empty()) {
        auto& [node, looked_at] = open.back();
        if (done(node)) {
            open.pop_back();
        } else if (looked_at < node->operands.size()) {
            const auto& operand = node->operands[looked_at++];
            if (operand) open.emplace_back(operand->node(), 0);
        } else {
            visit(node);
            open.pop_back();
        }
    }
}

class Tracer {
public:
    explicit Tracer(const std::string& name) : builder_(vocabulary(), named(name)) {}

    void input(const Tensor& t) {
        CODETTA_USER_CHECK(t.node()->kind == Kind::input, "the result of op '{}' at {} is listed as an input; list what input() made",
                           t.node()->op, t.node()->location);
        CODETTA_USER_CHECK(!values_.contains(t.node().get()), "input '{}' is listed twice", t.node()->name);
        add_leaf(*t.node());
    }

    void output(const Tensor& t) {
        for_each_node(
            t.node(), [&](const std::shared_ptr<const TracedNode>& node) { return values_.contains(node.get()); },
            [&](const std::shared_ptr<const TracedNode>& node) { add(*node); });
        builder_.output(values_.at(t.node().get())[t.output()]);
    }

    graph::Graph finish() {
        graph::Graph g = builder_.finish();
        graph::verify(g, vocabulary());
        return g;
    }

private:
    static graph::Graph named(const std::string& name) {
        graph::Graph g;
        g.name = name;
        return g;
    }

    void add(const TracedNode& node) {
        CODETTA_USER_CHECK(node.kind != Kind::input, "input '{}' is needed, but it is not in the list of inputs", node.name);
        if (node.kind == Kind::constant) {
            values_[&node] = {builder_.constant(*node.content)};
            return;
        }
        if (node.kind == Kind::parameter) return add_leaf(node);
        builder_.graph().facts = merge_facts(builder_.graph().facts, node.facts);
        std::vector<std::optional<graph::ValueId>> operands;
        for (const auto& operand : node.operands)
            operands.push_back(operand ? std::optional(values_.at(operand->node().get())[operand->output()]) : std::nullopt);
        values_[&node] = builder_.add(node.op, operands, node.attributes, node.location);
    }

    void add_leaf(const TracedNode& node) {
        for (const graph::Value& v : builder_.graph().values)
            CODETTA_USER_CHECK(v.name != node.name, "two tensors are called '{}'", node.name);
        builder_.graph().facts = merge_facts(builder_.graph().facts, node.facts);
        const graph::InputKind kind = node.kind == Kind::parameter ? graph::InputKind::parameter : graph::InputKind::argument;
        values_[&node] = {builder_.input(node.name, node.types[0], kind, node.frozen)};
    }

    graph::GraphBuilder builder_;
    std::unordered_map<const TracedNode*, std::vector<graph::ValueId>> values_;
};

} // namespace

graph::Graph trace(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const std::string& name) {
    CODETTA_USER_CHECK(!outputs.empty(), "a program without outputs computes nothing");
    Tracer tracer(name);
    for (const Tensor& t : inputs) tracer.input(t);
    for (const Tensor& t : outputs) tracer.output(t);
    return tracer.finish();
}

std::vector<std::shared_ptr<const TracedNode>> parameters_of(const std::vector<Tensor>& outputs) {
    std::unordered_set<const TracedNode*> seen;
    std::vector<std::shared_ptr<const TracedNode>> result;
    for (const Tensor& t : outputs)
        for_each_node(
            t.node(), [&](const std::shared_ptr<const TracedNode>& node) { return seen.contains(node.get()); },
            [&](const std::shared_ptr<const TracedNode>& node) {
                seen.insert(node.get());
                if (node->kind == Kind::parameter) result.push_back(node);
            });
    return result;
}

} // namespace codetta::frontends::tensor
