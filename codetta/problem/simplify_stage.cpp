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

// What a value of the body is as an index expression: a literal or a read of one.
std::optional<Expr> index_value(const Stage& s, Value v) {
    const scalar::Op& op = s.body.ops[v];
    if (op.prim == Prim::constant && op.dtype == DType::i64) return Expr(op.int_value);
    if (op.prim != Prim::parameter) return std::nullopt;
    const Read& r = s.reads[static_cast<size_t>(op.int_value)];
    return r.from == Read::From::index ? std::optional(r.expression) : std::nullopt;
}

std::optional<sym::Condition> as_condition(const Stage& s, const scalar::Op& op) {
    if (op.prim < Prim::eq || op.prim > Prim::ge) return std::nullopt;
    auto a = index_value(s, op.inputs[0]), b = index_value(s, op.inputs[1]);
    if (!a || !b) return std::nullopt;
    switch (op.prim) {
    case Prim::eq: return sym::eq(*a, *b);
    case Prim::ne: return sym::ne(*a, *b);
    case Prim::lt: return sym::lt(*a, *b);
    case Prim::le: return sym::le(*a, *b);
    case Prim::gt: return sym::lt(*b, *a);
    default: return sym::le(*b, *a);
    }
}

// Comparisons of index values in the body that are the same everywhere become literals.
void decide_comparisons(Stage& s, const sym::Facts& facts) {
    bool changed = false;
    for (scalar::Op& op : s.body.ops) {
        auto c = as_condition(s, op);
        if (!c) continue;
        bool holds = facts.proves(*c);
        if (!holds && !facts.refutes(*c)) continue;
        op.prim = Prim::constant;
        op.int_value = holds;
        op.inputs.clear();
        changed = true;
    }
    if (changed) s.body = scalar::canonicalise(s.body);
}

// A comparison that says the same as an earlier one, or its opposite, becomes that one: `i - 8 < 0` beside `i < 8`, `8 <= i` beside it.
void share_comparisons(Stage& s, const sym::Facts& facts) {
    struct Known {
        Value op;
        Expr slack; // holds where slack >= 0
    };
    std::vector<Known> known;
    std::vector<std::pair<Value, bool>> same(s.body.ops.size(), {0, false}); // what to use instead, and whether its opposite
    bool changed = false;
    for (Value v = 0; v < s.body.ops.size(); ++v) {
        same[v] = {v, false};
        auto c = as_condition(s, s.body.ops[v]);
        if (!c || (c->relation != sym::Relation::lt && c->relation != sym::Relation::le)) continue;
        Expr slack = facts.simplify(c->rhs - c->lhs - (c->relation == sym::Relation::lt ? 1 : 0));
        for (const Known& k : known) {
            if (k.slack == slack)
                same[v] = {k.op, false};
            else if (k.slack == facts.simplify(-slack - 1))
                same[v] = {k.op, true};
        }
        if (same[v].first == v)
            known.push_back({v, slack});
        else
            changed = true;
    }
    if (!changed) return;
    Builder b;
    std::vector<Value> values;
    for (Value v = 0; v < s.body.ops.size(); ++v) {
        const scalar::Op& op = s.body.ops[v];
        if (same[v].first != v) {
            values.push_back(same[v].second ? b.apply(Prim::bit_not, {values[same[v].first]}) : values[same[v].first]);
            continue;
        }
        std::vector<Value> inputs;
        for (Value i : op.inputs) inputs.push_back(values[i]);
        if (op.prim == Prim::parameter)
            values.push_back(b.parameter(op.dtype));
        else if (op.prim == Prim::constant)
            values.push_back(scalar::is_float(op.dtype) ? b.constant(op.dtype, op.float_value) : b.integer(op.dtype, op.int_value));
        else if (op.prim == Prim::cast)
            values.push_back(b.cast(op.dtype, inputs[0]));
        else if (op.prim == Prim::narrow)
            values.push_back(b.narrow(op.dtype, inputs[0]));
        else
            values.push_back(b.apply(op.prim, inputs));
    }
    s.body = b.finish({values[s.body.results[0]]});
}

// `$i` where read i is an index value is that value.
void spell_out_indices(Stage& s) {
    sym::Substitution values;
    for (size_t i = 0; i < s.reads.size(); ++i) {
        Read& r = s.reads[i];
        if (!values.empty()) r = substitute(r, values);
        if (r.from == Read::From::index) values.emplace("$" + std::to_string(i), r.expression);
    }
    if (values.empty()) return;
    for (Write& w : s.writes) w.access = substitute(w.access, values);
}

} // namespace

void simplify_stage(const Problem& p, Stage& s) {
    sym::Facts facts = p.facts;
    for (const auto* list : {&s.axes, &s.reduce})
        for (AxisId a : *list) facts.set_index(p.axis(a).name, p.axis(a).extent);
    spell_out_indices(s);
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
        for (Check& c : a.checks)
            for (Expr* e : {&c.index, &c.lo, &c.hi}) *e = facts.simplify(*e);
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
    decide_comparisons(s, facts);
    share_comparisons(s, facts);
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
