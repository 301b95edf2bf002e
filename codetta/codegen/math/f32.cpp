// Single precision. Ranges are cut so that every step is exact or correctly scaled; the ULP bounds are tested in
// tests/codegen/math_test.cpp.
#include "codetta/codegen/math/coefficients.h"
#include "codetta/codegen/math/math.h"

#include "codetta/base/error.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <limits>

namespace codetta::codegen {

using scalar::Prim;

namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// ln 2 in two floats: the first has few bits, so that n * high is exact.
constexpr double kLn2High = 0.693145751953125, kLn2Low = 1.42860682030941723212e-6;

} // namespace

Value Math::scale(Value p, Value n) {
    const int lanes = Ir::lanes(p.v);
    const bool wide = p.type()->getScalarSizeInBits() == 64;
    if (has_scalef_ && lanes * (wide ? 64 : 32) == 512) {
        auto* all = wide ? static_cast<llvm::Value*>(ir_.b.getInt8(0xff)) : ir_.b.getInt16(0xffff);
        const auto id = wide ? llvm::Intrinsic::x86_avx512_mask_scalef_pd_512 : llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
        return p.make(ir_.call(id, {}, {p.v, n.v, p.v, all, ir_.i32(4)}));
    }
    // Two factors, so that neither leaves the range: the second one rounds.
    const int mantissa = wide ? 52 : 23, bias = wide ? 1023 : 127;
    Value whole = to_integer(n), half = shift_right(whole, 1);
    const auto power = [&](Value e) { return as_float(shift_left(e + e.integer(bias), mantissa)); };
    return p * power(half) * power(whole - half);
}

// x = n ln2 + r; the clamp keeps n in range and lets 2^n overflow or vanish by itself. A NaN passes through the clamps.
Value Math::exp_f32(Value x) {
    x = lower(raise(x, -104.0), 89.0);
    Value n = round(x * kLog2E);
    Value r = fma(n, -kLn2Low, fma(n, -kLn2High, x));
    Value p = fma(polynomial(r, k_f32_exp), r * r, r) + 1.0;
    return scale(p, n);
}

Value Math::exp2_f32(Value x) {
    x = lower(raise(x, -151.0), 129.0);
    Value n = round(x), f = x - n;
    return scale(fma(polynomial(f, k_f32_exp2), f, 1.0), n);
}

// x = 2^k m, m in [sqrt(1/2), sqrt 2).
Value Math::log_f32(Value x, bool base2) {
    Value subnormal = less(x, 1.17549435e-38);
    Value scaled = select(subnormal, x * 8388608.0, x);
    Value i = bits(scaled) - scaled.make(bits(scaled).integer(0x3f3504f3).v);
    Value k = to_float(shift_right(i, 23)) - select(subnormal, x.constant(23), x.constant(0));
    Value m = as_float((i & i.integer(0x007fffff)) + i.integer(0x3f3504f3));
    Value f = m - 1.0, f2 = f * f;
    Value tail = fma(f2, -0.5, polynomial(f, k_f32_log) * f2 * f); // log(1+f) - f
    Value result = x;
    if (base2) {
        constexpr double high = 1.4423828125, low = kLog2E - high; // few bits: f * high is nearly exact
        result = fma(f, high, fma(tail, kLog2E, f * low)) + k;
    } else {
        result = fma(k, kLn2High, f + fma(k, kLn2Low, tail));
    }
    result = select(equal(x, x.constant(kInfinity)), x, result);
    result = select(equal(x, x.constant(0)), x.constant(-kInfinity), result);
    return select(x.make(ir_.b.CreateFCmpULT(x.v, x.constant(0).v)), x.constant(std::nan("")), result); // negative or NaN
}

Value Math::tanh_f32(Value x) {
    Value x2 = x * x;
    Value small = fma(polynomial(x2, k_f32_tanh) * x2, x, x);
    Value a = lower(abs(x), 10.0);
    Value e = exp_f32(a * 2.0);
    Value large = copysign(a.constant(1) - a.constant(2) / (e + 1.0), x);
    large = select(is_nan(x), x, large);
    return select(less(abs(x), 0.625), small, large);
}

// Phi(-a) = 2^(S(a) - a^2/2 log2 e) with a slowly varying S; the square in two parts, so that its rounding is not magnified.
Value Math::upper_tail_f32(Value a) {
    constexpr double high = 0.72134752044448170368, c = static_cast<float>(high), low = high - c;
    a = lower(a, 20.0);
    Value square = a * a, square_low = fma(a, a, -square);
    Value s = horner(lower(a, 8.0), k_f32_cdf);
    Value n = round(fma(square, -c, s));
    Value f = fma(square, -c, -n) + fma(square_low, -c, fma(square, -low, s));
    return scale(fma(polynomial(f, k_f32_exp2), f, 1.0), raise(n, -160.0));
}

Value Math::normal_cdf_f32(Value x) {
    Value tail = upper_tail_f32(abs(x));
    return select(greater(x, 0.0), x.constant(1) - tail, tail);
}

// Above 0 as x - x Phi(-x): one rounding where the result is large.
Value Math::gelu_f32(Value x) {
    Value a = abs(x), tail = upper_tail_f32(a);
    return select(greater(x, 0.0), fma(-lower(a, 20.0), tail, x), x * tail);
}

// As upper_tail_f32 with shorter polynomials and a square that may be rounded. Below -6 (where it is less than 1e-8) the relative error
// grows.
Value Math::gelu_for_bf16(Value x) {
    Value a = lower(abs(x), 20.0);
    Value y = fma(a * a, -0.5 * kLog2E, polynomial(lower(a, 6.0), k_f32_cdf_for_bf16));
    Value n = round(y), f = y - n;
    Value tail = scale(fma(polynomial(f, k_f32_exp2_for_bf16), f, 1.0), has_scalef_ ? n : raise(n, -160.0));
    return select(greater(x, 0.0), fma(-a, tail, x), x * tail);
}

Value Math::erf_f32(Value x) {
    Value a = abs(x), x2 = x * x;
    Value small = fma(polynomial(x2, k_f32_erf), x, x);
    Value large = copysign(fma(upper_tail_f32(a * 1.4142135623730951), -2.0, 1.0), x);
    large = select(is_nan(x), x, large);
    return select(less(a, 1.0), small, large);
}

Value Math::apply_f32(Prim p, Value x, Value y) {
    switch (p) {
    case Prim::sqrt: return sqrt(x);
    case Prim::rsqrt: return x.constant(1) / sqrt(x);
    case Prim::exp: return exp_f32(x);
    case Prim::exp2: return exp2_f32(x);
    case Prim::log: return log_f32(x, false);
    case Prim::log2: return log_f32(x, true);
    case Prim::tanh: return tanh_f32(x);
    case Prim::erf: return erf_f32(x);
    case Prim::normal_cdf: return normal_cdf_f32(x);
    case Prim::sigmoid: return x.constant(1) / (exp_f32(-x) + 1.0);
    default: return narrow(apply_f64(p, widen(x), y.v ? widen(y) : y));
    }
}

Value Math::apply(Prim p, Value x, Value y) {
    if (p == Prim::rem) return remainder(x, y);
    const bool wide = x.type()->getScalarSizeInBits() == 64;
    if (p == Prim::floor || p == Prim::ceil || p == Prim::trunc || p == Prim::round) {
        const auto id = p == Prim::floor   ? llvm::Intrinsic::floor
                        : p == Prim::ceil  ? llvm::Intrinsic::ceil
                        : p == Prim::trunc ? llvm::Intrinsic::trunc
                                           : llvm::Intrinsic::roundeven;
        return x.make(ir_.unary(id, x.v));
    }
    return wide ? apply_f64(p, x, y) : apply_f32(p, x, y);
}

// Takes multiples of |b| away, as many as a quotient holds exactly, until less than |b| is left: one round unless |a / b| > 2^52.
Value Math::remainder(Value a, Value b) {
    if (a.type()->getScalarSizeInBits() == 32) return narrow(remainder(widen(a), widen(b)));
    Value divisor = abs(b);
    auto* slot = ir_.slot(a.type(), 1, 64);
    ir_.b.CreateStore(abs(a).v, slot);
    auto *round_block = ir_.block("fmod"), *done = ir_.block("fmod.done");
    ir_.b.CreateBr(round_block);
    ir_.b.SetInsertPoint(round_block);
    Value left = a.make(ir_.b.CreateLoad(a.type(), slot));
    Value finite = less(left, kInfinity);
    Value more = finite & greater(divisor, 0.0) & ~less(left, divisor);
    more = more & ~is_nan(divisor);
    // far apart: a power of two times b first, so that the quotient stays finite
    Value step = select(greater(left * 0x1p-600, divisor), divisor * 0x1p500, divisor);
    Value q = trunc(left / step);
    q = as_float(bits(q) & bits(q).integer(~int64_t{0xff})); // at most 45 bits: q * step is subtracted without a rounding
    q = select(less(q, 1.0), q.constant(1), q);
    Value next = fma(-q, step, left);
    // the division may have rounded up
    next = select(less(next, 0.0), next + step, next);
    ir_.b.CreateStore(select(more, next, left).v, slot);
    llvm::Value* any = Ir::lanes(more.v) == 1 ? more.v : ir_.b.CreateOrReduce(more.v);
    ir_.b.CreateCondBr(any, round_block, done);
    ir_.b.SetInsertPoint(done);
    Value result = copysign(a.make(ir_.b.CreateLoad(a.type(), slot)), a);
    Value undefined = is_nan(a) | is_nan(b) | ~less(abs(a), kInfinity) | equal(b, b.constant(0));
    return select(undefined, a.constant(std::nan("")), result);
}

} // namespace codetta::codegen
