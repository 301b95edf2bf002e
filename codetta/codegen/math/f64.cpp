// Double precision, to one or two units in the last place.
#include "codetta/codegen/math/coefficients.h"
#include "codetta/codegen/math/math.h"

#include "codetta/base/error.h"

#include <cmath>
#include <limits>

namespace codetta::codegen {

using scalar::Prim;

namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45; // n * high is exact for |n| < 2^11

} // namespace

// exp(x + low) for a tiny low.
Value Math::exp_f64(Value x, Value low) {
    x = lower(raise(x, -746.0), 710.0);
    Value n = round(x * kLog2E);
    Value r = fma(n, -kLn2High, x);
    Value tail = n * -kLn2Low;
    if (low.v) tail = tail + low;
    Value whole = r + tail;
    Value p = fma(polynomial(whole, k_f64_exp), whole * whole, tail) + r;
    return scale(p + 1.0, n);
}

Value Math::exp2_f64(Value x) {
    x = lower(raise(x, -1080.0), 1025.0);
    Value n = round(x), f = x - n;
    constexpr double high = 0x1.62e42fefa39efp-1, low = 0x1.abc9e3b39803fp-56;
    Value p = fma(polynomial(f, k_f64_exp2), f * f, f * low);
    return scale(fma(f, high, p) + 1.0, n);
}

Value Math::expm1_f64(Value x) {
    Value c = lower(raise(x, -60.0), 710.0);
    Value n = round(c * kLog2E);
    Value r = fma(n, -kLn2High, c), tail = n * -kLn2Low, whole = r + tail;
    Value m = fma(polynomial(whole, k_f64_exp), whole * whole, tail) + r; // e^r - 1
    // 2^n (m + 1) - 1, halved once for n = 1024
    Value half = scale(c.constant(0.5), n);
    Value result = fma(half, m, half - 0.5);
    result = result + result;
    return select(equal(n, n.constant(0)), select(equal(x, x.constant(0)), x, m), result);
}

// log of x; `correction` (if any) is added to the mantissa's logarithm: log(u + c) = log u + c/u.
Value Math::log_f64(Value x, Value correction, bool base2) {
    Value subnormal = less(x, 2.2250738585072014e-308);
    Value scaled = select(subnormal, x * 0x1p54, x);
    constexpr int64_t root = 0x3fe6a09e667f3bcd; // sqrt(1/2)
    Value i = bits(scaled);
    i = i - i.integer(root);
    Value k = to_float(shift_right(i, 52)) - select(subnormal, x.constant(54), x.constant(0));
    Value m = as_float((i & i.integer(0x000fffffffffffff)) + i.integer(root));
    Value f = m - 1.0;
    Value s = f / (f + 2.0), z = s * s;
    Value half_square = f * f * 0.5;
    // log(1+f) = f - (f^2/2 - s (f^2/2 + R)),  R = s^2-series beyond 2s
    Value rest = polynomial(z, k_f64_log) * z;
    Value inner = s * (half_square + rest);
    Value result = x;
    if (base2) {
        constexpr double high = 0x1.7154765200000p+0, low = kLog2E - high + 0x1.777d0ffda0d24p-56; // log2 e in two parts
        Value log_high = as_float(bits(f - half_square) & bits(f).integer(~int64_t{0xffffffff}));
        Value log_low = (f - log_high) - half_square + inner;
        if (correction.v) log_low = log_low + correction;
        Value small = fma(log_low + log_high, low, log_low * high);
        Value big = log_high * high;
        Value sum = k + big;
        result = sum + (small + ((k - sum) + big));
    } else {
        Value low = fma(k, kLn2Low, inner);
        if (correction.v) low = low + correction;
        result = fma(k, kLn2High, f - (half_square - low));
    }
    result = select(equal(x, x.constant(kInfinity)), x, result);
    result = select(equal(x, x.constant(0)), x.constant(-kInfinity), result);
    return select(x.make(ir_.b.CreateFCmpULT(x.v, x.constant(0).v)), x.constant(std::nan("")), result);
}

Value Math::log1p_f64(Value x) {
    Value u = x + 1.0;
    Value lost = select(greater(x, 1.0), x.constant(1) - (u - x), x - (u - 1.0));
    Value correction = lost / u;
    correction = select(less(abs(correction), 1.0), correction, x.constant(0)); // x = -1, inf, NaN
    Value result = log_f64(u, correction, false);
    return select(less(abs(x), 0x1p-54), x, result); // keeps -0 and subnormals
}

// x^y = exp(y log|x|), the logarithm in two parts when `accurate`.
Value Math::pow_f64(Value x, Value y, bool accurate) {
    Value a = abs(x);
    Value subnormal = less(a, 2.2250738585072014e-308);
    Value scaled = select(subnormal, a * 0x1p54, a);
    constexpr int64_t root = 0x3fe6a09e667f3bcd;
    Value i = bits(scaled);
    i = i - i.integer(root);
    Value k = to_float(shift_right(i, 52)) - select(subnormal, x.constant(54), x.constant(0));
    Value m = as_float((i & i.integer(0x000fffffffffffff)) + i.integer(root));
    Value f = m - 1.0, d = f + 2.0;
    Value s = f / d;
    Value d_low = f - (d - 2.0);
    Value s_low = (fma(-s, d, f) - s * d_low) / d;
    Value z = s * s;
    Value series = polynomial(z, k_f64_log) * z * s; // of the true s, to relative 2^-53: it is small
    Value high = s * 2.0, low = fma(s_low, 2.0, series);
    Value k_high = k * kLn2High;
    Value sum = k_high + high;
    Value error = (k_high - sum) + high; // exact when |k_high| >= |high| or k == 0
    Value log_low = error + fma(k, kLn2Low, low);
    Value log_high = sum + log_low;
    log_low = (sum - log_high) + log_low;
    Value product = y * log_high;
    Value product_low = fma(y, log_high, -product);
    if (accurate) product_low = fma(y, log_low, product_low);
    product_low = select(less(abs(product), 800.0), product_low, x.constant(0));
    Value result = exp_f64(product, product_low);

    // The special cases of C's pow.
    Value one = x.constant(1), zero = x.constant(0), infinity = x.constant(kInfinity);
    Value integral = equal(trunc(y), y);
    Value half = y * 0.5;
    Value odd = integral & ~equal(trunc(half), half);
    odd = odd & less(abs(y), 0x1p53);
    Value magnitude = select(equal(a, zero), select(less(y, 0.0), infinity, zero), result);
    magnitude = select(equal(a, infinity), select(less(y, 0.0), zero, infinity), magnitude);
    Value y_infinite = equal(abs(y), infinity);
    Value grows = x.make(ir_.b.CreateXor(greater(a, 1.0).v, less(y, 0.0).v));
    magnitude = select(y_infinite, select(equal(a, one), one, select(grows, infinity, zero)), magnitude);
    Value negative = as_float(bits(magnitude) | (bits(x) & bits(x).integer(INT64_MIN))); // the sign of x
    Value signed_result = select(odd, negative, magnitude);
    Value below_zero = less(x, 0.0) & less(a, kInfinity);
    signed_result = select(below_zero & ~integral & ~y_infinite, x.constant(std::nan("")), signed_result);
    signed_result = select(is_nan(x) | is_nan(y), x + y, signed_result);
    return select(equal(y, zero) | equal(x, one), one, signed_result);
}

Value Math::tanh_f64(Value x) {
    Value a = lower(abs(x), 22.0);
    Value t = expm1_f64(a * 2.0);
    Value result = copysign(t / (t + 2.0), x);
    result = select(is_nan(x), x, result);
    return select(less(abs(x), 1e-9), x, result);
}

Value Math::sinh_f64(Value x) {
    Value a = abs(x);
    Value t = expm1_f64(lower(a, 709.0));
    Value small = (t + t / (t + 1.0)) * 0.5;
    Value half = exp_f64(a * 0.5, {});
    Value result = select(greater(a, 709.0), half * 0.5 * half, small);
    result = copysign(result, x);
    result = select(is_nan(x), x, result);
    return select(less(a, 1e-9), x, result);
}

Value Math::cosh_f64(Value x) {
    Value a = abs(x);
    Value e = exp_f64(lower(a, 709.0), {});
    Value half = exp_f64(a * 0.5, {});
    return select(greater(a, 709.0), half * 0.5 * half, fma(e, 0.5, x.constant(0.5) / e));
}

// erfc(x) = e^(-x^2) erfcx(x); the square in two parts.
Value Math::upper_tail_f64(Value x) {
    x = lower(x, 28.0);
    Value square = x * x, square_low = fma(x, x, -square);
    Value t = (x - 3.75) / (x + 3.75);
    Value scaled = polynomial(t, k_f64_erfcx) / fma(x, 2.0, 1.0);
    return exp_f64(-square, -square_low) * scaled;
}

Value Math::erf_f64(Value x) {
    Value a = abs(x), x2 = x * x;
    Value small = fma(polynomial(x2, k_f64_erf), x, x);
    Value large = copysign(x.constant(1) - upper_tail_f64(a), x);
    large = select(is_nan(x), x, large);
    return select(less(a, 1.0), small, large);
}

Value Math::apply_f64(Prim p, Value x, Value y) {
    switch (p) {
    case Prim::sqrt: return sqrt(x);
    case Prim::rsqrt: return x.constant(1) / sqrt(x);
    case Prim::exp: return exp_f64(x, {});
    case Prim::exp2: return exp2_f64(x);
    case Prim::expm1: return expm1_f64(x);
    case Prim::log: return log_f64(x, {}, false);
    case Prim::log2: return log_f64(x, {}, true);
    case Prim::log1p: return log1p_f64(x);
    case Prim::sin: return sine(reduce(x), 0);
    case Prim::cos: return sine(reduce(x), 1);
    case Prim::tan: return tangent(reduce(x));
    case Prim::asin: return asin_f64(x);
    case Prim::acos: return acos_f64(x);
    case Prim::atan: return atan_f64(x);
    case Prim::sinh: return sinh_f64(x);
    case Prim::cosh: return cosh_f64(x);
    case Prim::tanh: return tanh_f64(x);
    case Prim::erf: return erf_f64(x);
    case Prim::normal_cdf: {
        // Phi(x) = erfc(-x / sqrt 2) / 2; the scaled argument in two parts, its low part by the derivative
        constexpr double high = 0x1.6a09e667f3bcdp-1, low = -0x1.bdd3413b26456p-55;
        Value a = lower(abs(x), 39.5), u = a * high;
        Value u_low = fma(a, high, -u) + a * low;
        Value tail = upper_tail_f64(u);
        tail = tail * fma(u * -2.0, u_low, 1.0) * 0.5; // leading term of erfc's relative slope for large u
        Value correction = exp_f64(-(u * u), {}) * u_low * -0.5641895835477563;
        tail = select(less(a, 2.0), upper_tail_f64(u) * 0.5 + correction, tail);
        return select(greater(x, 0.0), x.constant(1) - tail, select(is_nan(x), x, tail));
    }
    case Prim::sigmoid: return x.constant(1) / (exp_f64(-x, {}) + 1.0);
    case Prim::pow: return pow_f64(x, y, true);
    default: break;
    }
    throw base::InternalError(fmt::format("no code for the primitive '{}'", scalar::to_string(p)));
}

} // namespace codetta::codegen
