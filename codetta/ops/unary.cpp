// Elementary functions of one operand.
#include <cmath>

#include "codetta/ops/pointwise.h"

namespace codetta::ops {

namespace {

using scalar::Prim;

NodeBody primitive(Prim p) {
    return [p](Terms t, const NodeView&) { return apply(p, {t[0]}); };
}

// `values`: the range in which samples are drawn.
OpDef unary(std::string name, std::string summary, Domain domain, NodeBody body, const std::string& values = "-3..3") {
    std::vector<std::string> samples = {"f32[2, 3] in " + values, "bf16[4, 1, 5] strides [5, 5, 1] in " + values, "f16[] in " + values,
                                        "f64[3, 2] strides [1, 3] in " + values};
    if (domain == Domain::number) samples.push_back("i64[2, 3] in -4..5");
    return pointwise(
        {.name = std::move(name), .summary = std::move(summary), .domain = domain, .body = std::move(body), .samples = std::move(samples)});
}

OpDef unary(std::string name, Domain domain, Prim p, const std::string& values = "-3..3") {
    return unary(name, "torch." + name + ", elementwise.", domain, primitive(p), values);
}

OpDef test(std::string name, std::string summary, NodeBody body) {
    return pointwise({.name = std::move(name),
                      .summary = std::move(summary),
                      .domain = Domain::floating,
                      .body = std::move(body),
                      .result = Result::boolean,
                      .samples = {"f32[2, 3]", "bf16[4]"}});
}

} // namespace

std::vector<OpDef> unary_ops() {
    using D = Domain;
    return {
        unary("neg", D::number, Prim::neg),
        unary("abs", D::number, Prim::abs),
        unary("sign", D::number, Prim::sign),
        unary("exp", D::floating, Prim::exp),
        unary("exp2", D::floating, Prim::exp2),
        unary("expm1", D::floating, Prim::expm1),
        unary("log", D::floating, Prim::log, "0.1..4"),
        unary("log2", D::floating, Prim::log2, "0.1..4"),
        unary("log1p", D::floating, Prim::log1p, "-0.5..4"),
        unary("sqrt", D::floating, Prim::sqrt, "0..4"),
        unary("rsqrt", D::floating, Prim::rsqrt, "0.1..4"),
        unary("sin", D::floating, Prim::sin),
        unary("cos", D::floating, Prim::cos),
        unary("tan", D::floating, Prim::tan, "-1..1"),
        unary("asin", D::floating, Prim::asin, "-0.9..0.9"),
        unary("acos", D::floating, Prim::acos, "-0.9..0.9"),
        unary("atan", D::floating, Prim::atan),
        unary("sinh", D::floating, Prim::sinh),
        unary("cosh", D::floating, Prim::cosh),
        unary("tanh", D::floating, Prim::tanh),
        unary("erf", D::floating, Prim::erf),
        unary("sigmoid", D::floating, Prim::sigmoid),
        unary("floor", D::floating, Prim::floor),
        unary("ceil", D::floating, Prim::ceil),
        unary("trunc", D::floating, Prim::trunc),
        unary("round", D::floating, Prim::round),
        unary(
            "reciprocal", "torch.reciprocal, 1 / x.", D::floating, [](Terms t, const NodeView&) { return 1.0 / t[0]; }, "0.2..3"),
        unary("square", "torch.square, x * x.", D::number, [](Terms t, const NodeView&) { return t[0] * t[0]; }),
        test("isnan", "torch.isnan.", primitive(Prim::is_nan)),
        test("isinf", "torch.isinf.", [](Terms t, const NodeView&) { return apply(Prim::abs, {t[0]}) == HUGE_VAL; }),
        pointwise({.name = "logical_not",
                   .summary = "torch.logical_not: whether x is zero.",
                   .domain = D::any,
                   .body = [](Terms t, const NodeView&) { return t[0] == 0.0; },
                   .result = Result::boolean,
                   .samples = {"bool[2, 3]", "f32[4]", "i64[3]"}}),
        pointwise({.name = "bitwise_not",
                   .summary = "torch.bitwise_not; logical on bool.",
                   .domain = D::integral,
                   .body = primitive(Prim::bit_not),
                   .samples = {"bool[2, 3]", "i64[4]", "i32[3]", "u8[3] in 0..9"}}),
    };
}

} // namespace codetta::ops
