#include "codetta/passes/attention_pattern.h"

#include <algorithm>
#include <cmath>

#include "codetta/passes/rewrite.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/expr.h"

namespace codetta::passes {

namespace {

using Exprs = std::vector<sym::Expr>;

struct Match {
    ValueId q, k_transposed, v, scores; // scores: the softmax's operand, whose leading dimensions the attention gets
    std::optional<ValueId> mask;
    double scale = 1;
    bool safe = false;
};

class Matcher {
public:
    Matcher(const Graph& g, const OpSet& ops) : g_(g), ops_(ops), makers_(graph::producers(g)), uses_(use_counts(g)) {}

    // n is the second product.
    std::optional<Match> match(const Node& n) const {
        if (!is_product(n)) return std::nullopt;
        Match m;
        m.v = *n.inputs[1];
        const Node* softmax = single(beneath_views(*n.inputs[0]));
        if (!softmax || (softmax->op != "softmax" && softmax->op != "safe_softmax")) return std::nullopt;
        graph::NodeView view = ops_.view(g_, *softmax);
        TensorType scores = view.input(0);
        int64_t dim = view.integer("dim");
        auto rank = static_cast<int64_t>(scores.rank());
        if (rank < 3 || (dim != -1 && dim != rank - 1) || view.output().dtype != scores.dtype) return std::nullopt;
        m.safe = softmax->op == "safe_softmax";
        m.scores = *softmax->inputs[0];
        if (!match_scores(m.scores, m)) return std::nullopt;
        return m;
    }

private:
    static bool is_product(const Node& n) { return n.op == "bmm" || n.op == "matmul"; }

    const Node* maker(ValueId v) const { return makers_[v.value] ? &g_.nodes[*makers_[v.value]] : nullptr; }

public:
    // The operand whose last two dimensions v has swapped, seen through views that leave them alone, when it has these leading dimensions.
    std::optional<ValueId> untransposed(ValueId v, const Exprs& lead) const {
        v = beneath_views(v);
        const Node* n = maker(v);
        if (!n || n->op != "permute") return std::nullopt;
        Exprs dims = ops_.view(g_, *n).exprs("dims"), shape = g_.type(*n->inputs[0]).shape;
        for (size_t d = 0; d < dims.size(); ++d) {
            size_t from = d + 2 < dims.size() ? d : d + 2 == dims.size() ? d + 1 : d - 1;
            if (!dims[d].is(static_cast<int64_t>(from))) return std::nullopt;
        }
        bool fits = shape.size() == lead.size() + 2 && std::equal(lead.begin(), lead.end(), shape.begin());
        return fits ? std::optional(*n->inputs[0]) : std::nullopt;
    }

private:
    // The maker of v when nobody else reads v.
    const Node* single(ValueId v) const { return uses_[v.value] == 1 ? maker(v) : nullptr; }

    // Through views (read once) that leave the last two dimensions alone.
    ValueId beneath_views(ValueId v) const {
        for (;;) {
            const Node* n = single(v);
            if (!n || (n->op != "view" && n->op != "expand" && n->op != "clone")) return v;
            const Exprs &to = g_.type(v).shape, &from = g_.type(*n->inputs[0]).shape;
            bool same = to.size() >= 2 && from.size() >= 2 && std::equal(to.end() - 2, to.end(), from.end() - 2) &&
                        sym::product(to) == sym::product(from);
            if (!same) return v;
            v = *n->inputs[0];
        }
    }

    static std::optional<double> scalar_of(const graph::NodeView& n) {
        if (!n.has_input(0) || n.has_input(1) || !n.has("scalar")) return std::nullopt;
        const auto* e = std::get_if<sym::Expr>(&n.attribute("scalar"));
        if (e && !e->constant()) return std::nullopt;
        return n.number("scalar");
    }

    // scores = product(q, kT) [* scale] [+ mask], from the top down.
    bool match_scores(ValueId v, Match& m) const {
        v = beneath_views(v);
        const Node* n = single(v);
        if (!n) return false;
        if (is_product(*n)) {
            m.q = *n->inputs[0];
            m.k_transposed = *n->inputs[1];
            return true;
        }
        graph::NodeView view = ops_.view(g_, *n);
        if (n->op == "mul" || n->op == "div") {
            std::optional<double> factor = scalar_of(view);
            if (!factor || (n->op == "div" && view.text("rounding_mode") != "none")) return false;
            if (m.scale == 1 && !scaled_mask(*n->inputs[0])) {
                m.scale = n->op == "mul" ? *factor : 1 / *factor;
                return match_scores(*n->inputs[0], m);
            }
            return false;
        }
        if (n->op == "add" && !m.mask && view.has_input(0) && view.has_input(1) && view.number("alpha") == 1) return match_sum(*n, m);
        if (n->op == "where" && !m.mask) return match_where(*n, m);
        return false;
    }

    // A mask beneath a factor would be scaled with the scores.
    bool scaled_mask(ValueId v) const {
        const Node* n = single(beneath_views(v));
        return n && (n->op == "add" || n->op == "where");
    }

    bool match_sum(const Node& n, Match& m) const {
        for (size_t i : {size_t{0}, size_t{1}}) {
            Match attempt = m;
            attempt.mask = *n.inputs[1 - i];
            if (g_.type(*n.inputs[i]).shape != g_.type(n.outputs[0]).shape || !match_scores(*n.inputs[i], attempt)) continue;
            m = attempt;
            return true;
        }
        return false;
    }

    // where(keep, scores, -inf)
    bool match_where(const Node& n, Match& m) const {
        const Node* fill = maker(*n.inputs[2]);
        if (!fill || fill->op != "full" || g_.type(*n.inputs[1]).shape != g_.type(n.outputs[0]).shape) return false;
        const auto* value = std::get_if<double>(&fill->attributes.at("value"));
        if (!value || *value != -HUGE_VAL) return false;
        m.mask = *n.inputs[0];
        return match_scores(*n.inputs[1], m);
    }

    const Graph& g_;
    const OpSet& ops_;
    std::vector<std::optional<uint32_t>> makers_;
    std::vector<size_t> uses_;
};

// v with its last two dimensions kept and `lead` in front.
ValueId with_lead(GraphBuilder& b, ValueId v, Exprs lead) {
    Exprs shape = b.type(v).shape;
    lead.insert(lead.end(), shape.end() - 2, shape.end());
    return shape == lead ? v : b.add1("view", {v}, {{"shape", lead}});
}

ValueId swapped(GraphBuilder& b, ValueId v) {
    size_t rank = b.type(v).rank();
    Exprs order;
    for (size_t d = 0; d < rank; ++d) order.emplace_back(static_cast<int64_t>(d + 2 < rank ? d : d + 2 == rank ? rank - 1 : rank - 2));
    return b.add1("permute", {v}, {{"dims", order}});
}

bool leads_fit(const Graph& g, ValueId v, const Exprs& lead) {
    const Exprs& shape = g.type(v).shape;
    return sym::product(std::span(shape).first(shape.size() - 2)) == sym::product(lead);
}

} // namespace

Graph attention_pattern(Graph g, const OpSet& ops, const base::Options& options) {
    Matcher matcher(g, ops);
    return rewrite(g, ops, [&](const Node& n, Rewriter& r) {
        std::optional<Match> m = matcher.match(n);
        if (!m) return false;
        TensorType scores = g.type(m->scores), q = g.type(m->q);
        bool narrow = scalar::compute_type(q.dtype) != q.dtype;
        if (narrow && options.numerics == base::Numerics::eager) return false;
        if (scores.dtype != q.dtype || g.type(m->v).dtype != q.dtype) return false;
        Exprs lead(scores.shape.begin(), scores.shape.end() - 2);
        for (ValueId v : {m->q, m->k_transposed, m->v})
            if (!leads_fit(g, v, lead)) return false;
        GraphBuilder& b = r.builder();
        std::optional<ValueId> plain = matcher.untransposed(m->k_transposed, lead);
        ValueId k = plain ? r.now(*plain) : swapped(b, r.now(m->k_transposed));
        std::vector<std::optional<ValueId>> operands = {with_lead(b, r.now(m->q), lead), with_lead(b, k, lead),
                                                        with_lead(b, r.now(m->v), lead)};
        graph::Attributes attributes = {{"scale", m->scale}};
        if (m->mask) {
            operands.emplace_back(r.now(*m->mask));
            if (!m->safe) attributes["safe"] = false; // softmax gives NaN for a row that is masked throughout
        }
        ValueId out = b.add("attention", operands, attributes)[0];
        const Exprs& want = g.type(n.outputs[0]).shape;
        if (b.type(out).shape != want) out = b.add1("view", {out}, {{"shape", want}});
        r.replace(n.outputs[0], out);
        return true;
    });
}

} // namespace codetta::passes
