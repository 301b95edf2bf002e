// Convolutions of any rank as sums of products, with the gradients of their operands.
#include "codetta/base/error.h"
#include "codetta/ops/compose.h"

#include <fmt/format.h>

namespace codetta::ops {

namespace {

using scalar::DType;

// What the attributes say, one entry per spatial dimension.
struct Geometry {
    std::vector<int64_t> stride, padding, dilation;
    int64_t groups = 1;
    size_t spatial() const { return stride.size(); }
};

const std::string kGeometry = "stride: exprs, padding: exprs, dilation: exprs, groups: int = 1";

Geometry geometry_of(const NodeView& n, size_t spatial) {
    Geometry g{n.integers("stride"), n.integers("padding"), n.integers("dilation"), n.integer("groups")};
    for (std::vector<int64_t>* list : {&g.stride, &g.padding, &g.dilation})
        CODETTA_USER_CHECK(list->size() == spatial, "stride, padding and dilation need {} entries each", spatial);
    CODETTA_USER_CHECK(g.groups > 0, "groups is {}", g.groups);
    for (int64_t s : g.stride) CODETTA_USER_CHECK(s > 0, "a stride is {}", s);
    for (int64_t d : g.dilation) CODETTA_USER_CHECK(d > 0, "a dilation is {}", d);
    return g;
}

Expr convolved_size(const Expr& in, const Expr& kernel, const Geometry& g, size_t d, const sym::Facts& facts) {
    return facts.simplify(sym::floor_div(in + 2 * g.padding[d] - g.dilation[d] * (kernel - 1) - 1, g.stride[d]) + 1);
}

DType accumulator(DType t) { return scalar::is_float(t) ? scalar::compute_type(t) : DType::i64; }

// acc = sum of the product of two reads; then bias (per the axis `channel`) and rounding, written at `to`.
void write_sum_of_products(Lowering& low, const NodeView& n, const std::vector<AxisId>& axes, const std::vector<AxisId>& reduce, Read a,
                           Read b, const std::vector<Expr>& to, std::optional<Read> bias) {
    DType result = n.output().dtype, t = accumulator(result);
    StageId acc = low.stage({.name = "acc",
                             .axes = axes,
                             .reads = {std::move(a), std::move(b)},
                             .body = [t](Terms x) { return cast(t, x[0]) * cast(t, x[1]); },
                             .reduce = reduce,
                             .combiner = scalar::sum(t),
                             .raw = true});
    if (!bias && t == result) return low.write(acc, 0, to);
    std::vector<Read> reads = {low.read(acc)};
    if (bias) reads.push_back(*bias);
    StageId value = low.stage({.name = "value",
                               .axes = axes,
                               .reads = reads,
                               .body = [](Terms x) { return x.size() > 1 ? x[0] + cast(x[0].type(), x[1]) : x[0]; },
                               .result = result});
    low.write(value, 0, to);
}

// The place in the input that output place `o` sees through kernel place `r`, with the guard against the padding.
void look(std::vector<Expr>& at, std::vector<sym::Condition>& guard, const Expr& o, const Expr& r, const Expr& size, const Geometry& g,
          size_t d) {
    Expr place = o * g.stride[d] + r * g.dilation[d] - g.padding[d];
    at.push_back(place);
    if (g.padding[d] == 0) return;
    guard.push_back(sym::le(0, place));
    guard.push_back(sym::lt(place, size));
}

// The other way round: the output place that input place `i` is seen from through kernel place `r`.
void look_back(std::vector<Expr>& at, std::vector<sym::Condition>& guard, const Expr& i, const Expr& r, const Expr& size, const Geometry& g,
               size_t d) {
    Expr scaled = i + g.padding[d] - r * g.dilation[d];
    Expr place = g.stride[d] == 1 ? scaled : sym::floor_div(scaled, g.stride[d]);
    at.push_back(place);
    if (g.stride[d] != 1) guard.push_back(sym::eq(sym::mod(scaled, g.stride[d]), 0));
    guard.push_back(sym::le(0, place));
    guard.push_back(sym::lt(place, size));
}

void check_operands(const NodeView& n) {
    TensorType x = n.input(0), w = n.input(1);
    check_domain(Domain::number, common_dtype(n));
    CODETTA_USER_CHECK(x.rank() >= 3 && w.rank() == x.rank(),
                       "x and w need equally many dimensions, at least 3 (unsqueeze a single image)");
}

// Channels as [groups, per group]: index g * per + c.
Expr channel(const Expr& group, const Expr& c, const Expr& per) { return group * per + c; }

// out[n, g.co, o] = sum over ci, r of x[n, g.ci, o * stride + r * dilation - padding] * w[g.co, ci, r]
problem::Problem lower_convolution(const NodeView& n) {
    Lowering low(n);
    TensorType x = n.input(0), w = n.input(1), out = n.output();
    Geometry g = geometry_of(n, x.rank() - 2);
    Expr co_per = n.facts().simplify(sym::floor_div(w.shape[0], g.groups));
    std::vector<Expr> domain = {x.shape[0], Expr(g.groups), co_per};
    domain.insert(domain.end(), out.shape.begin() + 2, out.shape.end());
    Loops o = low.loops(domain);
    Loops r = low.reduced(std::span(w.shape).subspan(1));
    Expr co = channel(o.index[1], o.index[2], co_per);
    std::vector<Expr> at_x = {o.index[0], channel(o.index[1], r.index[0], w.shape[1])}, at_w = {co}, to = {o.index[0], co};
    at_w.insert(at_w.end(), r.index.begin(), r.index.end());
    to.insert(to.end(), o.index.begin() + 3, o.index.end());
    std::vector<sym::Condition> guard;
    for (size_t d = 0; d < g.spatial(); ++d) look(at_x, guard, o.index[3 + d], r.index[1 + d], x.shape[2 + d], g, d);
    std::optional<Read> bias;
    if (n.has_input(2)) bias = low.read(2, {co});
    write_sum_of_products(low, n, o.axes, r.axes, low.read(0, at_x, guard), low.read(1, at_w), to, bias);
    return low.finish();
}

OpDef convolution() {
    OpDef op;
    op.name = "convolution";
    op.kind = graph::OpKind::contract;
    op.signature = "(x, w, b?) " + kGeometry;
    op.summary = "torch.nn.functional.conv1d, conv2d, conv3d: x [n, c, ...], w [out, c / groups, ...].";
    op.infer = [](const NodeView& n) {
        check_operands(n);
        TensorType x = n.input(0), w = n.input(1);
        Geometry g = geometry_of(n, x.rank() - 2);
        CODETTA_USER_CHECK(n.facts().proves(sym::eq(w.shape[1] * g.groups, x.shape[1])), "w {} does not fit {} channels in {} groups",
                           shape_text(w.shape), sym::to_string(x.shape[1]), g.groups);
        CODETTA_USER_CHECK(!n.has_input(2) || n.input(2).shape == std::vector{w.shape[0]}, "b is {}, not {}", shape_text(n.input(2).shape),
                           shape_text(std::vector{w.shape[0]}));
        std::vector<Expr> shape = {x.shape[0], w.shape[0]};
        for (size_t d = 0; d < g.spatial(); ++d) shape.push_back(convolved_size(x.shape[2 + d], w.shape[2 + d], g, d, n.facts()));
        return std::vector{graph::contiguous(x.dtype, shape)};
    };
    op.lower = lower_convolution;
    op.samples = {"f32[2, 3, 5, 5], f32[4, 3, 3, 3], f32[4]; stride=[1, 1], padding=[1, 1], dilation=[1, 1]",
                  "bf16[1, 4, 6, 5], bf16[6, 2, 3, 2]; stride=[2, 1], padding=[1, 0], dilation=[1, 2], groups=2",
                  "f32[1, 4, 5, 5], f32[4, 1, 3, 3], f32[4]; stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=4",
                  "f32[2, 2, 7], f32[3, 2, 3]; stride=[2], padding=[0], dilation=[1]",
                  "f32[1, 3, 4, 4], f32[2, 3, 4, 4], f32[2]; stride=[4, 4], padding=[0, 0], dilation=[1, 1]"};
    return op;
}

// out[n, g.c, i] = sum over co, r of grad[n, g.co, (i + padding - r * dilation) / stride] * w[g.co, c, r]: the gradient of x, and the
// transposed convolution of grad.
OpDef convolution_transposed() {
    OpDef op;
    op.name = "convolution_transposed";
    op.kind = graph::OpKind::contract;
    op.signature = "(x, w, b?) size: exprs, " + kGeometry;
    op.summary = "torch.nn.functional.conv_transpose1d, 2d, 3d, and the gradient of a convolution's operand: x [n, c, ...], w [c, out / "
                 "groups, ...]; size: of the "
                 "result's space.";
    op.infer = [](const NodeView& n) {
        check_operands(n);
        TensorType x = n.input(0), w = n.input(1);
        Geometry g = geometry_of(n, x.rank() - 2);
        CODETTA_USER_CHECK(w.shape[0] == x.shape[1], "w {} does not fit {} channels", shape_text(w.shape), sym::to_string(x.shape[1]));
        std::vector<Expr> shape = {x.shape[0], n.facts().simplify(w.shape[1] * g.groups)}, size = n.exprs("size");
        CODETTA_USER_CHECK(size.size() == g.spatial(), "size needs {} entries", g.spatial());
        shape.insert(shape.end(), size.begin(), size.end());
        return std::vector{graph::contiguous(x.dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        TensorType x = n.input(0), w = n.input(1), out = n.output();
        Geometry g = geometry_of(n, x.rank() - 2);
        Expr in_per = n.facts().simplify(sym::floor_div(w.shape[0], g.groups));
        std::vector<Expr> domain = {x.shape[0], Expr(g.groups), w.shape[1]};
        domain.insert(domain.end(), out.shape.begin() + 2, out.shape.end());
        Loops i = low.loops(domain);
        std::vector<Expr> summed = {in_per};
        summed.insert(summed.end(), w.shape.begin() + 2, w.shape.end());
        Loops r = low.reduced(summed);
        Expr ci = channel(i.index[1], r.index[0], in_per), co = channel(i.index[1], i.index[2], w.shape[1]);
        std::vector<Expr> at_x = {i.index[0], ci}, at_w = {ci, i.index[2]}, to = {i.index[0], co};
        at_w.insert(at_w.end(), r.index.begin() + 1, r.index.end());
        to.insert(to.end(), i.index.begin() + 3, i.index.end());
        std::vector<sym::Condition> guard;
        for (size_t d = 0; d < g.spatial(); ++d) look_back(at_x, guard, i.index[3 + d], r.index[1 + d], x.shape[2 + d], g, d);
        std::optional<Read> bias;
        if (n.has_input(2)) bias = low.read(2, {co});
        write_sum_of_products(low, n, i.axes, r.axes, low.read(0, at_x, guard), low.read(1, at_w), to, bias);
        return low.finish();
    };
    op.samples = {"f32[2, 4, 3, 3], f32[4, 2, 3, 3], f32[2]; size=[5, 5], stride=[2, 2], padding=[1, 1], dilation=[1, 1]",
                  "bf16[1, 4, 3], bf16[4, 3, 2]; size=[4], stride=[1], padding=[0], dilation=[1], groups=2"};
    return op;
}

// dw[g.co, c, r] = sum over n, o of grad[n, g.co, o] * x[n, g.c, o * stride + r * dilation - padding]
OpDef convolution_weight_gradient() {
    OpDef op;
    op.name = "convolution_weight_gradient";
    op.kind = graph::OpKind::contract;
    op.signature = "(grad, x) kernel: exprs, " + kGeometry;
    op.summary = "The gradient of a convolution's weight; kernel: the weight's spatial sizes.";
    op.infer = [](const NodeView& n) {
        check_operands(n);
        TensorType grad = n.input(0), x = n.input(1);
        Geometry g = geometry_of(n, x.rank() - 2);
        std::vector<Expr> shape = {grad.shape[1], n.facts().simplify(sym::floor_div(x.shape[1], g.groups))}, kernel = n.exprs("kernel");
        CODETTA_USER_CHECK(kernel.size() == g.spatial(), "kernel needs {} entries", g.spatial());
        shape.insert(shape.end(), kernel.begin(), kernel.end());
        return std::vector{graph::contiguous(x.dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        TensorType grad = n.input(0), x = n.input(1), out = n.output();
        Geometry g = geometry_of(n, x.rank() - 2);
        Expr co_per = n.facts().simplify(sym::floor_div(grad.shape[1], g.groups));
        std::vector<Expr> domain = {Expr(g.groups), co_per};
        domain.insert(domain.end(), out.shape.begin() + 1, out.shape.end());
        Loops i = low.loops(domain);
        std::vector<Expr> summed = {grad.shape[0]};
        summed.insert(summed.end(), grad.shape.begin() + 2, grad.shape.end());
        Loops r = low.reduced(summed);
        Expr co = channel(i.index[0], i.index[1], co_per);
        std::vector<Expr> at_grad = {r.index[0], co}, at_x = {r.index[0], channel(i.index[0], i.index[2], out.shape[1])}, to = {co};
        at_grad.insert(at_grad.end(), r.index.begin() + 1, r.index.end());
        to.insert(to.end(), i.index.begin() + 2, i.index.end());
        std::vector<sym::Condition> guard;
        for (size_t d = 0; d < g.spatial(); ++d) look(at_x, guard, r.index[1 + d], i.index[3 + d], x.shape[2 + d], g, d);
        write_sum_of_products(low, n, i.axes, r.axes, low.read(0, at_grad), low.read(1, at_x, guard), to, std::nullopt);
        return low.finish();
    };
    op.samples = {"f32[2, 4, 5, 5], f32[2, 3, 5, 5]; kernel=[3, 3], stride=[1, 1], padding=[1, 1], dilation=[1, 1]",
                  "f32[1, 4, 2, 3], f32[1, 4, 5, 5]; kernel=[3, 2], stride=[2, 1], padding=[0, 0], dilation=[1, 2], groups=2"};
    return op;
}

OpDef convolution_backward() {
    OpDef op;
    op.name = "convolution_backward";
    op.kind = graph::OpKind::contract;
    op.signature = "(grad, x, w) " + kGeometry;
    op.summary = "aten.convolution_backward (not transposed): gradients of x, w and the bias.";
    op.infer = [](const NodeView& n) {
        TensorType grad = n.input(0), x = n.input(1), w = n.input(2);
        CODETTA_USER_CHECK(x.rank() >= 3 && w.rank() == x.rank() && grad.rank() == x.rank(),
                           "grad, x and w need equally many dimensions, at least 3");
        check_domain(Domain::floating, common_dtype(n));
        const Geometry g = geometry_of(n, x.rank() - 2);
        std::vector<Expr> out = {x.shape[0], w.shape[0]};
        for (size_t d = 0; d < g.spatial(); ++d) out.push_back(convolved_size(x.shape[2 + d], w.shape[2 + d], g, d, n.facts()));
        for (size_t d = 0; d < out.size(); ++d)
            CODETTA_USER_CHECK(!n.facts().refutes(sym::eq(grad.shape[d], out[d])), "grad is {}, not {}", shape_text(grad.shape),
                               shape_text(out));
        return std::vector{graph::contiguous(x.dtype, x.shape), graph::contiguous(w.dtype, w.shape),
                           graph::contiguous(w.dtype, {w.shape[0]})};
    };
    op.decompose = [](const NodeView& n, GraphBuilder& b) {
        Compose c(b);
        ValueId grad = *n.node->inputs[0], x = *n.node->inputs[1], w = *n.node->inputs[2];
        graph::Attributes geometry;
        for (const char* name : {"stride", "padding", "dilation", "groups"}) geometry[name] = n.attribute(name);
        std::vector<Expr> space = n.input(1).shape, kernel = n.input(2).shape;
        space.erase(space.begin(), space.begin() + 2);
        kernel.erase(kernel.begin(), kernel.begin() + 2);
        graph::Attributes for_x = geometry, for_w = geometry;
        for_x["size"] = space;
        for_w["kernel"] = kernel;
        std::vector<size_t> dims = {0};
        for (size_t d = 2; d < n.input(0).rank(); ++d) dims.push_back(d);
        return std::vector{c.op("convolution_transposed", {grad, w}, for_x), c.op("convolution_weight_gradient", {grad, x}, for_w),
                           c.sum(grad, dims, false)};
    };
    op.samples = {"f32[2, 4, 5, 5], f32[2, 3, 5, 5], f32[4, 3, 3, 3]; stride=[1, 1], padding=[1, 1], dilation=[1, 1]",
                  "f32[1, 6, 3, 3], f32[1, 4, 6, 5], f32[6, 2, 3, 2]; stride=[2, 1], padding=[1, 0], dilation=[1, 2], groups=2"};
    return op;
}

} // namespace

std::vector<OpDef> convolution_ops() {
    return {convolution(), convolution_transposed(), convolution_weight_gradient(), convolution_backward()};
}

} // namespace codetta::ops
