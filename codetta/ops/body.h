// Writes a scalar body as an expression: `x * normal_cdf(x)`. A Term is a value in a scalar::Builder; numbers become constants of the other
// side's dtype.
#pragma once

#include <functional>
#include <span>

#include "codetta/scalar/function.h"

namespace codetta::ops {

struct Term {
    scalar::Builder* builder = nullptr;
    scalar::Value value = 0;
    scalar::DType type() const { return builder->type(value); }
};

using Terms = std::span<const Term>;
using Body = std::function<Term(Terms)>;

Term apply(scalar::Prim p, std::initializer_list<Term> inputs);
Term constant(Term like, double v); // of like's dtype
Term cast(scalar::DType t, Term x);
Term narrow(scalar::DType t, Term x); // the op's own rounding (scalar::Prim::narrow)
Term wide(Term x);                    // in its compute type: 16-bit floats as f32

Term operator+(Term a, Term b);
Term operator-(Term a, Term b);
Term operator*(Term a, Term b);
Term operator/(Term a, Term b);
Term operator-(Term a);
Term operator+(Term a, double b);
Term operator-(Term a, double b);
Term operator*(Term a, double b);
Term operator/(Term a, double b);
Term operator+(double a, Term b);
Term operator-(double a, Term b);
Term operator*(double a, Term b);
Term operator/(double a, Term b);
Term operator<(Term a, Term b);
Term operator<=(Term a, Term b);
Term operator>(Term a, Term b);
Term operator>=(Term a, Term b);
Term operator==(Term a, Term b);
Term operator!=(Term a, Term b);
Term operator<(Term a, double b);
Term operator<=(Term a, double b);
Term operator>(Term a, double b);
Term operator>=(Term a, double b);
Term operator==(Term a, double b);
Term operator!=(Term a, double b);
Term operator&&(Term a, Term b); // bools; no short cut
Term operator||(Term a, Term b);
Term operator!(Term a);

Term select(Term condition, Term a, Term b);
Term select(Term condition, Term a, double b);
Term select(Term condition, double a, Term b);
Term minimum(Term a, Term b);
Term maximum(Term a, Term b);
Term minimum(Term a, double b);
Term maximum(Term a, double b);
Term exp(Term x);
Term log(Term x);
Term log1p(Term x);
Term sqrt(Term x);
Term rsqrt(Term x);
Term tanh(Term x);
Term sigmoid(Term x);
Term normal_cdf(Term x);

} // namespace codetta::ops
