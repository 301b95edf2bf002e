#include "codetta/scalar/evaluate.h"

#include "codetta/base/error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace codetta::scalar {

namespace {

// Nearest even with `mantissa` stored bits and smallest normal exponent `min_exponent`; by bits in the normal range, by arithmetic below
// it.
double round_binary(double v, int mantissa, int min_exponent, double largest) {
    if (!std::isfinite(v) || v == 0) return v;
    double rounded;
    if (std::abs(v) >= std::ldexp(1.0, min_exponent)) {
        int dropped = 52 - mantissa;
        auto bits = std::bit_cast<uint64_t>(v);
        bits += ((uint64_t{1} << (dropped - 1)) - 1) + ((bits >> dropped) & 1);
        bits &= ~((uint64_t{1} << dropped) - 1);
        rounded = std::bit_cast<double>(bits);
    } else {
        double quantum = std::ldexp(1.0, min_exponent - mantissa);
        rounded = std::copysign(std::nearbyint(v / quantum) * quantum, v);
    }
    return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), v) : rounded;
}

// What torch's x86 build does (C++ leaves it open): i32 and i64 give their minimum when out of range, narrower types go through i32.
int64_t float_to_integer(DType t, double v) {
    if (t == DType::boolean) return v != 0;
    v = std::trunc(v);
    if (t == DType::i64) return v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : std::numeric_limits<int64_t>::min();
    int64_t wide = v >= -0x1p31 && v < 0x1p31 ? static_cast<int64_t>(v) : std::numeric_limits<int32_t>::min();
    return wrap_to(t, wide);
}

uint64_t as_bits(int64_t v) { return static_cast<uint64_t>(v); }

int64_t floor_div_integer(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return static_cast<int64_t>(0 - as_bits(a));
    int64_t q = a / b;
    return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

int64_t mod_integer(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t pow_integer(int64_t base, int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
    uint64_t result = 1, factor = as_bits(base);
    for (; exponent > 0; exponent >>= 1, factor *= factor)
        if (exponent & 1) result *= factor;
    return static_cast<int64_t>(result);
}

double mod_float(double a, double b) {
    double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// c10::div_floor_floating
double floor_div_float(double a, double b) {
    if (b == 0) return a / b;
    double r = std::fmod(a, b), q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return std::copysign(0.0, a / b);
    double f = std::floor(q);
    return q - f > 0.5 ? f + 1 : f;
}

double apply_float(Prim p, double a, double b, double c) {
    switch (p) {
    case Prim::add: return a + b;
    case Prim::sub: return a - b;
    case Prim::mul: return a * b;
    case Prim::div: return a / b;
    case Prim::floor_div: return floor_div_float(a, b);
    case Prim::mod: return mod_float(a, b);
    case Prim::trunc_div: return std::trunc(a / b);
    case Prim::rem: return std::fmod(a, b);
    case Prim::neg: return -a;
    case Prim::abs: return std::abs(a);
    case Prim::sign: return (a > 0) - (a < 0); // nan gives 0, as torch.sign
    case Prim::minimum: return std::isnan(a) ? a : std::isnan(b) ? b : b < a ? b : a;
    case Prim::maximum: return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? b : a;
    case Prim::pow: return std::pow(a, b);
    case Prim::fma: return std::fma(a, b, c);
    case Prim::sqrt: return std::sqrt(a);
    case Prim::rsqrt: return 1 / std::sqrt(a);
    case Prim::exp: return std::exp(a);
    case Prim::exp2: return std::exp2(a);
    case Prim::expm1: return std::expm1(a);
    case Prim::log: return std::log(a);
    case Prim::log2: return std::log2(a);
    case Prim::log1p: return std::log1p(a);
    case Prim::sin: return std::sin(a);
    case Prim::cos: return std::cos(a);
    case Prim::tan: return std::tan(a);
    case Prim::asin: return std::asin(a);
    case Prim::acos: return std::acos(a);
    case Prim::atan: return std::atan(a);
    case Prim::sinh: return std::sinh(a);
    case Prim::cosh: return std::cosh(a);
    case Prim::tanh: return std::tanh(a);
    case Prim::erf: return std::erf(a);
    case Prim::normal_cdf: return 0.5 * std::erfc(-a * 0.70710678118654752440);
    case Prim::sigmoid: return 1 / (1 + std::exp(-a));
    case Prim::floor: return std::floor(a);
    case Prim::ceil: return std::ceil(a);
    case Prim::trunc: return std::trunc(a);
    case Prim::round: return std::nearbyint(a);
    default: throw base::InternalError(fmt::format("primitive {} on floats", to_string(p)));
    }
}

int64_t apply_integer(Prim p, DType t, int64_t a, int64_t b) {
    const int64_t bits = t == DType::boolean ? 1 : bytes(t) * 8;
    switch (p) {
    case Prim::add: return static_cast<int64_t>(as_bits(a) + as_bits(b));
    case Prim::sub: return static_cast<int64_t>(as_bits(a) - as_bits(b));
    case Prim::mul: return static_cast<int64_t>(as_bits(a) * as_bits(b));
    case Prim::floor_div: return floor_div_integer(a, b);
    case Prim::mod: return mod_integer(a, b);
    case Prim::trunc_div: return b == 0 ? 0 : b == -1 ? static_cast<int64_t>(0 - as_bits(a)) : a / b;
    case Prim::rem: return b == 0 || b == -1 ? 0 : a % b;
    case Prim::neg: return static_cast<int64_t>(0 - as_bits(a));
    case Prim::abs: return a < 0 ? static_cast<int64_t>(0 - as_bits(a)) : a;
    case Prim::sign: return (a > 0) - (a < 0);
    case Prim::minimum: return b < a ? b : a;
    case Prim::maximum: return a < b ? b : a;
    case Prim::pow: return pow_integer(a, b);
    case Prim::bit_and: return a & b;
    case Prim::bit_or: return a | b;
    case Prim::bit_xor: return a ^ b;
    case Prim::bit_not: return t == DType::boolean ? !a : ~a;
    case Prim::shift_left: return b < 0 || b >= bits ? 0 : static_cast<int64_t>(as_bits(a) << b);
    case Prim::shift_right: return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> b; // torch: too far gives the sign
    default: throw base::InternalError(fmt::format("primitive {} on {}", to_string(p), to_string(t)));
    }
}

template <class T>
bool compare(Prim p, T a, T b) {
    switch (p) {
    case Prim::eq: return a == b;
    case Prim::ne: return a != b;
    case Prim::lt: return a < b;
    case Prim::le: return a <= b;
    case Prim::gt: return a > b;
    default: return a >= b;
    }
}

bool is_comparison(Prim p) { return p >= Prim::eq && p <= Prim::ge; }

} // namespace

double round_to(DType t, double v) {
    switch (t) {
    case DType::f16: return round_binary(v, 10, -14, 65504.0);
    case DType::bf16: return round_binary(v, 7, -126, 0x1.fep127);
    case DType::f32: return static_cast<double>(static_cast<float>(v));
    default: return v;
    }
}

int64_t wrap_to(DType t, int64_t v) {
    switch (t) {
    case DType::boolean: return v != 0;
    case DType::u8: return static_cast<uint8_t>(v);
    case DType::i8: return static_cast<int8_t>(v);
    case DType::i16: return static_cast<int16_t>(v);
    case DType::i32: return static_cast<int32_t>(v);
    default: return v;
    }
}

Scalar make_float(DType t, double v) { return {t, round_to(t, v), 0}; }
Scalar make_integer(DType t, int64_t v) { return {t, 0, wrap_to(t, v)}; }
double as_double(const Scalar& s) { return is_float(s.dtype) ? s.f : static_cast<double>(s.i); }
int64_t as_integer(const Scalar& s) { return is_float(s.dtype) ? float_to_integer(DType::i64, s.f) : s.i; }

Scalar constant_value(const Op& op) { return {op.dtype, op.float_value, op.int_value}; }

Scalar convert(const Scalar& v, DType t, bool exact) {
    if (!is_float(t)) return {t, 0, is_float(v.dtype) ? float_to_integer(t, v.f) : wrap_to(t, v.i)};
    double wide = is_float(v.dtype) ? v.f : static_cast<double>(v.i);
    // An i64 beyond 2^53 goes to f32 in one rounding.
    if (!exact && t == DType::f32 && !is_float(v.dtype)) wide = static_cast<double>(static_cast<float>(v.i));
    return {t, exact ? wide : round_to(t, wide), 0};
}

Scalar apply(const Op& op, std::span<const Scalar> inputs, bool exact) {
    const Scalar& a = inputs[0];
    if (is_conversion(op.prim)) return convert(a, op.dtype, exact);
    if (op.prim == Prim::select) return a.i != 0 ? inputs[1] : inputs[2];
    if (op.prim == Prim::is_nan) return {DType::boolean, 0, std::isnan(a.f)};
    if (is_comparison(op.prim))
        return {DType::boolean, 0, is_float(a.dtype) ? compare(op.prim, a.f, inputs[1].f) : compare(op.prim, a.i, inputs[1].i)};
    if (is_float(op.dtype)) {
        double v = apply_float(op.prim, a.f, inputs.size() > 1 ? inputs[1].f : 0, inputs.size() > 2 ? inputs[2].f : 0);
        return {op.dtype, exact ? v : round_to(op.dtype, v), 0};
    }
    return {op.dtype, 0, wrap_to(op.dtype, apply_integer(op.prim, op.dtype, a.i, inputs.size() > 1 ? inputs[1].i : 0))};
}

Evaluator::Evaluator(const Function& f, bool exact)
    : exact_(exact), parameters_(f.parameters().size()), result_values_(f.results), values_(f.ops.size()), inputs_(3),
      results_(f.results.size()) {
    for (size_t i = parameters_; i < f.ops.size(); ++i) {
        if (f.ops[i].prim == Prim::constant)
            values_[i] = constant_value(f.ops[i]);
        else
            steps_.push_back({f.ops[i], static_cast<Value>(i)});
    }
}

std::span<const Scalar> Evaluator::run(std::span<const Scalar> arguments) {
    CODETTA_CHECK(arguments.size() == parameters_, "{} arguments for {} parameters", arguments.size(), parameters_);
    std::copy(arguments.begin(), arguments.end(), values_.begin());
    for (const Step& step : steps_) {
        size_t count = step.op.inputs.size();
        for (size_t i = 0; i < count; ++i) inputs_[i] = values_[step.op.inputs[i]];
        values_[step.target] = apply(step.op, std::span(inputs_.data(), count), exact_);
    }
    for (size_t i = 0; i < results_.size(); ++i) results_[i] = values_[result_values_[i]];
    return results_;
}

std::vector<Scalar> evaluate(const Function& f, std::span<const Scalar> arguments, bool exact) {
    Evaluator evaluator(f, exact);
    auto results = evaluator.run(arguments);
    return {results.begin(), results.end()};
}

} // namespace codetta::scalar
