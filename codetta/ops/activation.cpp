// Activations and their backwards (formulas of ATen/native/cpu/Activation.cpp).
#include <cmath>

#include "codetta/base/error.h"
#include "codetta/ops/pointwise.h"

namespace codetta::ops {

namespace {

constexpr double kInverseSqrt2Pi = 0.3989422804014327;
constexpr double kSqrt2OverPi = 0.7978845608028654;

OpDef activation(std::string name, std::string summary, NodeBody body, std::string attributes = "",
                 std::vector<std::string> attribute_samples = {""}) {
    Pointwise p{.name = std::move(name), .summary = std::move(summary), .body = std::move(body), .signature = "(x) " + attributes};
    for (const std::string& a : attribute_samples)
        for (const char* type : {"f32[2, 3] in -4..4", "bf16[4, 5] in -4..4"}) p.samples.push_back(type + (a.empty() ? "" : "; " + a));
    return pointwise(std::move(p));
}

// `saved`: the operand that the backward reads: x, or the forward's result.
OpDef backward(std::string name, std::string summary, NodeBody body, const std::string& saved = "x", std::string attributes = "",
               std::vector<std::string> attribute_samples = {""}, const std::string& values = "-4..4") {
    Pointwise p{.name = std::move(name),
                .summary = std::move(summary),
                .body = std::move(body),
                .signature = "(grad, " + saved + ") " + attributes};
    for (const std::string& a : attribute_samples)
        for (std::string t : {"f32[2, 3]", "bf16[4, 5]"}) p.samples.push_back(t + ", " + t + " in " + values + (a.empty() ? "" : "; " + a));
    return pointwise(std::move(p));
}

bool tanh_form(const NodeView& n) {
    std::string form = n.text("approximate");
    CODETTA_USER_CHECK(form == "none" || form == "tanh", "approximate is \"{}\"; it must be \"none\" or \"tanh\"", form);
    return form == "tanh";
}

Term gelu_body(Terms t, const NodeView& n) {
    Term x = t[0];
    if (!tanh_form(n)) return x * normal_cdf(x);
    return 0.5 * x * (1.0 + tanh(kSqrt2OverPi * (x + 0.044715 * (x * x * x))));
}

Term gelu_backward_body(Terms t, const NodeView& n) {
    Term g = t[0], x = t[1];
    if (!tanh_form(n)) return g * (normal_cdf(x) + x * (exp(-0.5 * (x * x)) * kInverseSqrt2Pi));
    Term y = tanh(kSqrt2OverPi * (x + 0.044715 * (x * x * x)));
    Term slope = kSqrt2OverPi * (1.0 + 3 * 0.044715 * (x * x));
    return g * (0.5 * (1.0 + y) + 0.5 * x * (1.0 - y * y) * slope);
}

// torch.softplus: linear above the threshold.
Term softplus(Term x, double beta, double threshold) { return select(x * beta > threshold, x, log1p(exp(x * beta)) / beta); }

Term mish_body(Terms t, const NodeView&) { return t[0] * tanh(log1p(exp(t[0]))); }

Term mish_backward_body(Terms t, const NodeView&) {
    Term x = t[1], y = tanh(log1p(exp(x)));
    return t[0] * (y + x * sigmoid(x) * (1.0 - y * y));
}

Term elu_body(Terms t, const NodeView& n) {
    double positive = n.number("scale"), negative = n.number("alpha") * n.number("scale"), inner = n.number("input_scale");
    return select(t[0] > 0.0, t[0] * positive, apply(scalar::Prim::expm1, {t[0] * inner}) * negative);
}

Term elu_backward_body(Terms t, const NodeView& n) {
    double positive = n.number("scale"), negative = n.number("alpha") * n.number("scale"), inner = n.number("input_scale");
    Term g = t[0], x = t[1];
    if (n.flag("is_result")) return select(x <= 0.0, g * inner * (x + negative), g * positive);
    return select(x <= 0.0, g * (inner * negative) * exp(x * inner), g * positive);
}

} // namespace

std::vector<OpDef> activation_ops() {
    const std::string gelu_attributes = "approximate: text = \"none\"";
    const std::vector<std::string> gelu_samples = {"", "approximate=\"tanh\""};
    const std::string softplus_attributes = "beta: number = 1, threshold: number = 20";
    const std::string elu_attributes = "alpha: number = 1, scale: number = 1, input_scale: number = 1";
    return {
        pointwise({.name = "relu",
                   .summary = "torch.relu: max(x, 0); NaN stays.",
                   .domain = Domain::number,
                   .body = [](Terms t, const NodeView&) { return maximum(t[0], 0.0); },
                   .samples = {"f32[2, 3]", "bf16[4, 5]", "i64[6]"}}),
        activation("gelu", "torch.nn.functional.gelu.", gelu_body, gelu_attributes, gelu_samples),
        activation("silu", "torch.nn.functional.silu: x * sigmoid(x).", [](Terms t, const NodeView&) { return t[0] * sigmoid(t[0]); }),
        activation("mish", "torch.nn.functional.mish: x * tanh(softplus(x)).", mish_body),
        activation("hardswish", "torch.nn.functional.hardswish.",
                   [](Terms t, const NodeView&) { return t[0] * minimum(maximum(t[0] + 3.0, 0.0), 6.0) / 6.0; }),
        activation("hardsigmoid", "torch.nn.functional.hardsigmoid.",
                   [](Terms t, const NodeView&) { return minimum(maximum(t[0] + 3.0, 0.0), 6.0) / 6.0; }),
        activation("leaky_relu", "torch.nn.functional.leaky_relu.",
                   [](Terms t, const NodeView& n) { return select(t[0] > 0.0, t[0], t[0] * n.number("negative_slope")); },
                   "negative_slope: number = 0.01", {"", "negative_slope=0.2"}),
        activation("elu", "torch.nn.functional.elu with ATen's scales (selu, celu).", elu_body, elu_attributes,
                   {"", "alpha=1.5, scale=1.1, input_scale=0.7"}),
        activation("softplus", "torch.nn.functional.softplus.",
                   [](Terms t, const NodeView& n) { return softplus(t[0], n.number("beta"), n.number("threshold")); }, softplus_attributes,
                   {"", "beta=2.0, threshold=3.0"}),
        backward("gelu_backward", "aten.gelu_backward.", gelu_backward_body, "x", gelu_attributes, gelu_samples),
        backward("silu_backward", "aten.silu_backward.",
                 [](Terms t, const NodeView&) {
                     Term s = sigmoid(t[1]);
                     return t[0] * s * (1.0 + t[1] * (1.0 - s));
                 }),
        backward("mish_backward", "aten.mish_backward.", mish_backward_body),
        backward("threshold_backward", "aten.threshold_backward: 0 where x <= threshold, else grad.",
                 [](Terms t, const NodeView& n) { return select(t[1] <= n.number("threshold"), 0.0, t[0]); }, "x", "threshold: number = 0",
                 {"threshold=0", "threshold=0.5"}),
        backward(
            "tanh_backward", "aten.tanh_backward: grad * (1 - result^2).",
            [](Terms t, const NodeView&) { return t[0] * (1.0 - t[1] * t[1]); }, "result", "", {""}, "-0.9..0.9"),
        backward(
            "sigmoid_backward", "aten.sigmoid_backward: grad * (1 - result) * result.",
            [](Terms t, const NodeView&) { return t[0] * (1.0 - t[1]) * t[1]; }, "result", "", {""}, "0.1..0.9"),
        backward("hardswish_backward", "aten.hardswish_backward.",
                 [](Terms t, const NodeView&) { return select(t[1] <= -3.0, 0.0, select(t[1] < 3.0, t[0] * (t[1] / 3.0 + 0.5), t[0])); }),
        backward("hardsigmoid_backward", "aten.hardsigmoid_backward.",
                 [](Terms t, const NodeView&) { return select(t[1] > -3.0 && t[1] < 3.0, t[0] / 6.0, 0.0); }),
        backward(
            "leaky_relu_backward", "aten.leaky_relu_backward.",
            [](Terms t, const NodeView& n) { return select(t[1] > 0.0, t[0], t[0] * n.number("negative_slope")); }, "x",
            "negative_slope: number = 0.01"),
        backward("elu_backward", "aten.elu_backward; x is the forward's result when is_result.", elu_backward_body, "x",
                 elu_attributes + ", is_result: bool = false", {"", "alpha=1.5, is_result=true"}),
        backward("softplus_backward", "aten.softplus_backward.",
                 [](Terms t, const NodeView& n) {
                     double beta = n.number("beta");
                     return select(t[1] * beta > n.number("threshold"), t[0], t[0] * sigmoid(t[1] * beta));
                 },
                 "x", softplus_attributes, {"", "beta=2.0, threshold=3.0"}),
    };
}

} // namespace codetta::ops
