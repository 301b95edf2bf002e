#include "codetta/passes/dead_code.h"

#include <algorithm>

#include "codetta/passes/rewrite.h"

namespace codetta::passes {

Graph dead_code(Graph g, const OpSet&, const base::Options&) {
    std::vector<bool> live(g.values.size(), false), keep(g.nodes.size(), false);
    for (const graph::Output& o : g.outputs)
        if (o.kind != graph::Output::Kind::size) live[o.value.value] = true;
    for (size_t i = g.nodes.size(); i-- > 0;) {
        const Node& n = g.nodes[i];
        keep[i] = n.into || std::any_of(n.outputs.begin(), n.outputs.end(), [&](ValueId v) { return live[v.value]; });
        if (!keep[i]) continue;
        for (const auto& v : n.inputs)
            if (v) live[v->value] = true;
    }
    // Constants are our own; the caller's inputs stay.
    Graph result = without_nodes(std::move(g), keep);
    std::vector<size_t> counts = use_counts(result);
    bool any = false;
    for (const graph::Input& i : result.inputs) any = any || (i.data && counts[i.value.value] == 0);
    if (!any) return result;
    // Removing a constant is removing a node without inputs: let the same code renumber.
    std::vector<bool> kept;
    std::vector<graph::Input> inputs;
    std::vector<Node> nodes;
    for (graph::Input& i : result.inputs) {
        if (!i.data || counts[i.value.value] > 0) {
            inputs.push_back(std::move(i));
            continue;
        }
        Node gone;
        gone.outputs = {i.value};
        nodes.push_back(std::move(gone));
        kept.push_back(false);
    }
    for (Node& n : result.nodes) {
        nodes.push_back(std::move(n));
        kept.push_back(true);
    }
    result.inputs = std::move(inputs);
    result.nodes = std::move(nodes);
    return without_nodes(std::move(result), kept);
}

} // namespace codetta::passes
