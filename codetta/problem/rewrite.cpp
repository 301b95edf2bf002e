#include "codetta/problem/rewrite.h"

#include <algorithm>

#include "codetta/base/error.h"
#include "codetta/scalar/evaluate.h"

namespace codetta::problem {

using scalar::Builder;
using scalar::DType;
using scalar::Function;
using scalar::Prim;
using scalar::Value;
using sym::Expr;

sym::Expr local_symbol(size_t i) { return Expr::symbol("$L" + std::to_string(i)); }

namespace {

// An integer body as an expression of its parameters; nullopt when it computes more than an index expression can say.
std::optional<Expr> as_expression(const Function& f, const std::vector<Expr>& parameters) {
    std::vector<std::optional<Expr>> values(f.ops.size());
    for (size_t i = 0; i < f.ops.size(); ++i) {
        const scalar::Op& op = f.ops[i];
        if (scalar::is_float(op.dtype)) continue;
        auto in = [&](size_t k) { return values[op.inputs[k]]; };
        switch (op.prim) {
        case Prim::parameter: values[i] = parameters[static_cast<size_t>(op.int_value)]; continue;
        case Prim::constant: values[i] = Expr(op.int_value); continue;
        case Prim::cast: { // widening only: no wrap-around
            DType from = f.ops[op.inputs[0]].dtype;
            if (!scalar::is_float(from) && op.dtype == DType::i64) values[i] = in(0);
            continue;
        }
        default: break;
        }
        if (op.dtype != DType::i64 || op.inputs.empty() || !in(0) || (op.inputs.size() > 1 && !in(1)) || op.inputs.size() > 2) continue;
        switch (op.prim) {
        case Prim::add: values[i] = *in(0) + *in(1); break;
        case Prim::sub: values[i] = *in(0) - *in(1); break;
        case Prim::mul: values[i] = *in(0) * *in(1); break;
        case Prim::neg: values[i] = -*in(0); break;
        case Prim::minimum: values[i] = sym::min(*in(0), *in(1)); break;
        case Prim::maximum: values[i] = sym::max(*in(0), *in(1)); break;
        case Prim::floor_div:
        case Prim::mod: // by a positive literal: an interpreter's division by zero gives 0, an expression's fails
            if (auto d = in(1)->constant(); d && *d > 0)
                values[i] = op.prim == Prim::mod ? sym::mod(*in(0), *in(1)) : sym::floor_div(*in(0), *in(1));
            break;
        default: break;
        }
    }
    return values[f.results[0]];
}

scalar::Op constant_of(DType t, double fill) {
    Builder b;
    scalar::Scalar v = scalar::convert({DType::f64, fill, 0}, t);
    Function f = b.finish({scalar::is_float(t) ? b.constant(t, v.f) : b.integer(t, v.i)});
    return f.ops[0];
}

Value add_condition(Builder& b, const sym::Condition& c, const std::function<Value(const Expr&)>& value) {
    Prim p = c.relation == sym::Relation::eq   ? Prim::eq
             : c.relation == sym::Relation::ne ? Prim::ne
             : c.relation == sym::Relation::lt ? Prim::lt
                                               : Prim::le;
    Value l = value(c.lhs);
    return b.apply(p, {l, value(c.rhs)});
}

// The value of f when every parameter is the constant that its read gives outside its guard.
std::optional<scalar::Scalar> value_outside(const Function& f, const std::vector<Read>& reads, const std::vector<DType>& types) {
    std::vector<scalar::Scalar> arguments;
    for (size_t i = 0; i < reads.size(); ++i) {
        if (reads[i].from == Read::From::index) return std::nullopt;
        arguments.push_back(scalar::convert({DType::f64, reads[i].access.fill, 0}, types[i]));
    }
    return scalar::evaluate(f, arguments)[0];
}

// Whether the read touches nothing that is not there, wherever the axes of `facts` stand.
bool stays_inside(const Problem& p, const Read& r, const sym::Facts& facts) {
    if (depends_on_data(r.access) || !r.access.checks.empty()) return false;
    for (size_t i = 0; i < r.access.coordinates.size(); ++i) {
        const Expr& extent = r.from == Read::From::operand ? p.operands[r.source].shape[i] : p.axis(p.stages[r.source].axes[i]).extent;
        const Expr& c = r.access.coordinates[i];
        if (!facts.proves(sym::le(0, c)) || !facts.proves(sym::lt(c, extent))) return false;
    }
    return true;
}

bool same_value(const scalar::Scalar& a, const scalar::Scalar& b) {
    return scalar::is_float(a.dtype) ? scalar::same_bits(a.f, b.f) : a.i == b.i;
}

} // namespace

Replacement guarded(Replacement value, const std::vector<sym::Condition>& guard, double fill, const std::vector<DType>& types) {
    if (guard.empty()) return value;
    DType t = value.body.result_type();
    scalar::Scalar wanted = scalar::constant_value(constant_of(t, fill));
    std::vector<bool> had_guard;
    for (Read& r : value.reads) {
        had_guard.push_back(!r.access.guard.empty());
        if (r.from == Read::From::index) continue;
        r.access.guard.insert(r.access.guard.begin(), guard.begin(), guard.end());
    }
    // Reads without a fill of their own may take the one that makes the select superfluous: the wanted value itself, or 0.
    for (double try_fill : {fill, 0.0}) {
        std::vector<Read> tried = value.reads;
        for (size_t i = 0; i < tried.size(); ++i)
            if (!had_guard[i]) tried[i].access.fill = tried[i].from == Read::From::index ? 0 : try_fill;
        auto outside = value_outside(value.body, tried, types);
        if (outside && same_value(*outside, wanted)) {
            value.reads = std::move(tried);
            return value;
        }
    }
    Builder b;
    std::vector<Value> arguments;
    for (DType d : types) arguments.push_back(b.parameter(d));
    std::vector<Expr> sides;
    for (const sym::Condition& c : guard)
        for (const Expr& e : {c.lhs, c.rhs})
            if (!e.constant() && std::ranges::find(sides, e) == sides.end()) sides.push_back(e);
    std::vector<Value> side_values;
    for (const Expr& e : sides) {
        value.reads.push_back({Read::From::index, 0, {}, e});
        side_values.push_back(b.parameter(DType::i64));
    }
    auto side = [&](const Expr& e) {
        if (auto c = e.constant()) return b.integer(DType::i64, *c);
        return side_values[static_cast<size_t>(std::ranges::find(sides, e) - sides.begin())];
    };
    Value holds = b.integer(DType::boolean, 1);
    for (const sym::Condition& c : guard) holds = b.apply(Prim::bit_and, {holds, add_condition(b, c, side)});
    Value inside = b.inline_call(value.body, arguments)[0];
    Value outside = scalar::is_float(t) ? b.constant(t, wanted.f) : b.integer(t, wanted.i);
    value.body = b.finish({b.apply(Prim::select, {holds, inside, outside})});
    return value;
}

base::Verdict rewrite_reads(const Problem& p, Stage& s, const std::function<std::optional<Replacement>(const Read&)>& replace) {
    struct Source { // where an old read's value comes from
        std::vector<size_t> reads;
        std::optional<Function> body; // none: reads[0] itself
    };
    std::vector<Read> reads;
    std::vector<Source> sources;
    sym::Substitution renamed;                     // `$i` -> over the new list
    std::vector<std::optional<Expr>> index_values; // of each old read
    auto number = [&](Read r) {
        auto found = std::ranges::find(reads, r);
        if (found == reads.end()) {
            reads.push_back(std::move(r));
            return reads.size() - 1;
        }
        return static_cast<size_t>(found - reads.begin());
    };
    auto expressible = [&](const std::set<std::string>& names) -> base::Verdict {
        for (const std::string& name : names)
            if (auto i = read_index(name); i && !index_values[*i])
                return base::Verdict::no("stage {} uses a computed value as an index", s.name);
        return base::Verdict::yes();
    };
    for (const Read& old : s.reads) {
        std::set<std::string> names;
        collect_symbols(old, names);
        if (auto ok = expressible(names); !ok) return ok;
        Read r = substitute(old, renamed);
        Source source;
        std::optional<Expr> index;
        if (auto replacement = replace(r)) {
            sym::Substitution locals;
            std::vector<Expr> parameters;
            for (size_t k = 0; k < replacement->reads.size(); ++k) {
                size_t at = number(substitute(replacement->reads[k], locals));
                source.reads.push_back(at);
                locals.emplace(local_symbol(k).name(), read_symbol(at));
                parameters.push_back(read_symbol(at));
            }
            if (!scalar::is_float(replacement->body.result_type())) index = as_expression(replacement->body, parameters);
            source.body = std::move(replacement->body);
        } else {
            size_t at = number(r);
            source.reads.push_back(at);
            index = read_symbol(at);
        }
        index_values.push_back(index);
        if (index) renamed.emplace("$" + std::to_string(sources.size()), *index);
        sources.push_back(std::move(source));
    }
    std::vector<Write> writes = s.writes;
    for (Write& w : writes) {
        std::set<std::string> names;
        collect_symbols(w.access, names);
        if (auto ok = expressible(names); !ok) return ok;
        w.access = substitute(w.access, renamed);
    }
    Builder b;
    std::vector<Value> parameters, arguments;
    for (const Read& r : reads) parameters.push_back(b.parameter(read_dtype(p, r)));
    for (const Source& source : sources) {
        std::vector<Value> inputs;
        for (size_t at : source.reads) inputs.push_back(parameters[at]);
        arguments.push_back(source.body ? b.inline_call(*source.body, inputs)[0] : inputs[0]);
    }
    s.body = b.finish(b.inline_call(s.body, arguments));
    s.reads = std::move(reads);
    s.writes = std::move(writes);
    return base::Verdict::yes();
}

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

void reindex_stage(Problem& p, StageId id, const Reindexing& to) {
    Stage& s = p.stages[id.value];
    std::vector<std::string> old_names;
    for (AxisId a : s.axes) old_names.push_back(p.axis(a).name);
    sym::Facts facts = p.facts;
    for (const auto* list : {&to.axes, &to.reduce})
        for (AxisId a : *list) facts.set_index(p.axis(a).name, p.axis(a).extent);
    for (Read& r : s.reads) {
        r = substitute(r, to.forward);
        if (r.from != Read::From::index && !to.inside.empty() && !stays_inside(p, r, facts))
            r.access.guard.insert(r.access.guard.begin(), to.inside.begin(), to.inside.end());
    }
    for (Write& w : s.writes) {
        w.access = substitute(w.access, to.forward);
        w.access.guard.insert(w.access.guard.begin(), to.inside.begin(), to.inside.end());
    }
    s.axes = to.axes;
    s.reduce = to.reduce;
    s.scan = to.scan;
    simplify_stage(p, s);
    for (size_t t = id.value + 1; t < p.stages.size(); ++t) {
        bool changed = false;
        for (Read& r : p.stages[t].reads) {
            if (r.from != Read::From::stage || r.source != id.value) continue;
            sym::Substitution at;
            for (size_t i = 0; i < old_names.size(); ++i) at.emplace(old_names[i], r.access.coordinates[i]);
            std::vector<Expr> coordinates;
            for (const Expr& e : to.backward) coordinates.push_back(sym::substitute(e, at));
            r.access.coordinates = std::move(coordinates);
            changed = true;
        }
        if (changed) simplify_stage(p, p.stages[t]);
    }
}

void drop_dead(Problem& p) {
    std::vector<bool> needed(p.stages.size(), false);
    for (size_t s = p.stages.size(); s-- > 0;) {
        canonicalise_stage(p, p.stages[s]);
        needed[s] = needed[s] || !p.stages[s].writes.empty();
        if (!needed[s]) continue;
        for (const Read& r : p.stages[s].reads)
            if (r.from == Read::From::stage) needed[r.source] = true;
    }
    std::vector<uint32_t> stage_number(p.stages.size(), 0);
    std::vector<Stage> stages;
    for (size_t s = 0; s < p.stages.size(); ++s) {
        if (!needed[s]) continue;
        stage_number[s] = static_cast<uint32_t>(stages.size());
        stages.push_back(std::move(p.stages[s]));
        for (Read& r : stages.back().reads)
            if (r.from == Read::From::stage) r.source = stage_number[r.source];
    }
    p.stages = std::move(stages);

    // Axes in the order of their first use.
    std::vector<std::optional<uint32_t>> axis_number(p.axes.size());
    std::vector<Axis> axes;
    for (const Stage& s : p.stages)
        for (const auto* list : {&s.axes, &s.reduce})
            for (AxisId a : *list)
                if (!axis_number[a.value]) {
                    axis_number[a.value] = static_cast<uint32_t>(axes.size());
                    axes.push_back(p.axes[a.value]);
                }
    p.axes = std::move(axes);
    for (Stage& s : p.stages) {
        for (auto* list : {&s.axes, &s.reduce})
            for (AxisId& a : *list) a = AxisId(*axis_number[a.value]);
        if (s.scan) s.scan = AxisId(*axis_number[s.scan->value]);
    }
}

void share_equal_stages(Problem& p) {
    for (size_t s = 0; s < p.stages.size(); ++s)
        for (size_t t = s + 1; t < p.stages.size();) {
            const Stage &a = p.stages[s], &b = p.stages[t];
            bool equal = a.axes == b.axes && a.reduce == b.reduce && a.scan == b.scan && a.reads == b.reads && a.body == b.body &&
                         a.combiner == b.combiner;
            // A write that moves up must not pass a stage that reads or writes memory that it changes.
            bool moves = equal && std::ranges::any_of(b.writes, [&](const Write& w) {
                             return p.operand(w.operand).aliases || p.operand(w.operand).role == Role::inout;
                         });
            for (size_t between = s; equal && !b.writes.empty() && between < t; ++between)
                for (const Write& w : b.writes)
                    moves = moves ||
                            std::ranges::any_of(p.stages[between].writes, [&](const Write& other) { return other.operand == w.operand; });
            if (!equal || moves) {
                ++t;
                continue;
            }
            p.stages[s].writes.insert(p.stages[s].writes.end(), b.writes.begin(), b.writes.end());
            p.stages.erase(p.stages.begin() + static_cast<std::ptrdiff_t>(t));
            for (Stage& later : p.stages)
                for (Read& r : later.reads) {
                    if (r.from != Read::From::stage) continue;
                    if (r.source == t)
                        r.source = static_cast<uint32_t>(s);
                    else if (r.source > t)
                        --r.source;
                }
        }
}

// `name` for `name_1` where that is free now.
void shorten_names(Problem& p) {
    std::set<std::string> axes, values;
    for (const Axis& a : p.axes) axes.insert(a.name);
    for (const std::string& s : p.size_symbols()) axes.insert(s);
    for (const Operand& o : p.operands) values.insert(o.name);
    for (const Stage& s : p.stages) values.insert(s.name);
    auto shorten = [](std::string& name, std::set<std::string>& taken) {
        while (true) {
            size_t end = name.find_last_not_of("0123456789");
            if (end == std::string::npos || end + 1 == name.size() || end == 0 || name[end] != '_') return;
            std::string base = name.substr(0, end);
            if (!taken.insert(base).second) return;
            taken.erase(name);
            name = base;
        }
    };
    sym::Substitution renamed;
    for (Axis& a : p.axes) {
        std::string old = a.name;
        shorten(a.name, axes);
        if (old != a.name) renamed.emplace(old, Expr::symbol(a.name));
    }
    for (Operand& o : p.operands) shorten(o.name, values);
    for (Stage& s : p.stages) {
        shorten(s.name, values);
        if (renamed.empty()) continue;
        for (Read& r : s.reads) r = substitute(r, renamed);
        for (Write& w : s.writes) w.access = substitute(w.access, renamed);
    }
}

std::string fresh_name(const std::string& base, const std::set<std::string>& taken) {
    if (!taken.contains(base)) return base;
    for (int i = 1;; ++i)
        if (std::string name = base + "_" + std::to_string(i); !taken.contains(name)) return name;
}

} // namespace codetta::problem
