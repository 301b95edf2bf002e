// Arithmetic of two or three operands. A Python scalar is the attribute `scalar`, in place of the absent operand.
#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/pointwise.h"

namespace codetta::ops {

namespace {

using scalar::DType;
using scalar::Prim;

const std::vector<std::string> kNumberSamples = {
    "f32[2, 3], f32[2, 3]", "bf16[2, 1, 4], bf16[3, 1]",           "f32[2, 3]; scalar=1.5", "_, f32[4]; scalar=-0.75", "i64[3], i64[3]",
    "f16[2, 3], f16[]",     "f64[2, 3] strides [1, 2], f64[1, 3]", "bf16[5]; scalar=0.3",   "i32[2, 2]; scalar=3",
};
const std::vector<std::string> kFloatSamples = {
    "f32[2, 3] in 0.2..3, f32[2, 3] in 0.2..3", "bf16[2, 1, 4] in 0.2..3, bf16[3, 1] in 0.2..3", "f32[2, 3] in 0.2..3; scalar=1.5",
    "_, f32[4] in 0.2..3; scalar=0.75",         "f16[2, 3] in 0.2..3, f16[] in 0.2..3",
};

OpDef binary(std::string name, std::string summary, Domain domain, NodeBody body, std::vector<std::string> samples,
             const std::string& attributes = "") {
    return pointwise({.name = std::move(name),
                      .summary = std::move(summary),
                      .domain = domain,
                      .body = std::move(body),
                      .signature = "(x?, y?) scalar: number?" + attributes,
                      .samples = std::move(samples)});
}

NodeBody primitive(Prim p) {
    return [p](Terms t, const NodeView&) { return apply(p, {t[0], t[1]}); };
}

Term scaled(Term x, const NodeView& n, std::string_view attribute) {
    return n.number(attribute) == 1 ? x : x * number_term(n, attribute, x);
}

Term add_body(Terms t, const NodeView& n) {
    if (t[0].type() == DType::boolean) return t[0] || t[1];
    return t[0] + scaled(t[1], n, "alpha");
}

Term mul_body(Terms t, const NodeView&) { return t[0].type() == DType::boolean ? t[0] && t[1] : t[0] * t[1]; }

Term div_body(Terms t, const NodeView& n) {
    std::string mode = n.text("rounding_mode");
    bool is_float = scalar::is_float(t[0].type());
    if (mode == "floor") return apply(Prim::floor_div, {t[0], t[1]});
    if (mode == "trunc") return is_float ? apply(Prim::trunc, {t[0] / t[1]}) : apply(Prim::trunc_div, {t[0], t[1]});
    CODETTA_USER_CHECK(mode == "none", "rounding_mode is \"{}\"; it must be \"none\", \"floor\" or \"trunc\"", mode);
    CODETTA_USER_CHECK(is_float, "true division is for floats; cast the operands first");
    return t[0] / t[1];
}

// The special exponents are ATen's (pow_tensor_scalar_optimized_kernel).
Term pow_body(Terms t, const NodeView& n) {
    if (n.has_input(1) || !scalar::is_float(t[0].type())) return apply(Prim::pow, {t[0], t[1]});
    double exponent = n.number("scalar");
    if (exponent == 0.5) return sqrt(t[0]);
    if (exponent == 2) return t[0] * t[0];
    if (exponent == 3) return t[0] * t[0] * t[0];
    if (exponent == -2) return 1.0 / (t[0] * t[0]);
    if (exponent == -0.5) return 1.0 / sqrt(t[0]);
    if (exponent == -1) return 1.0 / t[0];
    return apply(Prim::pow, {t[0], t[1]});
}

} // namespace

std::vector<OpDef> binary_ops() {
    using D = Domain;
    std::vector<std::string> with_alpha = kNumberSamples;
    with_alpha.insert(with_alpha.end(), {"f32[3], f32[3]; alpha=0.5", "i64[3], i64[3]; alpha=2"});
    std::vector<std::string> division = kFloatSamples;
    division.insert(division.end(),
                    {"f32[6] in -5..5, f32[6] in 0.3..2; rounding_mode=\"floor\"", "f32[6] in -5..5; scalar=0.7, rounding_mode=\"trunc\"",
                     "i64[6] in -9..9, i64[6] in 1..4; rounding_mode=\"floor\"", "i64[6] in -9..9; scalar=4, rounding_mode=\"trunc\""});
    std::vector<std::string> power = kFloatSamples;
    for (const char* e : {"0.5", "2", "3", "-0.5", "-1", "-2", "1.7"}) power.push_back(fmt::format("f32[5] in 0.2..3; scalar={}", e));
    power.insert(power.end(), {"i64[4] in -3..4, i64[4] in 0..4", "bf16[4] in -2..2; scalar=2", "_, f32[4] in -2..2; scalar=10000.0"});
    std::vector<std::string> remainders = {"f32[6] in -5..5, f32[6] in 0.3..2", "f32[6] in -5..5; scalar=-1.3",
                                           "i64[6] in -9..9, i64[6] in 1..4", "bf16[4]; scalar=0.7"};
    std::vector<std::string> bits = {"i64[3], i64[3]", "bool[2, 3], bool[3]", "i32[4]; scalar=3"};
    return {
        binary("add", "torch.add: x + alpha * y; or on bool.", D::any, add_body, with_alpha, ", alpha: number = 1"),
        binary(
            "sub", "torch.sub: x - alpha * y.", D::number, [](Terms t, const NodeView& n) { return t[0] - scaled(t[1], n, "alpha"); },
            with_alpha, ", alpha: number = 1"),
        binary("mul", "torch.mul: x * y; and on bool.", D::any, mul_body, kNumberSamples),
        binary("div", "torch.div: x / y of floats; rounded for rounding_mode \"floor\" and \"trunc\", then of integers too.", D::number,
               div_body, division, ", rounding_mode: text = \"none\""),
        binary("pow", "torch.pow: x to the power of y.", D::number, pow_body, power),
        binary("minimum", "torch.minimum; NaN wins.", D::any, primitive(Prim::minimum), kNumberSamples),
        binary("maximum", "torch.maximum; NaN wins.", D::any, primitive(Prim::maximum), kNumberSamples),
        binary("remainder", "torch.remainder: the sign of y (Python's %).", D::number, primitive(Prim::mod), remainders),
        binary("fmod", "torch.fmod: the sign of x (C's).", D::number, primitive(Prim::rem), remainders),
        binary("bitwise_and", "torch.bitwise_and.", D::integral, primitive(Prim::bit_and), bits),
        binary("bitwise_or", "torch.bitwise_or.", D::integral, primitive(Prim::bit_or), bits),
        binary("bitwise_xor", "torch.bitwise_xor.", D::integral, primitive(Prim::bit_xor), bits),
        binary("bitwise_left_shift", "torch.bitwise_left_shift.", D::integer, primitive(Prim::shift_left),
               {"i64[3], i64[3] in 0..5", "i32[3]; scalar=2"}),
        binary("bitwise_right_shift", "torch.bitwise_right_shift, arithmetic.", D::integer, primitive(Prim::shift_right),
               {"i64[3], i64[3] in 0..5", "i32[3]; scalar=1"}),
        pointwise({.name = "where",
                   .summary = "torch.where: x where the condition holds, else y.",
                   .domain = D::any,
                   .body = [](Terms t, const NodeView&) { return select(t[0], t[1], t[2]); },
                   .signature = "(condition, x, y)",
                   .conditions = 1,
                   .samples = {"bool[2, 3], f32[2, 3], f32[2, 3]", "bool[3, 1], bf16[], bf16[1, 4]", "bool[4], i64[4], i64[]",
                               "bool[2], bool[2], bool[2]"}}),
        pointwise({.name = "clamp",
                   .summary = "torch.clamp with numbers: min(max(x, min), max); NaN stays.",
                   .domain = D::number,
                   .body =
                       [](Terms t, const NodeView& n) {
                           Term x = t[0];
                           if (n.has("min")) x = maximum(x, number_term(n, "min", x));
                           if (n.has("max")) x = minimum(x, number_term(n, "max", x));
                           return x;
                       },
                   .signature = "(x) min: number?, max: number?",
                   .samples = {"f32[2, 3]; min=-0.5, max=1.0", "bf16[4]; min=0.0", "i64[5]; max=2"}}),
        pointwise({.name = "addcmul",
                   .summary = "torch.addcmul: x + value * a * b.",
                   .domain = D::number,
                   .body = [](Terms t, const NodeView& n) { return t[0] + scaled(t[1], n, "value") * t[2]; },
                   .signature = "(x, a, b) value: number = 1",
                   .samples = {"f32[2, 3], f32[3], f32[2, 1]; value=0.5", "bf16[4], bf16[4], bf16[4]"}}),
        pointwise({.name = "addcdiv",
                   .summary = "torch.addcdiv: x + value * a / b.",
                   .body = [](Terms t, const NodeView& n) { return t[0] + scaled(t[1], n, "value") / t[2]; },
                   .signature = "(x, a, b) value: number = 1",
                   .samples = {"f32[2, 3], f32[3], f32[2, 1] in 0.5..2; value=0.5", "bf16[4], bf16[4], bf16[4] in 0.5..2"}}),
        pointwise({.name = "lerp",
                   .summary = "torch.lerp: x + weight * (y - x), weight a tensor or `scalar`; ATen's two-sided formula.",
                   .body =
                       [](Terms t, const NodeView&) {
                           Term difference = t[1] - t[0];
                           return select(apply(Prim::abs, {t[2]}) < 0.5, t[0] + t[2] * difference, t[1] - difference * (1.0 - t[2]));
                       },
                   .signature = "(x, y, weight?) scalar: number?",
                   .samples = {"f32[2, 3], f32[2, 3]; scalar=0.3", "f32[4], f32[4], f32[4] in 0..1", "bf16[4], bf16[4]; scalar=0.9"}}),
    };
}

} // namespace codetta::ops
