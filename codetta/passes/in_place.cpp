#include "codetta/passes/in_place.h"

#include <algorithm>

#include "codetta/passes/rewrite.h"

namespace codetta::passes {

namespace {

// Ops whose result is operand 0 with parts replaced (op_def.h: the stage `base`).
bool updates_operand(const std::string& op) {
    for (const char* name :
         {"slice_scatter", "select_scatter", "as_strided_scatter", "index_copy", "index_add", "index_put", "scatter", "scatter_add"})
        if (op == name) return true;
    return false;
}

bool reads(const Node& n, ValueId v) {
    return std::any_of(n.inputs.begin(), n.inputs.end(), [&](const auto& x) { return x && *x == v; });
}

// The nodes of the chain from %c to `last`, first to last; empty when last is no chain of updates of c.
std::vector<uint32_t> chain_of(const Graph& g, const std::vector<std::optional<uint32_t>>& makers, ValueId last, ValueId c) {
    std::vector<uint32_t> chain;
    for (ValueId v = last; v != c;) {
        std::optional<uint32_t> maker = makers[v.value];
        if (!maker) return {};
        const Node& n = g.nodes[*maker];
        if (!updates_operand(n.op) || n.into || n.outputs.size() != 1) return {};
        chain.push_back(*maker);
        v = *n.inputs[0];
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
}

bool is_output(const Graph& g, ValueId v) {
    return std::any_of(g.outputs.begin(), g.outputs.end(),
                       [&](const graph::Output& o) { return o.kind != graph::Output::Kind::size && o.value == v; });
}

// Whether every step may write the memory of c: after a step no one but the next step reads what the step overwrites, and the steps' other
// operands are not c itself.
bool is_safe(const Graph& g, const std::vector<uint32_t>& chain, uint32_t copy, ValueId c) {
    ValueId overwritten = c;
    for (size_t k = 0; k < chain.size(); ++k) {
        const Node& step = g.nodes[chain[k]];
        for (size_t i = 1; i < step.inputs.size(); ++i)
            if (step.inputs[i] && *step.inputs[i] == overwritten) return false;
        for (uint32_t i = chain[k] + 1; i < g.nodes.size(); ++i)
            if (i != copy && reads(g.nodes[i], overwritten)) return false;
        if (k > 0 && is_output(g, overwritten)) return false;
        overwritten = step.outputs[0];
    }
    return true;
}

// Moves the nodes of the chain, and only those, down to just before the copy, where later readers of c in between allow no earlier write.
void sink(Graph& g, std::vector<uint32_t>& chain, uint32_t copy) {
    for (size_t k = chain.size(); k-- > 0;) {
        uint32_t target = k + 1 < chain.size() ? chain[k + 1] : copy;
        ValueId result = g.nodes[chain[k]].outputs[0];
        while (chain[k] + 1 < target && !reads(g.nodes[chain[k] + 1], result)) {
            std::swap(g.nodes[chain[k]], g.nodes[chain[k] + 1]);
            ++chain[k];
        }
    }
}

// One copy at a time; true when the graph changed.
bool step(Graph& g, const std::set<uint32_t>& tried, uint32_t& found) {
    for (uint32_t i = 0; i < g.nodes.size(); ++i) {
        const Node& n = g.nodes[i];
        if (n.op != "copy" || !n.into || *n.inputs[0] != *n.into || tried.contains(n.outputs[0].value)) continue;
        found = i;
        return true;
    }
    return false;
}

} // namespace

Graph in_place(Graph g, const OpSet&, const base::Options&) {
    std::set<uint32_t> tried;
    for (uint32_t copy = 0; step(g, tried, copy);) {
        ValueId c = *g.nodes[copy].into, copied = g.nodes[copy].outputs[0], source = *g.nodes[copy].inputs[1];
        tried.insert(copied.value);
        if (g.type(source).dtype != g.type(c).dtype || g.type(source).shape != g.type(c).shape) continue;
        std::vector<uint32_t> chain = chain_of(g, graph::producers(g), source, c);
        if (chain.empty()) continue;
        Graph attempt = g;
        sink(attempt, chain, copy);
        if (!is_safe(attempt, chain, copy, c)) continue;
        g = std::move(attempt);
        for (uint32_t k : chain) {
            g.nodes[k].into = c;
            g.values[g.nodes[k].outputs[0].value].type.strides = g.type(c).strides;
        }
        for (Node& n : g.nodes)
            for (auto& v : n.inputs)
                if (v && *v == copied) v = source;
        for (graph::Output& o : g.outputs)
            if (o.kind != graph::Output::Kind::size && o.value == copied) o.value = source;
        std::vector<bool> keep(g.nodes.size(), true);
        keep[copy] = false;
        g = without_nodes(std::move(g), keep);
        tried.clear(); // ids have changed; copies that stay are found unfit again
    }
    return g;
}

} // namespace codetta::passes
