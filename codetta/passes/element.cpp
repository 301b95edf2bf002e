#include "codetta/passes/element.h"

#include "codetta/problem/problem.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"

namespace codetta::passes {

namespace {

using graph::Node;
using Kind = Element::Kind;
using scalar::DType;

Element integer(sym::Expr e) { return {Kind::integer, std::move(e), {}, 0, 0}; }
Element truth(std::vector<sym::Condition> c) { return {Kind::truth, {}, std::move(c), 0, 0}; }
Element number(double v) { return {Kind::number, {}, {}, v, v}; }
Element choice(std::vector<sym::Condition> c, double yes, double no) { return {Kind::choice, {}, std::move(c), yes, no}; }
const sym::Condition kNever = sym::ne(0, 0);

std::optional<Element> constant(DType t, double v) {
    if (t == DType::boolean) return truth(v != 0 ? std::vector<sym::Condition>{} : std::vector{kNever});
    if (scalar::is_integer(t)) return integer(static_cast<int64_t>(v));
    return number(v);
}

std::optional<std::vector<sym::Condition>> negated(const std::vector<sym::Condition>& c) {
    if (c.empty()) return std::vector{kNever};
    if (c.size() > 1) return std::nullopt;
    switch (c[0].relation) {
    case sym::Relation::eq: return std::vector{sym::ne(c[0].lhs, c[0].rhs)};
    case sym::Relation::ne: return std::vector{sym::eq(c[0].lhs, c[0].rhs)};
    case sym::Relation::lt: return std::vector{sym::le(c[0].rhs, c[0].lhs)};
    case sym::Relation::le: return std::vector{sym::lt(c[0].rhs, c[0].lhs)};
    }
    return std::nullopt;
}

std::optional<Element> compared(const std::string& op, const Element& a, const Element& b) {
    if (a.kind == Kind::integer && b.kind == Kind::integer) {
        if (op == "le") return truth({sym::le(a.integer, b.integer)});
        if (op == "lt") return truth({sym::lt(a.integer, b.integer)});
        if (op == "ge") return truth({sym::le(b.integer, a.integer)});
        if (op == "gt") return truth({sym::lt(b.integer, a.integer)});
        if (op == "eq") return truth({sym::eq(a.integer, b.integer)});
        return truth({sym::ne(a.integer, b.integer)});
    }
    auto value = [](const Element& e, bool yes) {
        return e.kind == Kind::integer ? static_cast<double>(e.integer.constant().value_or(0)) : yes ? e.yes : e.no;
    };
    bool plain =
        (a.kind == Kind::choice || a.kind == Kind::number) && (b.kind == Kind::number || (b.kind == Kind::integer && b.integer.constant()));
    if (!plain) return std::nullopt;
    auto holds = [&](double x, double y) {
        return op == "le" ? x <= y : op == "lt" ? x < y : op == "ge" ? x >= y : op == "gt" ? x > y : op == "eq" ? x == y : x != y;
    };
    bool yes = holds(a.yes, value(b, true)), no = holds(a.no, value(b, false));
    if (yes && no) return truth({});
    if (!yes && !no) return truth({kNever});
    if (yes) return truth(a.conditions);
    std::optional<std::vector<sym::Condition>> opposite = negated(a.conditions);
    if (!opposite) return std::nullopt;
    return truth(*opposite);
}

// The number that all of e is, for arithmetic on choices.
std::optional<Element> as_choice(const Element& e) {
    if (e.kind == Kind::choice || e.kind == Kind::number) return choice(e.conditions, e.yes, e.no);
    if (e.kind == Kind::integer && e.integer.constant()) return number(static_cast<double>(*e.integer.constant()));
    return std::nullopt;
}

std::optional<Element> arithmetic(const std::string& op, const Element& a, const Element& b) {
    if (a.kind == Kind::integer && b.kind == Kind::integer)
        return integer(op == "add" ? a.integer + b.integer : op == "sub" ? a.integer - b.integer : a.integer * b.integer);
    std::optional<Element> x = as_choice(a), y = as_choice(b);
    if (!x || !y || (!x->conditions.empty() && !y->conditions.empty())) return std::nullopt;
    auto apply = [&](double p, double q) { return op == "add" ? p + q : op == "sub" ? p - q : p * q; };
    std::vector<sym::Condition> conditions = x->conditions.empty() ? y->conditions : x->conditions;
    return choice(conditions, apply(x->yes, y->yes), apply(x->no, y->no));
}

std::optional<Element> converted(const Element& e, DType to) {
    if (to == DType::boolean) {
        if (e.kind == Kind::truth) return e;
        return compared("ne", e, e.kind == Kind::integer ? integer(0) : number(0));
    }
    if (scalar::is_integer(to)) return e.kind == Kind::integer ? std::optional(e) : std::nullopt;
    if (e.kind == Kind::truth) return choice(e.conditions, 1, 0);
    return e; // a float of whole numbers stays an integer expression
}

bool is_one_of(const std::string& op, std::initializer_list<const char*> names) {
    for (const char* n : names)
        if (op == n) return true;
    return false;
}

} // namespace

std::optional<Element> ElementEvaluator::element(graph::ValueId v, const std::vector<sym::Expr>& index) const {
    if (!makers_[v.value]) return std::nullopt;
    const Node& n = g_.nodes[*makers_[v.value]];
    if (n.into) return std::nullopt;
    graph::NodeView view = ops_.view(g_, n);
    if (n.op == "full") {
        if (const auto* e = std::get_if<sym::Expr>(&view.attribute("value")); e && !e->constant()) return integer(*e);
        return constant(view.dtype("dtype"), view.number("value"));
    }
    if (n.op == "arange") {
        if (std::holds_alternative<double>(view.attribute("start")) || std::holds_alternative<double>(view.attribute("step")))
            return std::nullopt;
        return integer(view.expr("start") + view.expr("step") * index[0]);
    }
    graph::OpKind kind = ops_.get(n.op).kind;
    if (kind == graph::OpKind::view || is_one_of(n.op, {"clone", "repeat", "roll", "flip"})) return through_view(n, index);
    return kind == graph::OpKind::pointwise ? of_pointwise(n, index) : std::nullopt;
}

// By the op's own Problem: where its one stage reads its one operand.
std::optional<Element> ElementEvaluator::through_view(const Node& n, const std::vector<sym::Expr>& index) const {
    problem::Problem p = ops_.lower(g_, n);
    const problem::Stage& s = p.stages.at(0);
    const problem::Access& to = s.writes.at(0).access;
    sym::Substitution by;
    for (size_t d = 0; d < to.coordinates.size(); ++d)
        if (to.coordinates[d].kind() == sym::Kind::symbol) by.emplace(to.coordinates[d].name(), index[d]);
    if (s.reads.size() != 1 || !s.reads[0].access.guard.empty()) return std::nullopt;
    std::vector<sym::Expr> from;
    for (const sym::Expr& c : s.reads[0].access.coordinates) from.push_back(sym::substitute(c, by));
    return element(*n.inputs[0], from);
}

std::optional<Element> ElementEvaluator::operand(const Node& n, size_t i, const std::vector<sym::Expr>& index) const {
    if (i >= n.inputs.size() || !n.inputs[i]) {
        graph::NodeView view = ops_.view(g_, n);
        if (!view.has("scalar")) return std::nullopt;
        const graph::Attribute& a = view.attribute("scalar");
        if (std::holds_alternative<double>(a)) return number(view.number("scalar"));
        return integer(view.expr("scalar"));
    }
    const graph::TensorType& t = g_.type(*n.inputs[i]);
    std::vector<sym::Expr> at;
    for (size_t d = 0; d < t.shape.size(); ++d) at.push_back(t.shape[d].is(1) ? sym::Expr(0) : index[index.size() - t.shape.size() + d]);
    return element(*n.inputs[i], at);
}

std::optional<Element> ElementEvaluator::of_pointwise(const Node& n, const std::vector<sym::Expr>& index) const {
    std::optional<Element> a = operand(n, 0, index);
    if (!a) return std::nullopt;
    if (n.op == "cast") return converted(*a, g_.type(n.outputs[0]).dtype);
    if (is_one_of(n.op, {"logical_not", "bitwise_not"})) {
        if (a->kind != Kind::truth) return std::nullopt;
        std::optional<std::vector<sym::Condition>> c = negated(a->conditions);
        return c ? std::optional(truth(*c)) : std::nullopt;
    }
    std::optional<Element> b = operand(n, 1, index);
    if (!b) return std::nullopt;
    if (is_one_of(n.op, {"le", "lt", "ge", "gt", "eq", "ne"})) return compared(n.op, *a, *b);
    if (is_one_of(n.op, {"add", "sub", "mul"})) {
        graph::NodeView view = ops_.view(g_, n);
        if (n.op != "mul" && view.number("alpha") != 1) return std::nullopt;
        if (a->kind == Kind::truth || b->kind == Kind::truth) return std::nullopt;
        return arithmetic(n.op, *a, *b);
    }
    if (is_one_of(n.op, {"bitwise_and", "logical_and"})) {
        if (a->kind != Kind::truth || b->kind != Kind::truth) return std::nullopt;
        a->conditions.insert(a->conditions.end(), b->conditions.begin(), b->conditions.end());
        return a;
    }
    if (n.op != "where" || a->kind != Kind::truth) return std::nullopt;
    std::optional<Element> c = operand(n, 2, index);
    if (!c) return std::nullopt;
    std::optional<Element> yes = as_choice(*b), no = as_choice(*c);
    if (!yes || !no) return std::nullopt;
    // where(p, where(q, x, y), y) holds x where p and q hold.
    if (no->conditions.empty() && (yes->conditions.empty() || yes->no == no->yes)) {
        a->conditions.insert(a->conditions.end(), yes->conditions.begin(), yes->conditions.end());
        return choice(a->conditions, yes->yes, no->yes);
    }
    return std::nullopt;
}

} // namespace codetta::passes
