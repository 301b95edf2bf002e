// Products and attention.
#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"

namespace codetta::frontends::aten {

namespace {

void product(Translator& t, std::string_view op) { t.result(t.add(std::string(op), {t.tensor("self"), t.tensor("mat2")})); }

void added_product(Translator& t, std::string_view op) {
    const bool batched = op == "baddbmm";
    graph::Attributes attributes;
    if (t.has("beta")) attributes["beta"] = t.number("beta");
    if (t.has("alpha")) attributes["alpha"] = t.number("alpha");
    t.result(t.add(std::string(op), {t.tensor("self"), t.tensor(batched ? "batch1" : "mat1"), t.tensor(batched ? "batch2" : "mat2")},
                   std::move(attributes)));
}

void linear(Translator& t, std::string_view op) {
    t.result(t.add(std::string(op), {t.tensor("input"), t.tensor("weight"), t.optional_tensor("bias")}));
}

// Vector operands as matrices of one row or column.
void matmul(Translator& t, std::string_view op) {
    if (t.type("self").rank() < 2 || t.type("other").rank() < 2) t.refuse("of vectors");
    t.result(t.add(std::string(op), {t.tensor("self"), t.tensor("other")}));
}

void dot(Translator& t, std::string_view) {
    const ValueId a = t.add("unsqueeze", {t.tensor("self")}, {{"dim", int64_t(0)}});
    const ValueId b = t.add("unsqueeze", {t.tensor("tensor")}, {{"dim", int64_t(1)}});
    t.result(t.add("view", {t.add("mm", {a, b})}, {{"shape", std::vector<sym::Expr>{}}}));
}

void matrix_vector(Translator& t, std::string_view) {
    const ValueId b = t.add("unsqueeze", {t.tensor("vec")}, {{"dim", int64_t(1)}});
    t.result(t.add("view", {t.add("mm", {t.tensor("self"), b})}, {{"shape", t.promised().shape}}));
}

graph::Attributes attention_attributes(Translator& t) {
    if (t.real("dropout_p", 0) != 0) t.refuse("attention with dropout is not supported");
    graph::Attributes attributes = {{"causal", t.flag("is_causal", false)}};
    if (t.has("scale")) attributes["scale"] = t.number("scale");
    return attributes;
}

void attention(Translator& t, std::string_view op) {
    const std::vector<ValueId> made = t.add_many(
        std::string(op), {t.tensor("query"), t.tensor("key"), t.tensor("value"), t.optional_tensor("attn_mask")}, attention_attributes(t));
    t.result(made.at(0), 0);
    t.result(made.at(1), 1);
}

void attention_backward(Translator& t, std::string_view op) {
    const std::vector<ValueId> made = t.add_many(std::string(op),
                                                 {t.tensor("grad_out"), t.tensor("query"), t.tensor("key"), t.tensor("value"),
                                                  t.tensor("out"), t.tensor("logsumexp"), t.optional_tensor("attn_mask")},
                                                 attention_attributes(t));
    for (size_t i = 0; i < 3; i++) t.result(made.at(i), i);
}

constexpr Row rows[] = {
    {"aten.mm.default", "mm", product},
    {"aten.bmm.default", "bmm", product},
    {"aten.addmm.default", "addmm", added_product},
    {"aten.baddbmm.default", "baddbmm", added_product},
    {"aten.linear.default", "linear", linear},
    {"aten.matmul.default", "matmul", matmul},
    {"aten.dot.default", "", dot},
    {"aten.mv.default", "", matrix_vector},
    {"aten._scaled_dot_product_flash_attention_for_cpu.default", "attention", attention},
    {"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", "attention_backward", attention_backward},
};

} // namespace

std::span<const Row> contract_rows() { return rows; }

} // namespace codetta::frontends::aten
