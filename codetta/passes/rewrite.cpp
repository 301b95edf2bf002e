#include "codetta/passes/rewrite.h"

#include "codetta/base/error.h"

namespace codetta::passes {

using graph::Output;

Rewriter::Rewriter(const Graph& old, const OpSet& ops)
    : old_(old), builder_(ops,
                          [&] {
                              Graph g;
                              g.name = old.name;
                              g.facts = old.facts;
                              g.size_arguments = old.size_arguments;
                              return g;
                          }()),
      now_(old.values.size()), output_(old.values.size()) {
    builder_.reserve_names(old);
    for (const graph::Input& i : old.inputs) {
        const graph::Value& v = old.value(i.value);
        ValueId fresh = builder_.input(v.name, v.type, i.kind, i.frozen);
        builder_.graph().inputs.back().data = i.data;
        now_[i.value.value] = output_[i.value.value] = fresh;
    }
    for (const Output& o : old.outputs)
        if (o.kind == Output::Kind::value || o.kind == Output::Kind::view) results_.insert(o.value.value);
}

ValueId Rewriter::now(ValueId old) const {
    CODETTA_CHECK(now_[old.value].valid(), "'%{}' is not rewritten yet", old_.value(old).name);
    return now_[old.value];
}

Node Rewriter::mapped(const Node& n) const {
    Node result = n;
    for (auto& v : result.inputs)
        if (v) v = now(*v);
    if (result.into) result.into = now(*result.into);
    return result;
}

void Rewriter::keep(const Node& n) {
    std::vector<graph::Value> results;
    for (ValueId v : n.outputs) results.push_back(old_.value(v));
    std::vector<ValueId> fresh = builder_.add(mapped(n), results);
    for (size_t i = 0; i < fresh.size(); ++i) {
        now_[n.outputs[i].value] = output_[n.outputs[i].value] = fresh[i];
        if (is_result(n.outputs[i])) taken_.insert(fresh[i].value);
    }
}

void Rewriter::replace(ValueId old, ValueId now) {
    now_[old.value] = output_[old.value] = now;
    if (is_result(old)) taken_.insert(now.value);
    builder_.set_strides(now, old_.type(old).strides);
}

void Rewriter::forward(const Node& n, ValueId now) {
    ValueId old = n.outputs.at(0);
    // The memory of an input, or of another result, is not the caller's to keep.
    auto shared = [&] {
        if (graph::find_input(builder_.graph(), now)) return true;
        for (const Node& made : builder_.graph().nodes)
            if (made.into && made.outputs[0] == now) return true;
        return false;
    };
    if (is_result(old) && !taken_.contains(now.value) && !shared()) return replace(old, now);
    if (is_result(old)) keep(n);
    now_[old.value] = now;
}

Graph Rewriter::finish() {
    for (Output o : old_.outputs) {
        if (o.kind != Output::Kind::size) {
            o.value = output_[o.value.value];
            CODETTA_CHECK(o.value.valid(), "an output of '{}' got lost", old_.name);
        }
        builder_.output(o);
    }
    return builder_.finish();
}

Graph rewrite(const Graph& g, const OpSet& ops, const std::function<bool(const Node&, Rewriter&)>& visit) {
    Rewriter r(g, ops);
    for (const Node& n : g.nodes) {
        r.builder().set_location(n.location);
        if (!visit(n, r)) r.keep(n);
    }
    return r.finish();
}

std::vector<size_t> use_counts(const Graph& g) {
    std::vector<size_t> counts(g.values.size(), 0);
    for (const Node& n : g.nodes)
        for (const auto& v : n.inputs)
            if (v) ++counts[v->value];
    for (const Output& o : g.outputs)
        if (o.kind != Output::Kind::size) ++counts[o.value.value];
    return counts;
}

std::set<uint32_t> overwritten_inputs(const Graph& g) {
    std::set<uint32_t> result;
    for (const Node& n : g.nodes)
        if (n.into) result.insert(n.into->value);
    return result;
}

Graph without_nodes(Graph g, const std::vector<bool>& keep) {
    std::vector<bool> gone(g.values.size(), false);
    std::vector<Node> nodes;
    for (size_t i = 0; i < g.nodes.size(); ++i) {
        if (keep[i]) {
            nodes.push_back(std::move(g.nodes[i]));
            continue;
        }
        for (ValueId v : g.nodes[i].outputs) gone[v.value] = true;
    }
    std::vector<ValueId> renumbered(g.values.size());
    std::vector<graph::Value> values;
    for (size_t i = 0; i < g.values.size(); ++i) {
        if (gone[i]) continue;
        renumbered[i] = ValueId(values.size());
        values.push_back(std::move(g.values[i]));
    }
    auto renumber = [&](ValueId& v) { v = renumbered[v.value]; };
    for (Node& n : nodes) {
        for (auto& v : n.inputs)
            if (v) renumber(*v);
        for (ValueId& v : n.outputs) renumber(v);
        if (n.into) renumber(*n.into);
    }
    for (graph::Input& i : g.inputs) renumber(i.value);
    for (Output& o : g.outputs)
        if (o.kind != Output::Kind::size) renumber(o.value);
    g.values = std::move(values);
    g.nodes = std::move(nodes);
    return g;
}

} // namespace codetta::passes
