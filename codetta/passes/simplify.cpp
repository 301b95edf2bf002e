#include "codetta/passes/simplify.h"

#include "codetta/passes/rewrite.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"

namespace codetta::passes {

namespace {

using scalar::DType;
using Exprs = std::vector<sym::Expr>;

// Every value of `from` is a value of `to`.
bool is_exact(DType from, DType to) {
    if (from == to || from == DType::boolean) return true;
    auto bits = [](DType t) { return 8 * scalar::bytes(t); };
    if (scalar::is_integer(from) && scalar::is_integer(to)) return bits(to) > bits(from) && (from == DType::u8 || to != DType::u8);
    if (scalar::is_float(from) && scalar::is_float(to)) return bits(to) > bits(from);
    if (!scalar::is_integer(from) || !scalar::is_float(to)) return false;
    int64_t mantissa = to == DType::f64 ? 53 : to == DType::f32 ? 24 : to == DType::f16 ? 11 : 8;
    return bits(from) <= mantissa;
}

class Simplifier {
public:
    Simplifier(const Graph& g, const OpSet& ops) : ops_(ops), overwritten_(overwritten_inputs(g)) {
        for (uint32_t v : overwritten_) names_.insert(g.values[v].name);
    }

    // What users of n's result may read instead, or nothing. Looks at and adds to the new graph.
    std::optional<ValueId> simpler(const Node& n, Rewriter& r) {
        b_ = &r.builder();
        Node m = r.mapped(n);
        if (m.into || m.outputs.size() != 1) return std::nullopt;
        graph::NodeView view = ops_.view(b_->graph(), m);
        const TensorType out = r.old().type(n.outputs[0]);
        if (std::optional<ValueId> v = same_value(view, out)) return v;
        if (m.op == "cast") return simpler_cast(view);
        if (m.op == "where") return simpler_where(view, out);
        if (m.op == "permute" || m.op == "expand" || m.op == "view" || m.op == "unsqueeze" || m.op == "squeeze")
            return merged_view(view, out);
        return std::nullopt;
    }

private:
    const Graph& g() const { return b_->graph(); }

    // The node of the new graph that makes v; it grows, so the table is filled up as far as it has come.
    const Node* maker(ValueId v) {
        makers_.resize(g().values.size());
        for (; scanned_ < g().nodes.size(); ++scanned_)
            for (ValueId o : g().nodes[scanned_].outputs) makers_[o.value] = scanned_;
        return makers_[v.value] ? &g().nodes[*makers_[v.value]] : nullptr;
    }

    // An input that is written later must be read where the graph reads it.
    bool is_safe(ValueId v) const { return !names_.contains(g().value(v).name); }

    // The number that all elements of v are.
    std::optional<double> uniform(ValueId v) {
        const Node* n = maker(v);
        if (!n) return std::nullopt;
        if (n->op == "view" || n->op == "expand" || n->op == "unsqueeze" || n->op == "squeeze") return uniform(*n->inputs[0]);
        if (n->op != "full") return std::nullopt;
        const graph::Attribute& a = n->attributes.at("value");
        if (const auto* d = std::get_if<double>(&a)) return *d;
        if (const auto* i = std::get_if<int64_t>(&a)) return static_cast<double>(*i);
        return std::nullopt;
    }

    bool same_type(ValueId v, const TensorType& t) const {
        TensorType have = g().type(v);
        if (have.dtype != t.dtype || have.rank() != t.rank()) return false;
        for (size_t d = 0; d < t.rank(); ++d)
            if (have.shape[d] != t.shape[d] && !g().facts.proves(sym::eq(have.shape[d], t.shape[d]))) return false;
        return true;
    }

    // Ops that give their operand: by name where that is their meaning, by attributes elsewhere.
    std::optional<ValueId> same_value(const graph::NodeView& n, const TensorType& out) {
        const std::string& op = n.node->op;
        auto operand = [&](size_t i) -> std::optional<ValueId> {
            ValueId v = *n.node->inputs[i];
            if (!is_safe(v) || !same_type(v, out)) return std::nullopt;
            return v;
        };
        if (op == "alias" || op == "clone") return operand(0);
        if (op == "view" || op == "unsqueeze" || op == "squeeze" || op == "expand" || op == "cast")
            return operand(0); // when the type is the same
        if (op == "copy") return operand(1);
        if (op == "slice" && n.expr("start").is(0) && n.expr("step").is(1)) return operand(0);
        if (op == "permute") {
            for (size_t d = 0; d < n.exprs("dims").size(); ++d)
                if (!n.exprs("dims")[d].is(static_cast<int64_t>(d))) return std::nullopt;
            return operand(0);
        }
        if (op == "cat" && n.input_count() == 1) return operand(0);
        return neutral_operand(n, operand);
    }

    template <class F>
    std::optional<ValueId> neutral_operand(const graph::NodeView& n, const F& operand) {
        const std::string& op = n.node->op;
        bool times = op == "mul", over = op == "div" || op == "pow", minus = op == "sub";
        if (!times && !over && !minus) return std::nullopt;
        if (op == "div" && n.text("rounding_mode") != "none") return std::nullopt;
        double neutral = minus ? 0 : 1;
        auto is_neutral = [&](size_t i) {
            if (n.has_input(i)) return uniform(*n.node->inputs[i]) == neutral;
            const auto* e = std::get_if<sym::Expr>(&n.attribute("scalar"));
            return !(e && !e->constant()) && n.number("scalar") == neutral;
        };
        if (n.has_input(0) && is_neutral(1)) return operand(0);
        if (times && n.has_input(1) && is_neutral(0)) return operand(1);
        return std::nullopt;
    }

    std::optional<ValueId> simpler_cast(const graph::NodeView& n) {
        if (n.flag("implicit")) return std::nullopt;
        const Node* inner = maker(*n.node->inputs[0]);
        if (!inner || inner->op != "cast") return std::nullopt;
        ValueId source = *inner->inputs[0];
        DType from = g().type(source).dtype, middle = g().type(inner->outputs[0]).dtype, to = n.dtype("dtype");
        if (!is_exact(from, middle) || !is_safe(source)) return std::nullopt;
        if (from == to) return source;
        return b_->add1("cast", {source}, {{"dtype", to}});
    }

    std::optional<ValueId> simpler_where(const graph::NodeView& n, const TensorType& out) {
        std::optional<double> condition = uniform(*n.node->inputs[0]);
        if (!condition) return std::nullopt;
        ValueId v = *n.node->inputs[*condition != 0 ? 1 : 2];
        if (!is_safe(v)) return std::nullopt;
        if (same_type(v, out)) return v;
        return b_->add1("expand", {v}, {{"shape", out.shape}});
    }

    // A view of a view as one view of the first operand.
    std::optional<ValueId> merged_view(const graph::NodeView& n, const TensorType& out) {
        const std::string& op = n.node->op;
        const Node* inner = maker(*n.node->inputs[0]);
        bool reshapes = op == "view" || op == "unsqueeze" || op == "squeeze";
        if (!inner || inner->into) {
            if (reshapes && op != "view") return b_->add1("view", {*n.node->inputs[0]}, {{"shape", out.shape}});
            return std::nullopt;
        }
        ValueId source = inner->inputs.empty() || !inner->inputs[0] ? ValueId() : *inner->inputs[0];
        if (source.valid() && !is_safe(source)) return std::nullopt;
        bool inner_reshapes = inner->op == "view" || inner->op == "unsqueeze" || inner->op == "squeeze";
        if (reshapes && inner_reshapes) {
            if (is_safe(source) && same_type(source, out)) return source;
            return b_->add1("view", {source}, {{"shape", out.shape}});
        }
        if (reshapes && op != "view") return b_->add1("view", {*n.node->inputs[0]}, {{"shape", out.shape}});
        if (op == "expand" && inner->op == "expand") return b_->add1("expand", {source}, {{"shape", out.shape}});
        if (op == "permute" && inner->op == "permute") {
            Exprs dims, first = ops_.view(g(), *inner).exprs("dims");
            auto rank = static_cast<int64_t>(first.size());
            for (int64_t d : n.integers("dims")) dims.push_back(first[static_cast<size_t>((d + rank) % rank)]);
            for (sym::Expr& d : dims) d = (*d.constant() + rank) % rank;
            bool identity = true;
            for (int64_t d = 0; d < rank; ++d) identity = identity && dims[static_cast<size_t>(d)].is(d);
            if (identity && is_safe(source)) return source;
            return b_->add1("permute", {source}, {{"dims", dims}});
        }
        return std::nullopt;
    }

    const OpSet& ops_;
    std::set<uint32_t> overwritten_;
    std::set<std::string> names_; // of overwritten inputs
    GraphBuilder* b_ = nullptr;
    std::vector<std::optional<size_t>> makers_;
    size_t scanned_ = 0;
};

} // namespace

Graph simplify(Graph g, const OpSet& ops, const base::Options&) {
    Simplifier s(g, ops);
    return rewrite(g, ops, [&](const Node& n, Rewriter& r) {
        size_t before = r.builder().graph().nodes.size();
        std::optional<ValueId> v = s.simpler(n, r);
        if (!v) return false;
        bool made = r.builder().graph().nodes.size() > before;
        if (made)
            r.replace(n.outputs[0], *v);
        else
            r.forward(n, *v);
        return true;
    });
}

} // namespace codetta::passes
