// Reads and writes at places that data say, and updated copies of a tensor.
#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"

#include <limits>

namespace codetta::frontends::aten {

namespace {

constexpr int64_t torch_end = std::numeric_limits<int64_t>::max();

void embedding(Translator& t, std::string_view op) { t.result(t.add(std::string(op), {t.tensor("weight"), t.tensor("indices")})); }

void embedding_backward(Translator& t, std::string_view op) {
    if (t.flag("scale_grad_by_freq", false)) t.refuse("scale_grad_by_freq is not supported");
    t.result(t.add(std::string(op), {t.tensor("grad_output"), t.tensor("indices")},
                   {{"num_weights", t.size("num_weights")}, {"padding_idx", t.integer("padding_idx", -1)}}));
}

// Bool indices select by data, so that the result has no known size.
Operands indices_of(Translator& t) {
    Operands operands;
    for (const std::optional<ValueId>& v : t.tensors("indices")) {
        if (v && t.type(*v).dtype == scalar::DType::boolean) t.refuse("an index of dtype bool");
        operands.push_back(v);
    }
    return operands;
}

void index(Translator& t, std::string_view op) {
    Operands operands = {t.tensor("self")};
    for (const auto& v : indices_of(t)) operands.push_back(v);
    t.result(t.add(std::string(op), operands));
}

void index_put(Translator& t, std::string_view op) {
    Operands operands = {t.tensor("self"), t.tensor("values")};
    for (const auto& v : indices_of(t)) operands.push_back(v);
    t.result(t.add(std::string(op), operands, {{"accumulate", t.flag("accumulate", false)}}));
}

graph::Attributes along(Translator& t) { return {{"dim", t.dimension(t.integer("dim"), t.type("self").rank())}}; }

void gather(Translator& t, std::string_view op) { t.result(t.add(std::string(op), {t.tensor("self"), t.tensor("index")}, along(t))); }

void index_update(Translator& t, std::string_view op) {
    graph::Attributes attributes = along(t);
    if (t.has("alpha")) attributes["alpha"] = t.number("alpha");
    t.result(t.add(std::string(op), {t.tensor("self"), t.tensor("index"), t.tensor("source")}, std::move(attributes)));
}

void scatter(Translator& t, std::string_view op) {
    graph::Attributes attributes = along(t);
    const bool number = t.is_number("value");
    if (number) attributes["scalar"] = t.number("value");
    t.result(t.add(std::string(op), {t.tensor("self"), t.tensor("index"), number ? std::nullopt : t.optional_tensor("src")},
                   std::move(attributes)));
}

void slice_scatter(Translator& t, std::string_view op) {
    graph::Attributes attributes = {
        {"dim", t.dimension(t.integer("dim", 0), t.type("self").rank())}, {"start", t.size("start", 0)}, {"step", t.size("step", 1)}};
    const sym::Expr end = t.size("end", torch_end);
    if (!end.is(torch_end)) attributes["end"] = end;
    t.result(t.add(std::string(op), {t.tensor("self"), t.cast(t.tensor("src"), t.type("self").dtype)}, std::move(attributes)));
}

void select_scatter(Translator& t, std::string_view op) {
    graph::Attributes attributes = along(t);
    attributes["index"] = t.size("index");
    t.result(t.add(std::string(op), {t.tensor("self"), t.cast(t.tensor("src"), t.type("self").dtype)}, std::move(attributes)));
}

void as_strided_scatter(Translator& t, std::string_view op) {
    const graph::TensorType x = t.type("self");
    t.result(t.add(
        std::string(op), {t.tensor("self"), t.tensor("src")},
        {{"size", t.sizes("size")}, {"stride", t.sizes("stride")}, {"offset", t.size("storage_offset", 0)}, {"base_strides", x.strides}}));
}

constexpr Row rows[] = {
    {"aten.embedding.default", "embedding", embedding},
    {"aten.embedding_dense_backward.default", "embedding_dense_backward", embedding_backward},
    {"aten.index.Tensor", "index", index},
    {"aten._unsafe_index.Tensor", "index", index},
    {"aten.index_put.default", "index_put", index_put},
    {"aten._unsafe_index_put.default", "index_put", index_put},
    {"aten.gather.default", "gather", gather},
    {"aten.index_select.default", "index_select", gather},
    {"aten.index_copy.default", "index_copy", index_update},
    {"aten.index_add.default", "index_add", index_update},
    {"aten.scatter.src", "scatter", scatter},
    {"aten.scatter.value", "scatter", scatter},
    {"aten.scatter_add.default", "scatter_add", scatter},
    {"aten.slice_scatter.default", "slice_scatter", slice_scatter},
    {"aten.select_scatter.default", "select_scatter", select_scatter},
    {"aten.as_strided_scatter.default", "as_strided_scatter", as_strided_scatter},
};

} // namespace

std::span<const Row> index_rows() { return rows; }

} // namespace codetta::frontends::aten
