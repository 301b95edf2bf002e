// Batch norm in training: statistics of the batch, and the running ones moved towards them; and the backward.
#include "codetta/base/error.h"
#include "codetta/ops/compose.h"

#include <fmt/format.h>

namespace codetta::ops {

namespace {

using scalar::DType;

std::vector<size_t> batch_dims(size_t rank) {
    std::vector<size_t> dims = {0};
    for (size_t d = 2; d < rank; ++d) dims.push_back(d);
    return dims;
}

// [c] as [1, c, 1, ...].
ValueId per_channel(Compose& c, ValueId v, size_t rank) {
    std::vector<Expr> shape(rank, Expr(1));
    shape[1] = c.type(v).shape[0];
    return c.view(c.wide(v), shape);
}

OpDef batch_norm_training() {
    OpDef op;
    op.name = "batch_norm_training";
    op.kind = graph::OpKind::normalise;
    op.signature = "(x, running_mean?, running_variance?, weight?, bias?) momentum: number = 0.1, eps: number = 1e-05";
    op.summary = "aten._native_batch_norm_legit_functional in training: the result, the batch's mean and 1/std, and the new running mean "
                 "and variance (the batch's own when "
                 "there are no running ones).";
    op.infer = [](const NodeView& n) {
        TensorType x = n.input(0);
        check_domain(Domain::floating, x.dtype);
        CODETTA_USER_CHECK(x.rank() >= 2, "x needs at least 2 dimensions");
        for (size_t i = 1; i < n.input_count(); ++i)
            if (n.has_input(i)) check_domain(Domain::floating, n.input(i).dtype);
        for (size_t i = 1; i < 5; ++i)
            CODETTA_USER_CHECK(!n.has_input(i) || n.input(i).shape == std::vector{x.shape[1]}, "operand {} is {}, not {}", i,
                               shape_text(n.input(i).shape), shape_text(std::vector{x.shape[1]}));
        TensorType stat = graph::contiguous(scalar::compute_type(x.dtype), {x.shape[1]});
        auto running = [&](size_t i) { return n.has_input(i) ? graph::contiguous(n.input(i).dtype, {x.shape[1]}) : stat; };
        return std::vector{graph::contiguous(x.dtype, x.shape), stat, stat, running(1), running(2)};
    };
    op.decompose = [](const NodeView& n, GraphBuilder& b) {
        Compose c(b, n);
        TensorType x = n.input(0);
        size_t rank = x.rank();
        double momentum = n.number("momentum"), eps = n.number("eps");
        std::vector<size_t> dims = batch_dims(rank);
        std::vector<Expr> list, channels = {x.shape[1]};
        for (size_t d : dims) list.emplace_back(static_cast<int64_t>(d));
        Expr count = 1;
        for (size_t d : dims) count = count * x.shape[d];
        ValueId wide = c.wide(*n.node->inputs[0]);
        std::vector<ValueId> moments = b.add("var_mean", {wide}, {{"dims", list}, {"keepdim", true}, {"correction", int64_t{0}}});
        ValueId variance = moments[0], mean = moments[1];
        ValueId rstd = c.op("rsqrt", {c.op("add", {variance}, {{"scalar", eps}})});
        ValueId out = c.mul(c.sub(wide, mean), rstd);
        if (n.has_input(3)) out = c.mul(out, per_channel(c, *n.node->inputs[3], rank));
        if (n.has_input(4)) out = c.add(out, per_channel(c, *n.node->inputs[4], rank));
        ValueId flat_mean = c.view(mean, channels);
        ValueId unbiased = c.over(c.op("mul", {c.view(variance, channels)}, {{"scalar", count}}), n.facts().simplify(count - 1));
        DType stat = scalar::compute_type(x.dtype);
        // running = (1 - momentum) * running + momentum * new
        auto moved = [&](size_t i, ValueId now) {
            if (!n.has_input(i)) return c.rounded(c.op("clone", {now}), stat);
            ValueId old = c.wide(*n.node->inputs[i]);
            ValueId result = c.add(c.scaled(old, 1 - momentum), c.scaled(now, momentum));
            return c.rounded(result, n.input(i).dtype);
        };
        return std::vector{c.rounded(out, x.dtype), c.rounded(flat_mean, stat), c.rounded(c.view(rstd, channels), stat),
                           moved(1, flat_mean), moved(2, unbiased)};
    };
    op.samples = {"f32[4, 3, 2], f32[3], f32[3] in 0.5..2, f32[3], f32[3]; momentum=0.2",
                  "bf16[2, 3, 2, 2], f32[3], f32[3] in 0.5..2, f32[3], f32[3]", "f32[4, 2], _, _, f32[2], f32[2]; eps=0.001"};
    return op;
}

OpDef batch_norm_backward() {
    OpDef op;
    op.name = "batch_norm_backward";
    op.kind = graph::OpKind::normalise;
    op.signature = "(grad, x, mean, rstd, weight?) training: bool = true";
    op.summary = "aten.native_batch_norm_backward: gradients of x, weight and bias from the forward's mean and 1/std (in inference: of the "
                 "running statistics).";
    op.infer = [](const NodeView& n) {
        TensorType x = n.input(1);
        for (size_t i = 0; i < n.input_count(); ++i)
            if (n.has_input(i)) check_domain(Domain::floating, n.input(i).dtype);
        CODETTA_USER_CHECK(x.rank() >= 2, "x needs at least 2 dimensions");
        CODETTA_USER_CHECK(n.input(0).shape == x.shape, "grad is {}, not {}", shape_text(n.input(0).shape), shape_text(x.shape));
        TensorType affine = graph::contiguous(n.has_input(4) ? n.input(4).dtype : x.dtype, {x.shape[1]});
        return std::vector{graph::contiguous(x.dtype, x.shape), affine, affine};
    };
    op.decompose = [](const NodeView& n, GraphBuilder& b) {
        Compose c(b, n);
        TensorType x = n.input(1);
        size_t rank = x.rank();
        DType affine = n.has_input(4) ? n.input(4).dtype : x.dtype;
        std::vector<size_t> dims = batch_dims(rank);
        Expr count = 1;
        for (size_t d : dims) count = count * x.shape[d];
        ValueId g = c.wide(*n.node->inputs[0]), rstd = per_channel(c, *n.node->inputs[3], rank);
        ValueId xhat = c.mul(c.sub(c.wide(*n.node->inputs[1]), per_channel(c, *n.node->inputs[2], rank)), rstd);
        ValueId dbias = c.sum(g, dims, true), dweight = c.sum(c.mul(g, xhat), dims, true);
        ValueId inner = g;
        if (n.flag("training")) inner = c.sub(c.sub(g, c.over(dbias, count)), c.mul(xhat, c.over(dweight, count)));
        ValueId dx = c.mul(inner, n.has_input(4) ? c.mul(rstd, per_channel(c, *n.node->inputs[4], rank)) : rstd);
        std::vector<Expr> channels = {x.shape[1]};
        return std::vector{c.rounded(dx, x.dtype), c.rounded(c.view(dweight, channels), affine),
                           c.rounded(c.view(dbias, channels), affine)};
    };
    op.samples = {"f32[4, 3, 2], f32[4, 3, 2], f32[3], f32[3] in 0.5..2, f32[3]",
                  "f32[2, 3], f32[2, 3], f32[3], f32[3] in 0.5..2, f32[3]; training=false"};
    return op;
}

} // namespace

std::vector<OpDef> batch_norm_ops() { return {batch_norm_training(), batch_norm_backward()}; }

} // namespace codetta::ops
