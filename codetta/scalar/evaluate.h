// The meaning of scalar functions: floats in double through the C++ standard library and then rounded to the op's dtype; integers and bool
// in their own width with torch's wrap-around.
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

Scalar make_float(DType t, double v);    // rounded to t
Scalar make_integer(DType t, int64_t v); // wrapped to t
double round_to(DType t, double v);      // nearest even in t
int64_t wrap_to(DType t, int64_t v);
Scalar constant_value(const Op& op); // of a constant
double as_double(const Scalar& s);
int64_t as_integer(const Scalar& s);

Scalar convert(const Scalar& v, DType t, bool exact = false); // as Prim::cast

// One op on its inputs' values; not for parameters and constants. `exact`: see Evaluator.
Scalar apply(const Op& op, std::span<const Scalar> inputs, bool exact = false);

// A function made ready to be run many times. Copies what it needs of `f`.
// `exact`: every float value stays a double, without rounding between ops or at casts to a float dtype (the interpreter as fp64 judge).
class Evaluator {
public:
    explicit Evaluator(const Function& f, bool exact = false);
    // @pre arguments have the parameters' dtypes. The result is valid until the next call.
    std::span<const Scalar> run(std::span<const Scalar> arguments);

private:
    struct Step {
        Op op;
        Value target = 0;
    };
    bool exact_;
    size_t parameters_;
    std::vector<Step> steps_;
    std::vector<Value> result_values_;
    std::vector<Scalar> values_, inputs_, results_;
};

std::vector<Scalar> evaluate(const Function& f, std::span<const Scalar> arguments, bool exact = false);

} // namespace codetta::scalar
