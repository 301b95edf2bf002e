#include <algorithm>

#include "codetta/problem/rewrite.h"
#include "codetta/scalar/evaluate.h"

namespace codetta::problem {

using scalar::Builder;
using scalar::DType;
using scalar::Function;
using scalar::Prim;
using scalar::Value;
using sym::Expr;

namespace {

// c holds wherever d does: what c leaves as slack is at least what d leaves.
bool implied(const sym::Facts& facts, const sym::Condition& c, const sym::Condition& d) {
    auto slack = [](const sym::Condition& x) -> std::optional<Expr> {
        if (x.relation == sym::Relation::le) return x.rhs - x.lhs;
        if (x.relation == sym::Relation::lt) return x.rhs - x.lhs - 1;
        return std::nullopt;
    };
    auto a = slack(c), b = slack(d);
    return a && b && facts.proves(sym::le(*b, *a));
}

// Comparisons of index values in the body that are the same everywhere become literals.
void decide_comparisons(const Stage& s, const sym::Facts& facts, Function& body) {
    auto side = [&](Value v) -> std::optional<Expr> {
        const scalar::Op& op = body.ops[v];
        if (op.prim == Prim::constant && op.dtype == DType::i64) return Expr(op.int_value);
        if (op.prim == Prim::parameter && s.reads[static_cast<size_t>(op.int_value)].from == Read::From::index)
            return s.reads[static_cast<size_t>(op.int_value)].expression;
        return std::nullopt;
    };
    bool changed = false;
    for (scalar::Op& op : body.ops) {
        if (op.prim < Prim::eq || op.prim > Prim::ge) continue;
        auto a = side(op.inputs[0]), b = side(op.inputs[1]);
        if (!a || !b) continue;
        sym::Condition c = op.prim == Prim::eq   ? sym::eq(*a, *b)
                           : op.prim == Prim::ne ? sym::ne(*a, *b)
                           : op.prim == Prim::lt ? sym::lt(*a, *b)
                           : op.prim == Prim::le ? sym::le(*a, *b)
                           : op.prim == Prim::gt ? sym::lt(*b, *a)
                                                 : sym::le(*b, *a);
        bool holds = facts.proves(c);
        if (!holds && !facts.refutes(c)) continue;
        op.prim = Prim::constant;
        op.int_value = holds;
        op.inputs.clear();
        changed = true;
    }
    if (changed) body = scalar::canonicalise(body);
}

} // namespace

void simplify_stage(const Problem& p, Stage& s) {
    sym::Facts facts = p.facts;
    for (const auto* list : {&s.axes, &s.reduce})
        for (AxisId a : *list) facts.set_index(p.axis(a).name, p.axis(a).extent);
    auto simplify = [&](Access& a) { // false: never inside
        std::vector<sym::Condition> guard;
        for (const sym::Condition& c : a.guard) {
            if (facts.proves(c)) continue;
            if (facts.refutes(c)) return false;
            sym::Condition simple = facts.simplify(c);
            if (std::ranges::find(guard, simple) == guard.end()) guard.push_back(simple);
        }
        for (size_t i = 0; i < guard.size();) {
            bool superfluous = false;
            for (size_t k = 0; k < guard.size(); ++k)
                superfluous =
                    superfluous || (k != i && implied(facts, guard[i], guard[k]) && (k < i || !implied(facts, guard[k], guard[i])));
            if (superfluous)
                guard.erase(guard.begin() + static_cast<std::ptrdiff_t>(i));
            else
                ++i;
        }
        a.guard = std::move(guard);
        for (Expr& e : a.coordinates) e = facts.simplify(e);
        for (Check& c : a.checks) c = {facts.simplify(c.index), facts.simplify(c.lo), facts.simplify(c.hi)};
        std::erase_if(a.checks,
                      [&](const Check& c) { return facts.proves(sym::le(c.lo, c.index)) && facts.proves(sym::lt(c.index, c.hi)); });
        if (a.guard.empty()) a.fill = 0;
        return true;
    };
    std::erase_if(s.writes, [&](Write& w) { return !simplify(w.access); });
    std::vector<std::optional<double>> never; // the fill of a read that never happens
    bool any_never = false;
    for (Read& r : s.reads) {
        never.emplace_back();
        if (r.from == Read::From::index) {
            r.expression = facts.simplify(r.expression);
            continue;
        }
        double fill = r.access.fill;
        if (!simplify(r.access)) {
            never.back() = fill;
            any_never = true;
        }
    }
    decide_comparisons(s, facts, s.body);
    bool constant_index =
        std::ranges::any_of(s.reads, [](const Read& r) { return r.from == Read::From::index && r.expression.constant(); });
    if (!any_never && !constant_index) return;
    size_t at = 0; // rewrite_reads asks for the reads in order
    (void)rewrite_reads(p, s, [&](const Read& r) -> std::optional<Replacement> {
        auto fill = never[at++];
        if (r.from == Read::From::index) fill.reset();
        if (!fill && !(r.from == Read::From::index && r.expression.constant())) return std::nullopt;
        DType t = read_dtype(p, r);
        Builder b;
        Value v =
            fill ? b.constant(t, scalar::as_double(scalar::convert({DType::f64, *fill, 0}, t))) : b.integer(t, *r.expression.constant());
        return Replacement{{}, b.finish({v})};
    });
}

void canonicalise_stage(const Problem& p, Stage& s) {
    std::vector<size_t> order;
    std::vector<bool> seen(s.reads.size(), false);
    std::function<void(size_t)> visit;
    auto visit_text = [&](const std::string& text) {
        for (size_t i = text.find('$'); i != std::string::npos; i = text.find('$', i + 1)) {
            size_t end = i + 1;
            while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
            if (auto number = read_index(std::string_view(text).substr(i, end - i))) visit(*number);
        }
    };
    auto visit_access = [&](const Access& a) {
        for (const Expr& e : a.coordinates) visit_text(sym::to_string(e));
        for (const Check& c : a.checks) visit_text(sym::to_string(c.lo) + " " + sym::to_string(c.index) + " " + sym::to_string(c.hi));
        for (const sym::Condition& c : a.guard) visit_text(sym::to_string(c));
    };
    visit = [&](size_t i) {
        if (seen[i]) return;
        seen[i] = true;
        visit_access(s.reads[i].access);
        if (s.reads[i].from == Read::From::index) visit_text(sym::to_string(s.reads[i].expression));
        order.push_back(i);
    };
    std::vector<bool> done(s.body.ops.size(), false);
    std::vector<Value> stack = {s.body.results[0]};
    while (!stack.empty()) { // depth first, left to right, as the expression is printed
        Value v = stack.back();
        stack.pop_back();
        if (done[v]) continue;
        done[v] = true;
        const scalar::Op& op = s.body.ops[v];
        if (op.prim == Prim::parameter) visit(static_cast<size_t>(op.int_value));
        for (size_t k = op.inputs.size(); k-- > 0;) stack.push_back(op.inputs[k]);
    }
    for (const Write& w : s.writes) visit_access(w.access);

    sym::Substitution renamed;
    for (size_t i = 0; i < order.size(); ++i) renamed.emplace("$" + std::to_string(order[i]), read_symbol(i));
    std::vector<Read> reads;
    Builder b;
    std::vector<Value> arguments(s.reads.size());
    for (size_t i : order) {
        reads.push_back(substitute(s.reads[i], renamed));
        arguments[i] = b.parameter(read_dtype(p, s.reads[i]));
    }
    for (size_t i = 0; i < s.reads.size(); ++i) // an unread read's parameter is used by nothing
        if (!seen[i]) arguments[i] = b.constant(read_dtype(p, s.reads[i]), 0);
    s.body = b.finish(b.inline_call(s.body, arguments));
    s.reads = std::move(reads);
    for (Write& w : s.writes) w.access = substitute(w.access, renamed);
}
} // namespace codetta::problem
