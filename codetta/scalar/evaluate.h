// The meaning of scalar functions: floats in double through the C++ standard library and then rounded to the op's dtype; integers and bool in their own width with torch's wrap-around.
#pragma once

#include "codetta/scalar/combiner.h"
#include "codetta/scalar/function.h"

namespace codetta::scalar {

// One element: a double for float dtypes, an int64 for integer and bool dtypes.
struct Scalar {
  DType dtype = DType::f32;
  double f = 0;
  int64_t i = 0;
};

Scalar make_float(DType t, double v);   // rounded to t
Scalar make_integer(DType t, int64_t v);  // wrapped to t
double round_to(DType t, double v);     // nearest even in t
int64_t wrap_to(DType t, int64_t v);
double as_double(const Scalar& s);
int64_t as_integer(const Scalar& s);

// `exact`: keep every float op in double without rounding between ops except at casts (the interpreter as fp64 judge).
std::vector<Scalar> evaluate(const Function& f, std::span<const Scalar> arguments, bool exact = false);

}  // namespace codetta::scalar
