// The functions that a program on traced tensors is written with: each records one op of the vocabulary (docs/ops.md), under its name
// there. What an op means is said in its entry; here stand only the arguments.
#pragma once

#include "codetta/frontends/tensor/tensor.h"

namespace codetta::frontends::tensor {

using Dims = std::vector<int64_t>;

// Arithmetic; shapes broadcast, dtypes must agree, a number takes the tensor's dtype.
Tensor operator+(const Operand& x, const Operand& y);
Tensor operator-(const Operand& x, const Operand& y);
Tensor operator*(const Operand& x, const Operand& y);
Tensor operator/(const Operand& x, const Operand& y);
Tensor operator-(const Traced& x);
Tensor pow(const Operand& x, const Operand& y);
Tensor minimum(const Operand& x, const Operand& y);
Tensor maximum(const Operand& x, const Operand& y);
Tensor remainder(const Operand& x, const Operand& y);
Tensor floor_divide(const Operand& x, const Operand& y);
Tensor clamp(const Traced& x, std::optional<double> min, std::optional<double> max);

// Comparison (bool results) and choice.
Tensor equal(const Operand& x, const Operand& y);
Tensor not_equal(const Operand& x, const Operand& y);
Tensor less(const Operand& x, const Operand& y);
Tensor less_equal(const Operand& x, const Operand& y);
Tensor greater(const Operand& x, const Operand& y);
Tensor greater_equal(const Operand& x, const Operand& y);
Tensor logical_and(const Traced& x, const Tensor& y);
Tensor logical_or(const Traced& x, const Tensor& y);
Tensor logical_not(const Traced& x);
Tensor where(const Traced& condition, const Tensor& x, const Tensor& y);
Tensor isnan(const Traced& x);

// Functions of one operand.
Tensor abs(const Traced& x);
Tensor exp(const Traced& x);
Tensor log(const Traced& x);
Tensor sqrt(const Traced& x);
Tensor rsqrt(const Traced& x);
Tensor reciprocal(const Traced& x);
Tensor square(const Traced& x);
Tensor sin(const Traced& x);
Tensor cos(const Traced& x);
Tensor tanh(const Traced& x);
Tensor erf(const Traced& x);
Tensor floor(const Traced& x);
Tensor ceil(const Traced& x);
Tensor round(const Traced& x);
Tensor cast(const Traced& x, DType dtype);

// Activations.
Tensor relu(const Traced& x);
Tensor gelu(const Traced& x, std::string approximate = "none");
Tensor silu(const Traced& x);
Tensor sigmoid(const Traced& x);
Tensor softplus(const Traced& x);

// Views: no data move.
Tensor reshape(const Traced& x, const Shape& shape); // one size may be -1
Tensor permute(const Traced& x, const Dims& dims);
Tensor transpose(const Traced& x, int64_t a, int64_t b);
Tensor expand(const Traced& x, const Shape& shape);
Tensor unsqueeze(const Traced& x, int64_t dim);
Tensor squeeze(const Traced& x, const Dims& dims = {});
Tensor slice(const Traced& x, int64_t dim, const Dim& start, const Dim& end, const Dim& step = 1);
Tensor select(const Traced& x, int64_t dim, const Dim& index);
Tensor cat(const std::vector<Tensor>& tensors, int64_t dim, std::source_location where = std::source_location::current());
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim, std::source_location where = std::source_location::current());
std::vector<Tensor> split(const Traced& x, const Shape& sizes, int64_t dim);
Tensor pad(const Traced& x, const Shape& pads, double value = 0); // (before, after) of the last dimension first, as torch
Tensor flip(const Traced& x, const Dims& dims);

// Products.
Tensor matmul(const Traced& a, const Tensor& b);                                         // two or more dimensions
Tensor linear(const Traced& x, const Tensor& w, std::optional<Tensor> b = std::nullopt); // x @ w.T + b, w is [out, in]

// Reductions; no dims: over all.
Tensor sum(const Traced& x, const Dims& dims = {}, bool keepdim = false);
Tensor mean(const Traced& x, const Dims& dims = {}, bool keepdim = false);
Tensor amax(const Traced& x, const Dims& dims = {}, bool keepdim = false);
Tensor amin(const Traced& x, const Dims& dims = {}, bool keepdim = false);
Tensor argmax(const Traced& x, int64_t dim, bool keepdim = false);
Tensor var(const Traced& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
Tensor cumsum(const Traced& x, int64_t dim);

// Over rows.
Tensor softmax(const Traced& x, int64_t dim = -1);
Tensor log_softmax(const Traced& x, int64_t dim = -1);
Tensor layer_norm(const Traced& x, const Shape& normalized_shape, std::optional<Tensor> weight = std::nullopt,
                  std::optional<Tensor> bias = std::nullopt, double eps = 1e-5);
Tensor rms_norm(const Traced& x, const Shape& normalized_shape, std::optional<Tensor> weight = std::nullopt, double eps = 1e-6);

struct AttentionOptions {
    std::optional<Tensor> mask = std::nullopt; // bool: true is kept; float: added
    bool causal = false;
    std::optional<double> scale = std::nullopt; // default 1 / sqrt(head size)
};
Tensor attention(const Traced& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {}); // [..., heads, length, head size]

// By index; an index out of range is an IndexError at the call.
Tensor embedding(const Traced& weight, const Tensor& indices);
Tensor gather(const Traced& x, const Tensor& indices, int64_t dim);
Tensor index_select(const Traced& x, const Tensor& indices, int64_t dim);

// Made from nothing.
Tensor full(const Shape& shape, double value, DType dtype = f32, std::source_location where = std::source_location::current());
Tensor arange(const Dim& length, DType dtype = i64, std::source_location where = std::source_location::current());

} // namespace codetta::frontends::tensor
