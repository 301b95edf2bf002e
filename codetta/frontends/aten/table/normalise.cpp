// Normalisations and their backwards.
#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"

namespace codetta::frontends::aten {

namespace {

using scalar::DType;

// The dtype that the capture promises for mean and rstd, whichever of them somebody reads.
DType statistic_dtype(Translator& t, DType otherwise) {
    for (size_t i : {size_t(1), size_t(2)})
        if (t.wanted(i)) return t.promised(i).dtype;
    return otherwise;
}

void layer_norm(Translator& t, std::string_view op) {
    const DType dtype = t.type("input").dtype;
    const std::vector<ValueId> made = t.add_many(
        std::string(op), {t.tensor("input"), t.optional_tensor("weight"), t.optional_tensor("bias")},
        {{"normalized_shape", t.sizes("normalized_shape")}, {"eps", t.real("eps", 1e-5)}, {"stat_dtype", statistic_dtype(t, dtype)}});
    for (size_t i = 0; i < 3; i++) t.result(made.at(i), i);
}

void layer_norm_backward(Translator& t, std::string_view op) {
    const std::vector<ValueId> made = t.add_many(std::string(op),
                                                 {t.tensor("grad_out"), t.tensor("input"), t.tensor("mean"), t.tensor("rstd"),
                                                  t.optional_tensor("weight"), t.optional_tensor("bias")},
                                                 {{"normalized_shape", t.sizes("normalized_shape")}});
    for (size_t i = 0; i < 3; i++) t.result(made.at(i), i);
}

void group_norm(Translator& t, std::string_view op) {
    const DType dtype = t.type("input").dtype;
    const std::vector<ValueId> made =
        t.add_many(std::string(op), {t.tensor("input"), t.optional_tensor("weight"), t.optional_tensor("bias")},
                   {{"groups", t.integer("group")}, {"eps", t.real("eps", 1e-5)}, {"stat_dtype", statistic_dtype(t, dtype)}});
    for (size_t i = 0; i < 3; i++) t.result(made.at(i), i);
}

void group_norm_backward(Translator& t, std::string_view op) {
    const std::vector<ValueId> made = t.add_many(
        std::string(op), {t.tensor("grad_out"), t.tensor("input"), t.tensor("mean"), t.tensor("rstd"), t.optional_tensor("weight")},
        {{"groups", t.integer("group")}});
    for (size_t i = 0; i < 3; i++) t.result(made.at(i), i);
}

// Inference: results 1 and 2 are empty and nobody reads them.
void batch_norm(Translator& t, std::string_view op) {
    if (t.wanted(1) || t.wanted(2)) t.refuse("its statistics are read");
    t.result(t.add(
        std::string(op),
        {t.tensor("input"), t.tensor("running_mean"), t.tensor("running_var"), t.optional_tensor("weight"), t.optional_tensor("bias")},
        {{"eps", t.real("eps", 1e-5)}}));
}

constexpr Row rows[] = {
    {"aten.native_layer_norm.default", "native_layer_norm", layer_norm},
    {"aten.native_layer_norm_backward.default", "native_layer_norm_backward", layer_norm_backward},
    {"aten.native_group_norm.default", "native_group_norm", group_norm},
    {"aten.native_group_norm_backward.default", "native_group_norm_backward", group_norm_backward},
    {"aten._native_batch_norm_legit_no_training.default", "batch_norm", batch_norm},
};

} // namespace

std::span<const Row> normalise_rows() { return rows; }

} // namespace codetta::frontends::aten
