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

} // namespace codetta::problem
