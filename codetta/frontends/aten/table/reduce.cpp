// Reductions, scans, softmax.
#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"

namespace codetta::frontends::aten {

namespace {

using scalar::DType;
using Exprs = std::vector<sym::Expr>;

Exprs dims_of(Translator& t) {
    Exprs dims;
    for (int64_t dim : t.dimensions("dim", t.type("self").rank())) dims.emplace_back(dim);
    return dims;
}

// dim (one or a list; all when absent), keepdim. An `op` on a 0-d tensor reduces nothing.
void reduction(Translator& t, std::string_view op) {
    t.result(t.add(std::string(op), {t.tensor("self")}, {{"dims", dims_of(t)}, {"keepdim", t.flag("keepdim", false)}}));
}

// With dtype: torch converts the elements first; for floats of 16 bits summed in f32 that is the accumulator's own width.
void sum(Translator& t, std::string_view op) {
    ValueId x = t.tensor("self");
    const DType out = t.promised().dtype;
    const bool by_attribute = scalar::is_float(t.type(x).dtype) && scalar::is_float(out) && scalar::bytes(out) <= 4;
    if (!by_attribute && t.has("dtype")) x = t.cast(x, out);
    graph::Attributes attributes = {{"dims", dims_of(t)}, {"keepdim", t.flag("keepdim", false)}};
    if (by_attribute && t.type(x).dtype != out) attributes["dtype"] = out;
    t.result(t.cast(t.add(std::string(op), {x}, std::move(attributes)), out));
}

void variance(Translator& t, std::string_view op) {
    graph::Attributes attributes = {{"dims", dims_of(t)}, {"keepdim", t.flag("keepdim", false)}};
    if (t.has("correction")) attributes["correction"] = t.number("correction");
    t.result(t.add(std::string(op), {t.tensor("self")}, std::move(attributes)));
}

void truth(Translator& t, std::string_view op) {
    const ValueId made = t.add(std::string(op), {t.tensor("self")}, {{"dims", dims_of(t)}, {"keepdim", t.flag("keepdim", false)}});
    t.result(t.cast(made, t.promised().dtype));
}

void argument(Translator& t, std::string_view op) {
    graph::Attributes attributes = {{"keepdim", t.flag("keepdim", false)}};
    if (t.has("dim")) attributes["dim"] = t.dimension(t.integer("dim"), t.type("self").rank());
    t.result(t.add(std::string(op), {t.tensor("self")}, std::move(attributes)));
}

// max, min along a dimension: the value and its first place.
void extreme_with_place(Translator& t, std::string_view op) {
    const ValueId x = t.tensor("self");
    const int64_t dim = t.dimension(t.integer("dim"), t.type(x).rank());
    const bool keep = t.flag("keepdim", false);
    if (t.wanted(0)) t.result(t.add("a" + std::string(op), {x}, {{"dims", Exprs{dim}}, {"keepdim", keep}}), 0);
    if (t.wanted(1)) t.result(t.add("arg" + std::string(op), {x}, {{"dim", dim}, {"keepdim", keep}}), 1);
}

void extreme(Translator& t, std::string_view op) { t.result(t.add(std::string(op), {t.tensor("self")}, {{"keepdim", false}})); }

void running(Translator& t, std::string_view op) {
    ValueId x = t.cast(t.tensor("self"), t.promised().dtype);
    if (t.type(x).rank() == 0) return t.result(x);
    t.result(t.add(std::string(op), {x}, {{"dim", t.dimension(t.integer("dim"), t.type(x).rank())}}));
}

// half_to_float asks for an f32 result of a 16-bit operand.
void softmax(Translator& t, std::string_view op) {
    ValueId x = t.tensor("self");
    const DType out = t.promised().dtype;
    if (!scalar::is_float(t.type(x).dtype)) x = t.cast(x, out);
    if (t.type(x).rank() == 0) t.refuse("of a 0-d tensor");
    graph::Attributes attributes = {{"dim", t.dimension(t.integer("dim"), t.type(x).rank())}};
    if (t.type(x).dtype != out) attributes["dtype"] = out;
    t.result(t.add(std::string(op), {x}, std::move(attributes)));
}

void softmax_backward(Translator& t, std::string_view op) {
    const ValueId grad = t.tensor("grad_output");
    if (t.dtype("input_dtype") != t.type(grad).dtype) t.refuse("a gradient of another dtype than its input is not supported");
    if (t.type(grad).rank() == 0) t.refuse("of a 0-d tensor");
    t.result(t.add(std::string(op), {grad, t.tensor("output")}, {{"dim", t.dimension(t.integer("dim"), t.type(grad).rank())}}));
}

constexpr Row rows[] = {
    {"aten.sum.default", "sum", sum},
    {"aten.sum.dim_IntList", "sum", sum},
    {"aten.mean.default", "mean", sum},
    {"aten.mean.dim", "mean", sum},
    {"aten.prod.default", "prod", sum},
    {"aten.prod.dim_int", "prod", sum},
    {"aten.amax.default", "amax", reduction},
    {"aten.amin.default", "amin", reduction},
    {"aten.max.default", "amax", extreme},
    {"aten.min.default", "amin", extreme},
    {"aten.max.dim", "max", extreme_with_place},
    {"aten.min.dim", "min", extreme_with_place},
    {"aten.any.default", "any", truth},
    {"aten.any.dim", "any", truth},
    {"aten.any.dims", "any", truth},
    {"aten.all.default", "all", truth},
    {"aten.all.dim", "all", truth},
    {"aten.all.dims", "all", truth},
    {"aten.argmax.default", "argmax", argument},
    {"aten.argmin.default", "argmin", argument},
    {"aten.var.correction", "var", variance},
    {"aten.std.correction", "std", variance},
    {"aten.logsumexp.default", "logsumexp", reduction},
    {"aten.cumsum.default", "cumsum", running},
    {"aten.cumprod.default", "cumprod", running},
    {"aten._softmax.default", "softmax", softmax},
    {"aten._safe_softmax.default", "safe_softmax", softmax},
    {"aten._log_softmax.default", "log_softmax", softmax},
    {"aten._softmax_backward_data.default", "softmax_backward", softmax_backward},
    {"aten._log_softmax_backward_data.default", "log_softmax_backward", softmax_backward},
};

} // namespace

std::span<const Row> reduce_rows() { return rows; }

} // namespace codetta::frontends::aten
