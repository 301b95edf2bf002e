// The transcendental primitives on vectors (or scalars) of f32 and f64: no library is called. Correct for NaN, infinities and huge
// arguments.
#pragma once

#include "codetta/codegen/math/value.h"
#include "codetta/scalar/function.h"

#include <functional>

namespace codetta::codegen {

class Math {
public:
    /// `has_scalef`: the machine multiplies by 2^n in one instruction (AVX-512).
    Math(Ir& ir, bool has_scalef) : ir_(ir), has_scalef_(has_scalef) {}

    /// @pre p is one of sqrt .. sigmoid or pow, or rem (C's fmod); the arguments are f32 or f64 values of one type
    Value apply(scalar::Prim p, Value x, Value y = {});

    Value gelu_f32(Value x);           ///< x normal_cdf(x), more exact than the product
    Value gelu_for_bf16(Value x);      ///< the same in f32 to 2^-12 of its value: for results that are rounded to bf16 at once
    Value remainder(Value a, Value b); ///< C's fmod, exact

private:
    // f32.cpp: the common ones in their own width; the rare ones by way of f64
    Value apply_f32(scalar::Prim p, Value x, Value y);
    Value exp_f32(Value x);
    Value exp2_f32(Value x);
    Value log_f32(Value x, bool base2);
    Value tanh_f32(Value x);
    Value erf_f32(Value x);
    Value upper_tail_f32(Value a); ///< Phi(-a) for a >= 0
    Value normal_cdf_f32(Value x);

    // f64.cpp
    Value apply_f64(scalar::Prim p, Value x, Value y);
    Value exp_f64(Value x, Value low);
    Value exp2_f64(Value x);
    Value expm1_f64(Value x);
    Value log_f64(Value x, Value correction, bool base2);
    Value log1p_f64(Value x);
    Value pow_f64(Value x, Value y, bool accurate);
    Value sinh_f64(Value x);
    Value cosh_f64(Value x);
    Value tanh_f64(Value x);
    Value upper_tail_f64(Value x); ///< erfc(x) for x >= 0
    Value erf_f64(Value x);

    // trigonometry.cpp
    struct Reduced {
        Value quadrant, high, low; ///< x = quadrant * pi/2 + high + low; quadrant as i64
    };
    Reduced reduce(Value x);
    llvm::Function* huge_reduction();
    Value sine(Reduced r, int shift);
    Value tangent(Reduced r);
    Value atan_f64(Value x);
    Value asin_f64(Value x);
    Value acos_f64(Value x);

    /// p * 2^n for integral n (given as a float); right for results that are subnormal or overflow
    Value scale(Value p, Value n);

    Ir& ir_;
    bool has_scalef_;
    llvm::Function* huge_ = nullptr;
};

} // namespace codetta::codegen
