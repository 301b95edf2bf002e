// Convolutions whose windows do not overlap: patch embeddings and 1x1. They are products of the image's elements as they lie. Others run in
// eager, whose library is faster than a product of copied windows.
#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"

namespace codetta::frontends::aten {

namespace {

void refuse_overlapping(Translator& t) {
    if (t.flag("transposed", false)) t.refuse("transposed");
    const std::vector<int64_t> stride = t.integers("stride"), padding = t.integers("padding");
    const std::vector<sym::Expr> weight = t.type("weight").shape;
    if (t.integer("groups", 1) != 1) t.refuse("with groups; eager is faster");
    for (size_t d = 0; d < stride.size(); d++)
        if (!weight.at(2 + d).is(stride[d]) || padding.at(d) != 0) t.refuse("with overlapping windows; eager is faster");
}

graph::Attributes geometry(Translator& t) {
    return {{"stride", t.sizes("stride")}, {"padding", t.sizes("padding")}, {"dilation", t.sizes("dilation")}};
}

void convolution(Translator& t, std::string_view op) {
    refuse_overlapping(t);
    t.result(t.add(std::string(op), {t.tensor("input"), t.tensor("weight"), t.optional_tensor("bias")}, geometry(t)));
}

void convolution_backward(Translator& t, std::string_view op) {
    refuse_overlapping(t);
    if (t.wanted(0)) t.refuse("with the gradient of the image; eager is faster");
    const std::vector<ValueId> made =
        t.add_many(std::string(op), {t.tensor("grad_output"), t.tensor("input"), t.tensor("weight")}, geometry(t));
    t.result(made.at(1), 1);
    t.result(made.at(2), 2);
}

constexpr Row rows[] = {
    {"aten.convolution.default", "convolution", convolution},
    {"aten.convolution_backward.default", "convolution_backward", convolution_backward},
};

} // namespace

std::span<const Row> convolution_rows() { return rows; }

} // namespace codetta::frontends::aten
