// Losses, and backwards of pointwise operations.
#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"

namespace codetta::frontends::aten {

namespace {

// (grad, saved): the argument that holds what the forward saved has one of three names.
Operands saved_operands(Translator& t) {
    const std::string_view saved = t.has("self") ? "self" : t.has("input") ? "input" : t.has("result") ? "result" : "output";
    return {t.tensor(t.has("grad_output") ? "grad_output" : "grad"), t.tensor(saved)};
}

void saved(Translator& t, std::string_view op) { t.result(t.add(std::string(op), saved_operands(t))); }

void threshold(Translator& t, std::string_view op) {
    t.result(t.add(std::string(op), saved_operands(t), {{"threshold", t.real("threshold", 0)}}));
}

void gelu(Translator& t, std::string_view op) {
    t.result(t.add(std::string(op), saved_operands(t), {{"approximate", t.text("approximate", "none")}}));
}

void leaky_relu(Translator& t, std::string_view op) {
    if (t.flag("self_is_result", false)) t.refuse("self_is_result is not supported");
    t.result(t.add(std::string(op), saved_operands(t), {{"negative_slope", t.real("negative_slope", 0.01)}}));
}

void softplus(Translator& t, std::string_view op) {
    t.result(t.add(std::string(op), saved_operands(t), {{"beta", t.real("beta", 1)}, {"threshold", t.real("threshold", 20)}}));
}

void dropout(Translator& t, std::string_view) { // grad * mask * scale
    const ValueId mask = t.cast(t.tensor("mask"), t.type("grad_output").dtype);
    t.result(t.add("mul", {t.add("mul", {t.tensor("grad_output"), mask}), std::nullopt}, {{"scalar", t.number("scale")}}));
}

std::string reduction_of(Translator& t) {
    static constexpr std::string_view names[] = {"none", "mean", "sum"};
    const int64_t reduction = t.integer("reduction", 1);
    if (reduction < 0 || reduction > 2) t.refuse("an unknown reduction");
    return std::string(names[reduction]);
}

graph::Attributes loss_attributes(Translator& t) {
    return {{"reduction", reduction_of(t)}, {"ignore_index", t.integer("ignore_index", -100)}};
}

void nll_loss(Translator& t, std::string_view op) {
    if (t.type("self").rank() != 2) t.refuse("of a single row");
    const std::vector<ValueId> made =
        t.add_many(std::string(op), {t.tensor("self"), t.tensor("target"), t.optional_tensor("weight")}, loss_attributes(t));
    t.result(made.at(0), 0);
    t.result(made.at(1), 1);
}

void nll_loss_backward(Translator& t, std::string_view op) {
    if (t.type("self").rank() != 2) t.refuse("of a single row");
    t.result(t.add(
        std::string(op),
        {t.tensor("grad_output"), t.tensor("self"), t.tensor("target"), t.optional_tensor("weight"), t.optional_tensor("total_weight")},
        loss_attributes(t)));
}

constexpr Row rows[] = {
    {"aten.threshold_backward.default", "threshold_backward", threshold},
    {"aten.gelu_backward.default", "gelu_backward", gelu},
    {"aten.silu_backward.default", "silu_backward", saved},
    {"aten.mish_backward.default", "mish_backward", saved},
    {"aten.tanh_backward.default", "tanh_backward", saved},
    {"aten.sigmoid_backward.default", "sigmoid_backward", saved},
    {"aten.hardswish_backward.default", "hardswish_backward", saved},
    {"aten.hardsigmoid_backward.default", "hardsigmoid_backward", saved},
    {"aten.leaky_relu_backward.default", "leaky_relu_backward", leaky_relu},
    {"aten.softplus_backward.default", "softplus_backward", softplus},
    {"aten.native_dropout_backward.default", "", dropout},
    {"aten.nll_loss_forward.default", "nll_loss_forward", nll_loss},
    {"aten.nll_loss_backward.default", "nll_loss_backward", nll_loss_backward},
};

} // namespace

std::span<const Row> backward_rows() { return rows; }

} // namespace codetta::frontends::aten
