#include "tests/fuzz/differential/vocabulary.h"

#include <algorithm>
#include <array>

namespace codetta::test {

namespace {

template <size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

bool is_jumping(std::string_view op) {
    static constexpr auto names = std::to_array<std::string_view>({"sign",
                                                                   "floor",
                                                                   "ceil",
                                                                   "trunc",
                                                                   "round",
                                                                   "eq",
                                                                   "ne",
                                                                   "lt",
                                                                   "le",
                                                                   "gt",
                                                                   "ge",
                                                                   "logical_not",
                                                                   "logical_and",
                                                                   "logical_or",
                                                                   "logical_xor",
                                                                   "remainder",
                                                                   "fmod",
                                                                   "argmax",
                                                                   "argmin",
                                                                   "any",
                                                                   "all",
                                                                   "isnan",
                                                                   "isinf",
                                                                   "max_pool2d_with_indices",
                                                                   "threshold_backward",
                                                                   "hardswish_backward",
                                                                   "hardsigmoid_backward",
                                                                   "leaky_relu_backward",
                                                                   "elu_backward",
                                                                   "softplus_backward",
                                                                   "reciprocal",
                                                                   "div"});
    return among(names, op);
}

bool is_copying(std::string_view op) {
    static constexpr auto names = std::to_array<std::string_view>(
        {"permute", "expand", "unsqueeze", "squeeze", "slice", "select", "alias",        "view",  "diagonal",  "unfold", "cat",
         "stack",   "repeat", "roll",      "flip",    "clone", "gather", "index_select", "index", "embedding", "tril",   "triu"});
    return among(names, op);
}

bool sizes_belong_together(std::string_view op) {
    static constexpr auto names = std::to_array<std::string_view>(
        {"as_strided", "as_strided_scatter", "native_group_norm_backward", "native_layer_norm_backward", "batch_norm_backward",
         "convolution", "convolution_transposed", "convolution_weight_gradient", "convolution_backward", "max_pool2d_with_indices",
         "max_pool2d_with_indices_backward", "avg_pool2d", "avg_pool2d_backward", "adaptive_avg_pool2d", "adaptive_avg_pool2d_backward",
         "slice_backward", "select_backward", "attention_backward"});
    return among(names, op);
}

bool is_sensitive(const graph::OpDef& op) {
    static constexpr auto names = std::to_array<std::string_view>({"var", "std", "var_mean", "attention_backward"});
    return op.kind == graph::OpKind::normalise || among(names, op.name);
}

} // namespace codetta::test
