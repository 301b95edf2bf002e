#include "codetta/passes/grouped_heads.h"

#include <algorithm>

#include "codetta/passes/rewrite.h"
#include "codetta/sym/expr.h"

namespace codetta::passes {

namespace {

using Exprs = std::vector<sym::Expr>;

// The unrepeated operand behind v, or nothing.
std::optional<ValueId> unrepeated(const Graph& g, const std::vector<std::optional<uint32_t>>& makers, ValueId v) {
    const char* const steps[] = {"view", "expand", "view"};
    std::vector<Exprs> shapes = {g.type(v).shape};
    for (const char* step : steps) {
        const Node* n = makers[v.value] ? &g.nodes[*makers[v.value]] : nullptr;
        if (!n || (n->op != step && !(n->op == "unsqueeze" && shapes.size() == 3))) return std::nullopt;
        v = *n->inputs[0];
        shapes.push_back(g.type(v).shape);
    }
    const Exprs &repeated = shapes[0], &grouped = shapes[1], &single = shapes[2], &plain = shapes[3];
    size_t rank = plain.size();
    if (rank < 3 || repeated.size() != rank || grouped.size() != rank + 1 || single.size() != rank + 1) return std::nullopt;
    size_t head = rank - 3;
    Exprs want_single = plain, want_grouped = plain, want_repeated = plain;
    sym::Expr group = grouped[head + 1];
    want_single.insert(want_single.begin() + static_cast<std::ptrdiff_t>(head) + 1, sym::Expr(1));
    want_grouped.insert(want_grouped.begin() + static_cast<std::ptrdiff_t>(head) + 1, group);
    want_repeated[head] = plain[head] * group;
    if (single != want_single || grouped != want_grouped || repeated != want_repeated) return std::nullopt;
    return v;
}

} // namespace

Graph grouped_heads(Graph g, const OpSet& ops, const base::Options&) {
    std::vector<std::optional<uint32_t>> makers = graph::producers(g);
    std::set<uint32_t> overwritten = overwritten_inputs(g);
    return rewrite(g, ops, [&](const Node& n, Rewriter& r) {
        if (n.op != "attention") return false;
        std::optional<ValueId> k = unrepeated(g, makers, *n.inputs[1]), v = unrepeated(g, makers, *n.inputs[2]);
        if (!k || !v || overwritten.contains(k->value) || overwritten.contains(v->value)) return false;
        if (g.type(*k).shape[g.type(*k).rank() - 3] != g.type(*v).shape[g.type(*v).rank() - 3]) return false;
        Node changed = n;
        changed.inputs[1] = k;
        changed.inputs[2] = v;
        r.keep(changed);
        return true;
    });
}

} // namespace codetta::passes
