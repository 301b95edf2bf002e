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
    if (scalar::is_integer(to)) {
        if (e.kind == Kind::truth && e.conditions.empty()) return integer(1);
        if (e.kind == Kind::truth && e.conditions == std::vector{kNever}) return integer(0);
        return e.kind == Kind::integer ? std::optional(e) : std::nullopt;
    }
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
    std::optional<Element> e = n.into ? std::nullopt : of_node(n, index);
    return e ? std::optional(settled(std::move(*e))) : std::nullopt;
}

Element ElementEvaluator::settled(Element e) const {
    if (e.kind == Kind::integer) e.integer = facts_.simplify(e.integer);
    std::vector<sym::Condition> open;
    for (const sym::Condition& c : e.conditions) {
        if (facts_.refutes(c)) {
            if (e.kind == Kind::choice) return number(e.no);
            return truth({kNever});
        }
        if (!facts_.proves(c)) open.push_back(c);
    }
    if (e.kind == Kind::choice && open.empty()) return number(e.yes);
    e.conditions = std::move(open);
    return e;
}

std::optional<Element> ElementEvaluator::of_node(const Node& n, const std::vector<sym::Expr>& index) const {
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
    if (n.op == "cat") return of_cat(n, index);
    if (n.op == "cumsum") { // of zeros
        std::optional<Element> e = element(*n.inputs[0], index);
        bool zero = e && e->kind == Kind::integer && e->integer.is(0);
        return zero ? e : std::nullopt;
    }
    graph::OpKind kind = ops_.get(n.op).kind;
    if (kind == graph::OpKind::view || is_one_of(n.op, {"clone", "repeat", "roll", "flip", "index"})) return through_access(n, index);
    return kind == graph::OpKind::pointwise ? of_pointwise(n, index) : std::nullopt;
}

// By the op's own Problem: where its one stage reads its last operand, at places that may come from the reads before (index: read k is
// operand k + 1).
std::optional<Element> ElementEvaluator::through_access(const Node& n, const std::vector<sym::Expr>& index) const {
    problem::Problem p = ops_.lower(g_, n);
    const problem::Stage& s = p.stages.at(0);
    const problem::Access& to = s.writes.at(0).access;
    sym::Substitution by;
    for (size_t d = 0; d < to.coordinates.size(); ++d)
        if (to.coordinates[d].kind() == sym::Kind::symbol) by.emplace(to.coordinates[d].name(), index[d]);
    auto places = [&](const problem::Read& r) {
        std::vector<sym::Expr> result;
        for (const sym::Expr& c : r.access.coordinates) {
            // A checked index: $k % size is $k where $k is not negative.
            bool wrapped = c.kind() == sym::Kind::mod && c.operands()[0].kind() == sym::Kind::symbol && c.operands()[0].name()[0] == '$';
            sym::Expr value = sym::substitute(wrapped ? c.operands()[0] : c, by);
            result.push_back(wrapped && !facts_.proves(sym::le(0, value)) ? sym::substitute(c, by) : value);
        }
        return result;
    };
    // The graph value behind each operand of the Problem.
    std::vector<graph::ValueId> values;
    for (const auto& v : n.inputs)
        if (v) values.push_back(*v);
    for (size_t k = 0; k + 1 < s.reads.size(); ++k) {
        std::optional<Element> e =
            s.reads[k].access.guard.empty() ? element(values.at(s.reads[k].source), places(s.reads[k])) : std::nullopt;
        if (!e || e->kind != Kind::integer) return std::nullopt;
        by.emplace("$" + std::to_string(k), e->integer);
    }
    const problem::Read& last = s.reads.back();
    return last.access.guard.empty() ? element(values.at(last.source), places(last)) : std::nullopt;
}

// Two parts of which the first has one place, where the second's expression gives the same value: the second's expression everywhere
// (positions with one before the first: cat(p[:1] - 1, p)).
std::optional<Element> ElementEvaluator::of_cat(const Node& n, const std::vector<sym::Expr>& index) const {
    if (n.inputs.size() != 2) return std::nullopt;
    auto rank = static_cast<int64_t>(index.size());
    auto dim = static_cast<size_t>((ops_.view(g_, n).integer("dim") + rank) % rank);
    if (!g_.type(*n.inputs[0]).shape[dim].is(1)) return std::nullopt;
    std::vector<sym::Expr> first = index, before = index, at = index;
    first[dim] = 0;
    before[dim] = -1;
    at[dim] = at[dim] - 1;
    std::optional<Element> a = element(*n.inputs[0], first), b = element(*n.inputs[1], before);
    bool same = a && b && a->kind == Kind::integer && b->kind == Kind::integer && a->integer == b->integer;
    return same ? element(*n.inputs[1], at) : std::nullopt;
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
