// Backwards of the norms, in terms of pointwise ops and sums.
#include "codetta/base/error.h"
#include "codetta/ops/compose.h"

namespace codetta::ops {

namespace {

using scalar::DType;

std::vector<size_t> range(size_t begin, size_t end) {
    std::vector<size_t> dims;
    for (size_t d = begin; d < end; ++d) dims.push_back(d);
    return dims;
}

// dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) over `dims`, of which there are `count` elements; all in compute precision.
ValueId input_gradient(Compose& c, ValueId g, ValueId xhat, ValueId rstd, const std::vector<size_t>& dims, const Expr& count) {
    ValueId mean_g = c.over(c.sum(g, dims, true), count);
    ValueId mean_gx = c.over(c.sum(c.mul(g, xhat), dims, true), count);
    return c.mul(rstd, c.sub(c.sub(g, mean_g), c.mul(xhat, mean_gx)));
}

std::vector<TensorType> gradient_types(const NodeView& n, const std::vector<Expr>& affine_shape, size_t weight) {
    for (size_t i = 0; i < n.input_count(); ++i)
        if (n.has_input(i)) check_domain(Domain::floating, n.input(i).dtype);
    TensorType x = n.input(1);
    CODETTA_USER_CHECK(n.input(0).shape == x.shape, "grad is {}, not {}", shape_text(n.input(0).shape), shape_text(x.shape));
    DType t = n.has_input(weight) ? n.input(weight).dtype : x.dtype;
    TensorType affine = graph::contiguous(t, affine_shape);
    return {graph::contiguous(x.dtype, x.shape), affine, affine};
}

OpDef native_layer_norm_backward() {
    OpDef op;
    op.name = "native_layer_norm_backward";
    op.signature = "(grad, x, mean, rstd, weight?, bias?) normalized_shape: exprs";
    op.kind = graph::OpKind::normalise;
    op.summary = "aten.native_layer_norm_backward: gradients of x, weight and bias.";
    op.infer = [](const NodeView& n) {
        std::vector<Expr> normal = n.exprs("normalized_shape"), x = n.input(1).shape;
        CODETTA_USER_CHECK(normal.size() <= x.size(), "normalized_shape {} is longer than {}", shape_text(normal), shape_text(x));
        return gradient_types(n, normal, 4);
    };
    op.decompose = [](const NodeView& n, GraphBuilder& b) {
        Compose c(b, n);
        auto in = [&](size_t i) { return *n.node->inputs[i]; };
        size_t rank = n.input(1).rank(), lead = rank - n.exprs("normalized_shape").size();
        DType x_type = n.input(1).dtype, affine_type = n.has_input(4) ? n.input(4).dtype : x_type;
        ValueId g = c.wide(in(0)), rstd = c.wide(in(3));
        ValueId xhat = c.mul(c.sub(c.wide(in(1)), c.wide(in(2))), rstd);
        Expr count = sym::product(n.exprs("normalized_shape"));
        ValueId gw = n.has_input(4) ? c.mul(g, c.wide(in(4))) : g;
        ValueId dx = input_gradient(c, gw, xhat, rstd, range(lead, rank), count);
        ValueId dweight = c.sum(c.mul(g, xhat), range(0, lead), false), dbias = c.sum(g, range(0, lead), false);
        return std::vector{c.rounded(dx, x_type), c.rounded(dweight, affine_type), c.rounded(dbias, affine_type)};
    };
    op.samples = {"f32[3, 4], f32[3, 4], f32[3, 1], f32[3, 1] in 0.5..2, f32[4], f32[4]; normalized_shape=[4]",
                  "bf16[2, 3, 4], bf16[2, 3, 4], f32[2, 3, 1], f32[2, 3, 1] in 0.5..2, bf16[4], bf16[4]; normalized_shape=[4]",
                  "f32[2, 3], f32[2, 3], f32[2, 1], f32[2, 1] in 0.5..2; normalized_shape=[3]"};
    return op;
}

OpDef native_group_norm_backward() {
    OpDef op;
    op.name = "native_group_norm_backward";
    op.signature = "(grad, x, mean, rstd, weight?) groups: int";
    op.kind = graph::OpKind::normalise;
    op.summary = "aten.native_group_norm_backward: gradients of x, weight and bias.";
    op.infer = [](const NodeView& n) {
        CODETTA_USER_CHECK(n.input(1).rank() >= 2, "x needs at least 2 dimensions");
        CODETTA_USER_CHECK(n.integer("groups") > 0, "groups is {}", n.integer("groups"));
        return gradient_types(n, {n.input(1).shape[1]}, 4);
    };
    op.decompose = [](const NodeView& n, GraphBuilder& b) {
        Compose c(b, n);
        auto in = [&](size_t i) { return *n.node->inputs[i]; };
        std::vector<Expr> shape = n.input(1).shape;
        DType x_type = n.input(1).dtype, affine_type = n.has_input(4) ? n.input(4).dtype : x_type;
        int64_t groups = n.integer("groups");
        Expr width = n.facts().simplify(sym::floor_div(shape[1], groups)), inner = sym::product(std::span(shape).subspan(2));
        std::vector<Expr> grouped = {shape[0], Expr(groups), width, inner};
        ValueId g = c.view(c.wide(in(0)), grouped), x = c.view(c.wide(in(1)), grouped);
        std::vector<Expr> stat = {shape[0], Expr(groups), 1, 1};
        ValueId rstd = c.view(c.wide(in(3)), stat), xhat = c.mul(c.sub(x, c.view(c.wide(in(2)), stat)), rstd);
        ValueId gw = g;
        if (n.has_input(4)) gw = c.mul(g, c.view(c.wide(in(4)), {1, Expr(groups), width, 1}));
        ValueId dx = c.view(input_gradient(c, gw, xhat, rstd, {2, 3}, width * inner), shape);
        ValueId dweight = c.view(c.sum(c.mul(g, xhat), {0, 3}, false), {shape[1]}), dbias = c.view(c.sum(g, {0, 3}, false), {shape[1]});
        return std::vector{c.rounded(dx, x_type), c.rounded(dweight, affine_type), c.rounded(dbias, affine_type)};
    };
    op.samples = {"f32[2, 4, 3], f32[2, 4, 3], f32[2, 2], f32[2, 2] in 0.5..2, f32[4]; groups=2"};
    return op;
}

} // namespace

std::vector<OpDef> normalise_backward_ops() { return {native_layer_norm_backward(), native_group_norm_backward()}; }

} // namespace codetta::ops
