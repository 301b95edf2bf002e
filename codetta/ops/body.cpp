#include "codetta/ops/body.h"

#include <vector>

namespace codetta::ops {

using scalar::Prim;

Term apply(Prim p, std::initializer_list<Term> inputs) {
    std::vector<scalar::Value> values;
    for (Term t : inputs) values.push_back(t.value);
    scalar::Builder* b = inputs.begin()->builder;
    return {b, b->apply(p, values)};
}

Term constant(Term like, double v) {
    scalar::DType t = like.type();
    scalar::Builder* b = like.builder;
    return {b, scalar::is_float(t) ? b->constant(t, v) : b->integer(t, static_cast<int64_t>(v))};
}

Term cast(scalar::DType t, Term x) { return {x.builder, x.builder->cast(t, x.value)}; }
Term narrow(scalar::DType t, Term x) { return {x.builder, x.builder->narrow(t, x.value)}; }
Term wide(Term x) { return cast(scalar::compute_type(x.type()), x); }

Term operator+(Term a, Term b) { return apply(Prim::add, {a, b}); }
Term operator-(Term a, Term b) { return apply(Prim::sub, {a, b}); }
Term operator*(Term a, Term b) { return apply(Prim::mul, {a, b}); }
Term operator/(Term a, Term b) { return apply(Prim::div, {a, b}); }
Term operator-(Term a) { return apply(Prim::neg, {a}); }
Term operator+(Term a, double b) { return a + constant(a, b); }
Term operator-(Term a, double b) { return a - constant(a, b); }
Term operator*(Term a, double b) { return a * constant(a, b); }
Term operator/(Term a, double b) { return a / constant(a, b); }
Term operator+(double a, Term b) { return constant(b, a) + b; }
Term operator-(double a, Term b) { return constant(b, a) - b; }
Term operator*(double a, Term b) { return constant(b, a) * b; }
Term operator/(double a, Term b) { return constant(b, a) / b; }
Term operator<(Term a, Term b) { return apply(Prim::lt, {a, b}); }
Term operator<=(Term a, Term b) { return apply(Prim::le, {a, b}); }
Term operator>(Term a, Term b) { return apply(Prim::gt, {a, b}); }
Term operator>=(Term a, Term b) { return apply(Prim::ge, {a, b}); }
Term operator==(Term a, Term b) { return apply(Prim::eq, {a, b}); }
Term operator!=(Term a, Term b) { return apply(Prim::ne, {a, b}); }
Term operator<(Term a, double b) { return a < constant(a, b); }
Term operator<=(Term a, double b) { return a <= constant(a, b); }
Term operator>(Term a, double b) { return a > constant(a, b); }
Term operator>=(Term a, double b) { return a >= constant(a, b); }
Term operator==(Term a, double b) { return a == constant(a, b); }
Term operator!=(Term a, double b) { return a != constant(a, b); }
Term operator&&(Term a, Term b) { return apply(Prim::bit_and, {a, b}); }
Term operator||(Term a, Term b) { return apply(Prim::bit_or, {a, b}); }
Term operator!(Term a) { return apply(Prim::bit_not, {a}); }

Term select(Term condition, Term a, Term b) { return apply(Prim::select, {condition, a, b}); }
Term select(Term condition, Term a, double b) { return select(condition, a, constant(a, b)); }
Term select(Term condition, double a, Term b) { return select(condition, constant(b, a), b); }
Term minimum(Term a, Term b) { return apply(Prim::minimum, {a, b}); }
Term maximum(Term a, Term b) { return apply(Prim::maximum, {a, b}); }
Term minimum(Term a, double b) { return minimum(a, constant(a, b)); }
Term maximum(Term a, double b) { return maximum(a, constant(a, b)); }
Term exp(Term x) { return apply(Prim::exp, {x}); }
Term log(Term x) { return apply(Prim::log, {x}); }
Term log1p(Term x) { return apply(Prim::log1p, {x}); }
Term sqrt(Term x) { return apply(Prim::sqrt, {x}); }
Term rsqrt(Term x) { return apply(Prim::rsqrt, {x}); }
Term tanh(Term x) { return apply(Prim::tanh, {x}); }
Term sigmoid(Term x) { return apply(Prim::sigmoid, {x}); }
Term normal_cdf(Term x) { return apply(Prim::normal_cdf, {x}); }

} // namespace codetta::ops
