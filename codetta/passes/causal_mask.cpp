#include "codetta/passes/causal_mask.h"

#include <cmath>

#include "codetta/passes/element.h"
#include "codetta/passes/rewrite.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"

namespace codetta::passes {

namespace {

// What a mask does: keeps all, or keeps t <= s.
enum class MaskForm : uint8_t { other, all, causal };

constexpr double kHidden = -1e30; // an additive mask below this hides a score as -inf does, while its row has a visible one

MaskForm form_of(const std::vector<sym::Condition>& conditions, const sym::Facts& facts, const TensorType& mask) {
    sym::Expr s = sym::Expr::symbol("row"), t = sym::Expr::symbol("column");
    const sym::Expr &rows = mask.shape[mask.rank() - 2], &columns = mask.shape.back();
    MaskForm form = MaskForm::all;
    for (const sym::Condition& c : conditions) {
        if (facts.proves(c)) continue;
        if (c.relation != sym::Relation::le && c.relation != sym::Relation::lt) return MaskForm::other;
        sym::Expr slack = facts.simplify(c.rhs - c.lhs - (c.relation == sym::Relation::lt ? 1 : 0)); // the condition is 0 <= slack
        if (slack == columns - 1 - t || slack == rows - 1 - s) continue;
        if (slack != s - t) return MaskForm::other;
        form = MaskForm::causal;
    }
    return form;
}

MaskForm by_expression(const Graph& g, const OpSet& ops, ValueId mask) {
    const TensorType& t = g.type(mask);
    sym::Facts facts = g.facts;
    std::vector<sym::Expr> index;
    for (size_t d = 0; d < t.rank(); ++d) {
        std::string name = d + 1 == t.rank() ? "column" : d + 2 == t.rank() ? "row" : "lead" + std::to_string(d);
        index.push_back(sym::Expr::symbol(name));
        facts.set_range(name, {0, facts.range(t.shape[d]).hi - 1});
    }
    std::optional<Element> e = ElementEvaluator(g, ops, facts).element(mask, index);
    if (!e) return MaskForm::other;
    bool truth = e->kind == Element::Kind::truth;
    bool additive = (e->kind == Element::Kind::choice || e->kind == Element::Kind::number) && e->yes == 0 &&
                    (e->conditions.empty() || e->no <= kHidden);
    return truth || additive ? form_of(e->conditions, facts, t) : MaskForm::other;
}

// The constant behind views that only repeat it.
const graph::Input* constant_behind(const Graph& g, ValueId v) {
    std::vector<std::optional<uint32_t>> makers = graph::producers(g);
    while (makers[v.value]) {
        const Node& n = g.nodes[*makers[v.value]];
        if (n.op != "expand" && n.op != "view" && n.op != "unsqueeze") return nullptr;
        v = *n.inputs[0];
    }
    const graph::Input* i = graph::find_input(g, v);
    return i && i->data ? i : nullptr;
}

MaskForm by_data(const Graph& g, ValueId mask) {
    const graph::Input* constant = constant_behind(g, mask);
    if (!constant) return MaskForm::other;
    const scalar::HostArray& data = *constant->data;
    size_t rank = data.extents().size();
    const TensorType& t = g.type(mask);
    if (rank < 2 || !t.shape[t.rank() - 2].is(data.extents()[rank - 2]) || !t.shape.back().is(data.extents()[rank - 1]))
        return MaskForm::other;
    bool all = true, causal = true;
    std::vector<int64_t> at(rank, 0);
    for (int64_t n = data.size(); n > 0 && (all || causal); --n) {
        scalar::Scalar e = data.load(at);
        bool visible = e.dtype == scalar::DType::boolean ? e.i != 0 : e.f == 0;
        bool hidden = e.dtype == scalar::DType::boolean ? e.i == 0 : e.f <= kHidden;
        all = all && visible;
        causal = causal && (at[rank - 1] <= at[rank - 2] ? visible : hidden);
        for (size_t d = rank; d-- > 0;) {
            if (++at[d] < data.extents()[d]) break;
            at[d] = 0;
        }
    }
    return all ? MaskForm::all : causal ? MaskForm::causal : MaskForm::other;
}

} // namespace

Graph causal_mask(Graph g, const OpSet& ops, const base::Options&) {
    return rewrite(g, ops, [&](const Node& n, Rewriter& r) {
        if (n.op != "attention" || n.inputs.size() < 4 || !n.inputs[3]) return false;
        const TensorType &q = g.type(*n.inputs[0]), &k = g.type(*n.inputs[1]), &mask = g.type(*n.inputs[3]);
        if (mask.rank() < 2 || mask.shape[mask.rank() - 2] != q.shape[q.rank() - 2] || mask.shape.back() != k.shape[k.rank() - 2])
            return false;
        MaskForm form = by_expression(g, ops, *n.inputs[3]);
        if (form == MaskForm::other) form = by_data(g, *n.inputs[3]);
        if (form == MaskForm::other) return false;
        Node changed = n;
        changed.inputs.resize(3);
        if (form == MaskForm::causal) changed.attributes["causal"] = true;
        changed.attributes.erase("safe"); // no row is masked throughout
        r.keep(changed);
        return true;
    });
}

} // namespace codetta::passes
