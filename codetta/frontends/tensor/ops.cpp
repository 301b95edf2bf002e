#include "codetta/frontends/tensor/ops.h"

#include "codetta/base/error.h"

namespace codetta::frontends::tensor {

namespace {

using Exprs = std::vector<sym::Expr>;

Exprs exprs(const Dims& dims) { return {dims.begin(), dims.end()}; }
using tensor::exprs;

Tensor unary(std::string_view op, const Traced& x, graph::Attributes attributes = {}) {
    return apply1(op, {x.tensor}, std::move(attributes), x.where);
}

Tensor sized(std::string_view op, const Traced& x, const Shape& sizes, graph::Attributes attributes) {
    return apply1(op, {x.tensor}, std::move(attributes), x.where, facts_of(sizes));
}

/// A number becomes the attribute `scalar` in place of its operand.
Tensor binary(std::string_view op, const Operand& x, const Operand& y, graph::Attributes attributes = {}) {
    CODETTA_USER_CHECK(x.tensor || y.tensor, "op '{}' needs a tensor", op);
    if (!x.tensor || !y.tensor) attributes.emplace("scalar", x.tensor ? *y.number : *x.number);
    return apply1(op, {x.tensor, y.tensor}, std::move(attributes), x.where);
}

Tensor reduction(std::string_view op, const Traced& x, const Dims& dims, bool keepdim, graph::Attributes attributes = {}) {
    attributes.emplace("dims", exprs(dims));
    attributes.emplace("keepdim", keepdim);
    return unary(op, x, std::move(attributes));
}

} // namespace

Tensor operator+(const Operand& x, const Operand& y) { return binary("add", x, y); }
Tensor operator-(const Operand& x, const Operand& y) { return binary("sub", x, y); }
Tensor operator*(const Operand& x, const Operand& y) { return binary("mul", x, y); }
Tensor operator/(const Operand& x, const Operand& y) { return binary("div", x, y); }
Tensor operator-(const Traced& x) { return unary("neg", x); }
Tensor pow(const Operand& x, const Operand& y) { return binary("pow", x, y); }
Tensor minimum(const Operand& x, const Operand& y) { return binary("minimum", x, y); }
Tensor maximum(const Operand& x, const Operand& y) { return binary("maximum", x, y); }
Tensor remainder(const Operand& x, const Operand& y) { return binary("remainder", x, y); }
Tensor floor_divide(const Operand& x, const Operand& y) { return binary("div", x, y, {{"rounding_mode", "floor"}}); }

Tensor clamp(const Traced& x, std::optional<double> min, std::optional<double> max) {
    graph::Attributes attributes;
    if (min) attributes.emplace("min", *min);
    if (max) attributes.emplace("max", *max);
    return unary("clamp", x, std::move(attributes));
}

Tensor equal(const Operand& x, const Operand& y) { return binary("eq", x, y); }
Tensor not_equal(const Operand& x, const Operand& y) { return binary("ne", x, y); }
Tensor less(const Operand& x, const Operand& y) { return binary("lt", x, y); }
Tensor less_equal(const Operand& x, const Operand& y) { return binary("le", x, y); }
Tensor greater(const Operand& x, const Operand& y) { return binary("gt", x, y); }
Tensor greater_equal(const Operand& x, const Operand& y) { return binary("ge", x, y); }
Tensor logical_and(const Traced& x, const Tensor& y) { return apply1("logical_and", {x.tensor, y}, {}, x.where); }
Tensor logical_or(const Traced& x, const Tensor& y) { return apply1("logical_or", {x.tensor, y}, {}, x.where); }
Tensor logical_not(const Traced& x) { return unary("logical_not", x); }
Tensor where(const Traced& condition, const Tensor& x, const Tensor& y) {
    return apply1("where", {condition.tensor, x, y}, {}, condition.where);
}
Tensor isnan(const Traced& x) { return unary("isnan", x); }

Tensor abs(const Traced& x) { return unary("abs", x); }
Tensor exp(const Traced& x) { return unary("exp", x); }
Tensor log(const Traced& x) { return unary("log", x); }
Tensor sqrt(const Traced& x) { return unary("sqrt", x); }
Tensor rsqrt(const Traced& x) { return unary("rsqrt", x); }
Tensor reciprocal(const Traced& x) { return unary("reciprocal", x); }
Tensor square(const Traced& x) { return unary("square", x); }
Tensor sin(const Traced& x) { return unary("sin", x); }
Tensor cos(const Traced& x) { return unary("cos", x); }
Tensor tanh(const Traced& x) { return unary("tanh", x); }
Tensor erf(const Traced& x) { return unary("erf", x); }
Tensor floor(const Traced& x) { return unary("floor", x); }
Tensor ceil(const Traced& x) { return unary("ceil", x); }
Tensor round(const Traced& x) { return unary("round", x); }
Tensor cast(const Traced& x, DType dtype) { return unary("cast", x, {{"dtype", dtype}}); }

Tensor relu(const Traced& x) { return unary("relu", x); }
Tensor gelu(const Traced& x, std::string approximate) { return unary("gelu", x, {{"approximate", std::move(approximate)}}); }
Tensor silu(const Traced& x) { return unary("silu", x); }
Tensor sigmoid(const Traced& x) { return unary("sigmoid", x); }
Tensor softplus(const Traced& x) { return unary("softplus", x); }

Tensor reshape(const Traced& x, const Shape& shape) { return sized("view", x, shape, {{"shape", exprs(shape)}}); }
Tensor permute(const Traced& x, const Dims& dims) { return unary("permute", x, {{"dims", exprs(dims)}}); }

Tensor transpose(const Traced& x, int64_t a, int64_t b) {
    const auto rank = static_cast<int64_t>(x.tensor.rank());
    CODETTA_USER_CHECK(-rank <= a && a < rank && -rank <= b && b < rank, "transpose({}, {}): there are {} dimensions", a, b, rank);
    Dims dims;
    for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
    std::swap(dims[static_cast<size_t>((a + rank) % rank)], dims[static_cast<size_t>((b + rank) % rank)]);
    return permute(x, dims);
}

Tensor expand(const Traced& x, const Shape& shape) { return sized("expand", x, shape, {{"shape", exprs(shape)}}); }
Tensor unsqueeze(const Traced& x, int64_t dim) { return unary("unsqueeze", x, {{"dim", dim}}); }
Tensor squeeze(const Traced& x, const Dims& dims) { return unary("squeeze", x, {{"dims", exprs(dims)}}); }

Tensor slice(const Traced& x, int64_t dim, const Dim& start, const Dim& end, const Dim& step) {
    return sized("slice", x, {start, end, step}, {{"dim", dim}, {"start", start.expr}, {"end", end.expr}, {"step", step.expr}});
}

Tensor select(const Traced& x, int64_t dim, const Dim& index) { return sized("select", x, {index}, {{"dim", dim}, {"index", index.expr}}); }

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim, std::source_location where) {
    return apply1("cat", {tensors.begin(), tensors.end()}, {{"dim", dim}}, where);
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim, std::source_location where) {
    return apply1("stack", {tensors.begin(), tensors.end()}, {{"dim", dim}}, where);
}

std::vector<Tensor> split(const Traced& x, const Shape& sizes, int64_t dim) {
    std::vector<Tensor> parts;
    Dim start = 0;
    for (const Dim& size : sizes) {
        parts.push_back(slice(x, dim, start, start + size));
        start = start + size;
    }
    CODETTA_USER_CHECK(start.expr == x.tensor.size(dim).expr, "split: the sizes make {}, but dimension {} has {}",
                       sym::to_string(start.expr), dim, sym::to_string(x.tensor.size(dim).expr));
    return parts;
}

Tensor pad(const Traced& x, const Shape& pads, double value) {
    return sized("constant_pad", x, pads, {{"pads", exprs(pads)}, {"value", value}});
}
Tensor flip(const Traced& x, const Dims& dims) { return unary("flip", x, {{"dims", exprs(dims)}}); }

Tensor matmul(const Traced& a, const Tensor& b) { return apply1("matmul", {a.tensor, b}, {}, a.where); }
Tensor linear(const Traced& x, const Tensor& w, std::optional<Tensor> b) {
    return apply1("linear", {x.tensor, w, std::move(b)}, {}, x.where);
}

Tensor sum(const Traced& x, const Dims& dims, bool keepdim) { return reduction("sum", x, dims, keepdim); }
Tensor mean(const Traced& x, const Dims& dims, bool keepdim) { return reduction("mean", x, dims, keepdim); }
Tensor amax(const Traced& x, const Dims& dims, bool keepdim) { return reduction("amax", x, dims, keepdim); }
Tensor amin(const Traced& x, const Dims& dims, bool keepdim) { return reduction("amin", x, dims, keepdim); }
Tensor argmax(const Traced& x, int64_t dim, bool keepdim) { return unary("argmax", x, {{"dim", dim}, {"keepdim", keepdim}}); }
Tensor var(const Traced& x, const Dims& dims, double correction, bool keepdim) {
    return reduction("var", x, dims, keepdim, {{"correction", correction}});
}
Tensor cumsum(const Traced& x, int64_t dim) { return unary("cumsum", x, {{"dim", dim}}); }

Tensor softmax(const Traced& x, int64_t dim) { return unary("softmax", x, {{"dim", dim}}); }
Tensor log_softmax(const Traced& x, int64_t dim) { return unary("log_softmax", x, {{"dim", dim}}); }

Tensor layer_norm(const Traced& x, const Shape& normalized_shape, std::optional<Tensor> weight, std::optional<Tensor> bias, double eps) {
    graph::Attributes attributes = {{"normalized_shape", exprs(normalized_shape)}, {"eps", eps}};
    return apply("native_layer_norm", {x.tensor, std::move(weight), std::move(bias)}, std::move(attributes), x.where,
                 facts_of(normalized_shape))[0];
}

Tensor rms_norm(const Traced& x, const Shape& normalized_shape, std::optional<Tensor> weight, double eps) {
    graph::Attributes attributes = {{"normalized_shape", exprs(normalized_shape)}, {"eps", eps}};
    return apply1("rms_norm", {x.tensor, std::move(weight)}, std::move(attributes), x.where, facts_of(normalized_shape));
}

Tensor attention(const Traced& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
    graph::Attributes attributes = {{"causal", options.causal}};
    if (options.scale) attributes.emplace("scale", *options.scale);
    return apply("attention", {q.tensor, k, v, options.mask}, std::move(attributes), q.where)[0];
}

Tensor embedding(const Traced& weight, const Tensor& indices) { return apply1("embedding", {weight.tensor, indices}, {}, weight.where); }
Tensor gather(const Traced& x, const Tensor& indices, int64_t dim) {
    return apply1("gather", {x.tensor, indices}, {{"dim", dim}}, x.where);
}
Tensor index_select(const Traced& x, const Tensor& indices, int64_t dim) {
    return apply1("index_select", {x.tensor, indices}, {{"dim", dim}}, x.where);
}

Tensor full(const Shape& shape, double value, DType dtype, std::source_location where) {
    return apply1("full", {}, {{"shape", exprs(shape)}, {"value", value}, {"dtype", dtype}}, where, facts_of(shape));
}

Tensor arange(const Dim& length, DType dtype, std::source_location where) {
    return apply1("arange", {}, {{"length", length.expr}, {"dtype", dtype}}, where, length.facts);
}

} // namespace codetta::frontends::tensor
