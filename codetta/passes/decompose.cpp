#include "codetta/passes/decompose.h"

#include "codetta/passes/rewrite.h"

namespace codetta::passes {

namespace {

bool any_decomposes(const Graph& g, const OpSet& ops) {
    for (const Node& n : g.nodes)
        if (ops.get(n.op).decompose) return true;
    return false;
}

bool expand(const Node& n, Rewriter& r) {
    const graph::OpDef& op = r.builder().ops().get(n.op);
    if (!op.decompose) return false;
    Node mapped = r.mapped(n);
    std::vector<ValueId> results = op.decompose({&r.builder().graph(), &mapped, &r.builder().ops().signature(n.op)}, r.builder());
    for (size_t i = 0; i < results.size(); ++i) {
        ValueId v = results[i];
        // A result that is an operand, or the same as another one, gets a value of its own.
        bool own = !graph::find_input(r.builder().graph(), v);
        for (const auto& operand : mapped.inputs) own = own && !(operand && *operand == v);
        for (size_t j = 0; j < i; ++j) own = own && results[j] != v;
        if (!own) v = r.builder().add1("clone", {v});
        r.replace(n.outputs[i], v);
    }
    return true;
}

} // namespace

Graph decompose(Graph g, const OpSet& ops, const base::Options&) {
    while (any_decomposes(g, ops)) g = rewrite(g, ops, expand); // a decomposition may use ops that decompose
    return g;
}

} // namespace codetta::passes
