// Layer, group, RMS and batch norms. Statistics in compute precision, the variance in two passes.
#include <algorithm>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/pointwise.h"

namespace codetta::ops {

namespace {

using scalar::DType;

DType stat_type(const NodeView& n) { return n.has("stat_dtype") ? n.dtype("stat_dtype") : n.input(0).dtype; }

// The trailing dimensions that normalized_shape names.
std::vector<size_t> trailing_dims(const NodeView& n) {
    std::vector<Expr> x = n.input(0).shape, normal = n.exprs("normalized_shape");
    CODETTA_USER_CHECK(!normal.empty() && normal.size() <= x.size() &&
                           std::equal(normal.begin(), normal.end(), x.end() - static_cast<std::ptrdiff_t>(normal.size())),
                       "normalized_shape {} is not the end of {}", shape_text(normal), shape_text(x));
    std::vector<size_t> dims;
    for (size_t d = x.size() - normal.size(); d < x.size(); ++d) dims.push_back(d);
    return dims;
}

void check_affine(const NodeView& n, size_t i, const std::vector<Expr>& shape) {
    if (!n.has_input(i)) return;
    check_domain(Domain::floating, n.input(i).dtype);
    CODETTA_USER_CHECK(n.input(i).shape == shape, "operand {} is {}, not {}", i, shape_text(n.input(i).shape), shape_text(shape));
}

struct Statistics {
    StageId mean, rstd;
};

// x: how an element is read under the loops `rows` (its reduced axes are those of the statistics).
Statistics statistics(Lowering& low, const RowLoops& rows, const Read& x, DType compute, const Expr& count, double eps) {
    auto stage = [&](std::string name, std::vector<Read> reads, Body body, bool reduce) {
        StageSpec s{.name = std::move(name), .axes = rows.rows, .reads = std::move(reads), .body = std::move(body)};
        if (reduce) {
            s.reduce = rows.reduce;
            s.combiner = scalar::sum(compute);
        }
        return low.stage(std::move(s));
    };
    // The count is a number where it can be.
    auto per_count = [&](std::string name, StageId total, const std::function<Term(Term)>& then) {
        std::optional<int64_t> number = count.constant();
        std::vector<Read> reads = {low.read(total)};
        if (!number) reads.push_back(Lowering::index(count));
        return stage(
            std::move(name), reads,
            [&](Terms t) { return then(number ? t[0] / static_cast<double>(*number) : t[0] / cast(t[0].type(), t[1])); }, false);
    };
    StageId sum = stage("sum", {x}, [](Terms t) { return t[0]; }, true);
    StageId mean = per_count("mean", sum, [](Term t) { return t; });
    StageId squares = stage("squares", {x, low.read(mean)}, [](Terms t) { return (t[0] - t[1]) * (t[0] - t[1]); }, true);
    StageId rstd = per_count("rstd", squares, [eps](Term t) { return rsqrt(t + eps); });
    return {mean, rstd};
}

// value * weight + bias as far as they are there; reads 3 and 4 of the body.
struct Affine {
    std::vector<Read> reads;
    bool weight = false, bias = false;
    Term operator()(Terms t, Term value, size_t first) const {
        const auto term = [&](size_t i) { return cast(value.type(), t[i]); };
        if (weight && bias) return apply(scalar::Prim::fma, {value, term(first), term(first + 1)});
        return weight ? value * term(first) : bias ? value + term(first) : value;
    }
};

Affine affine(const Lowering& low, const NodeView& n, size_t weight, size_t bias, const std::vector<Expr>& at) {
    Affine a{{}, n.has_input(weight), n.has_input(bias)};
    if (a.weight) a.reads.push_back(low.read(weight, at));
    if (a.bias) a.reads.push_back(low.read(bias, at));
    return a;
}

void write_statistic(Lowering& low, const NodeView& n, const std::vector<AxisId>& axes, StageId s, size_t output,
                     const std::vector<Expr>& to) {
    StageId value = low.stage({.name = fmt::format("value{}", output),
                               .axes = axes,
                               .reads = {low.read(s)},
                               .body = [](Terms t) { return t[0]; },
                               .result = n.output(output).dtype});
    low.write(value, output, to);
}

OpDef native_layer_norm() {
    OpDef op;
    op.name = "native_layer_norm";
    op.signature = "(x, weight?, bias?) normalized_shape: exprs, eps: number = 1e-05, stat_dtype: dtype?";
    op.kind = graph::OpKind::normalise;
    op.summary = "aten.native_layer_norm: the result, mean and 1/std over the trailing dimensions. weight and bias may be of another float "
                 "dtype; stat_dtype: of mean and rstd (default x's).";
    op.infer = [](const NodeView& n) {
        TensorType x = n.input(0);
        check_domain(Domain::floating, x.dtype);
        std::vector<size_t> dims = trailing_dims(n);
        check_affine(n, 1, n.exprs("normalized_shape"));
        check_affine(n, 2, n.exprs("normalized_shape"));
        TensorType stat = graph::contiguous(stat_type(n), shape_without(x.shape, dims, true));
        return std::vector{graph::contiguous(x.dtype, x.shape), stat, stat};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        TensorType x = n.input(0);
        RowLoops rows = low.rows(x.shape, trailing_dims(n));
        Read element = low.read(0, rows.index);
        Statistics stat = statistics(low, rows, element, scalar::compute_type(x.dtype), rows.count, n.number("eps"));
        size_t lead = x.rank() - n.exprs("normalized_shape").size();
        Affine tail = affine(low, n, 1, 2, {rows.index.begin() + static_cast<std::ptrdiff_t>(lead), rows.index.end()});
        std::vector<Read> reads = {element, low.read(stat.mean), low.read(stat.rstd)};
        reads.insert(reads.end(), tail.reads.begin(), tail.reads.end());
        StageId value = low.stage({.name = "value",
                                   .axes = rows.all,
                                   .reads = reads,
                                   .body = [&](Terms t) { return tail(t, (t[0] - t[1]) * t[2], 3); },
                                   .result = x.dtype});
        low.write(value, 0, rows.index);
        write_statistic(low, n, rows.rows, stat.mean, 1, rows.row_index);
        write_statistic(low, n, rows.rows, stat.rstd, 2, rows.row_index);
        return low.finish();
    };
    op.samples = {"f32[3, 4], f32[4], f32[4]; normalized_shape=[4]", "bf16[2, 3, 4], bf16[4], bf16[4]; normalized_shape=[4], eps=0.001",
                  "f32[2, 3, 4]; normalized_shape=[3, 4]", "f32[2, 5], f32[5]; normalized_shape=[5]",
                  "bf16[2, 8], f32[8], f32[8]; normalized_shape=[8], stat_dtype=f32"};
    return op;
}

OpDef rms_norm() {
    OpDef op;
    op.name = "rms_norm";
    op.signature = "(x, weight?) normalized_shape: exprs, eps: number";
    op.kind = graph::OpKind::normalise;
    op.summary = "torch.nn.functional.rms_norm: x * rsqrt(mean(x^2) + eps) * weight over the trailing dimensions.";
    op.infer = [](const NodeView& n) {
        check_domain(Domain::floating, n.input(0).dtype);
        trailing_dims(n);
        check_affine(n, 1, n.exprs("normalized_shape"));
        return std::vector{graph::contiguous(n.input(0).dtype, n.input(0).shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        TensorType x = n.input(0);
        RowLoops rows = low.rows(x.shape, trailing_dims(n));
        Read element = low.read(0, rows.index);
        StageId squares = low.stage({.name = "squares",
                                     .axes = rows.rows,
                                     .reads = {element},
                                     .body = [](Terms t) { return t[0] * t[0]; },
                                     .reduce = rows.reduce,
                                     .combiner = scalar::sum(scalar::compute_type(x.dtype))});
        double eps = n.number("eps");
        StageId rstd = low.stage(
            {.name = "rstd", .axes = rows.rows, .reads = {low.read(squares), Lowering::index(rows.count)}, .body = [eps](Terms t) {
                 return rsqrt(t[0] / cast(t[0].type(), t[1]) + eps);
             }});
        size_t lead = x.rank() - n.exprs("normalized_shape").size();
        Affine tail = affine(low, n, 1, 2, {rows.index.begin() + static_cast<std::ptrdiff_t>(lead), rows.index.end()});
        std::vector<Read> reads = {element, low.read(rstd)};
        reads.insert(reads.end(), tail.reads.begin(), tail.reads.end());
        StageId value = low.stage({.name = "value",
                                   .axes = rows.all,
                                   .reads = reads,
                                   .body = [&](Terms t) { return tail(t, t[0] * t[1], 2); },
                                   .result = x.dtype});
        low.write(value, 0, rows.index);
        return low.finish();
    };
    op.samples = {"f32[3, 4], f32[4]; normalized_shape=[4], eps=1e-06", "bf16[2, 3, 4], bf16[4]; normalized_shape=[4], eps=1e-05",
                  "f32[2, 3, 4]; normalized_shape=[3, 4], eps=0.01"};
    return op;
}

// x [n, c, ...] in `groups` groups of channels; statistics [n, groups].
OpDef native_group_norm() {
    OpDef op;
    op.name = "native_group_norm";
    op.signature = "(x, weight?, bias?) groups: int, eps: number = 1e-05, stat_dtype: dtype?";
    op.kind = graph::OpKind::normalise;
    op.summary = "aten.native_group_norm: the result, mean and 1/std per group of channels.";
    op.infer = [](const NodeView& n) {
        TensorType x = n.input(0);
        check_domain(Domain::floating, x.dtype);
        CODETTA_USER_CHECK(x.rank() >= 2, "x needs at least 2 dimensions");
        int64_t groups = n.integer("groups");
        CODETTA_USER_CHECK(groups > 0 && n.facts().proves(sym::eq(sym::mod(x.shape[1], groups), 0)), "{} channels don't make {} groups",
                           sym::to_string(x.shape[1]), groups);
        check_affine(n, 1, {x.shape[1]});
        check_affine(n, 2, {x.shape[1]});
        TensorType stat = graph::contiguous(stat_type(n), {x.shape[0], Expr(groups)});
        return std::vector{graph::contiguous(x.dtype, x.shape), stat, stat};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        TensorType x = n.input(0);
        int64_t groups = n.integer("groups");
        Expr width = n.facts().simplify(sym::floor_div(x.shape[1], groups));
        std::vector<Expr> grouped = {x.shape[0], Expr(groups), width};
        grouped.insert(grouped.end(), x.shape.begin() + 2, x.shape.end());
        std::vector<size_t> dims;
        for (size_t d = 2; d < grouped.size(); ++d) dims.push_back(d);
        RowLoops rows = low.rows(grouped, dims);
        std::vector<Expr> from = {rows.index[0], rows.index[1] * width + rows.index[2]};
        from.insert(from.end(), rows.index.begin() + 3, rows.index.end());
        Read element = low.read(0, from);
        Statistics stat = statistics(low, rows, element, scalar::compute_type(x.dtype), rows.count, n.number("eps"));
        Affine tail = affine(low, n, 1, 2, {from[1]});
        std::vector<Read> reads = {element, low.read(stat.mean), low.read(stat.rstd)};
        reads.insert(reads.end(), tail.reads.begin(), tail.reads.end());
        StageId value = low.stage({.name = "value",
                                   .axes = rows.all,
                                   .reads = reads,
                                   .body = [&](Terms t) { return tail(t, (t[0] - t[1]) * t[2], 3); },
                                   .result = x.dtype});
        low.write(value, 0, from);
        std::vector<Expr> to(rows.row_index.begin(), rows.row_index.begin() + 2);
        write_statistic(low, n, rows.rows, stat.mean, 1, to);
        write_statistic(low, n, rows.rows, stat.rstd, 2, to);
        return low.finish();
    };
    op.samples = {"f32[2, 4, 3], f32[4], f32[4]; groups=2", "bf16[1, 6, 2, 2], bf16[6], bf16[6]; groups=3", "f32[2, 4]; groups=1, eps=0.1"};
    return op;
}

// Inference: with given statistics, so pointwise over [n, c, ...].
OpDef batch_norm() {
    OpDef op;
    op.name = "batch_norm";
    op.signature = "(x, mean, variance, weight?, bias?) eps: number = 1e-05";
    op.kind = graph::OpKind::pointwise;
    op.summary = "aten._native_batch_norm_legit_no_training: (x - mean) / sqrt(variance + eps) * weight + bias per channel.";
    op.infer = [](const NodeView& n) {
        TensorType x = n.input(0);
        check_domain(Domain::floating, x.dtype);
        CODETTA_USER_CHECK(x.rank() >= 2, "x needs at least 2 dimensions");
        for (size_t i = 1; i < 5; ++i) check_affine(n, i, {x.shape[1]});
        return std::vector{graph::contiguous(x.dtype, x.shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.input(0).shape);
        std::vector<Expr> channel = {loops.index[1]};
        Affine tail = affine(low, n, 3, 4, channel);
        std::vector<Read> reads = {low.read(0, loops.index), low.read(1, channel), low.read(2, channel)};
        reads.insert(reads.end(), tail.reads.begin(), tail.reads.end());
        double eps = n.number("eps");
        StageId value = low.stage({.name = "value",
                                   .axes = loops.axes,
                                   .reads = reads,
                                   .body =
                                       [&](Terms t) {
                                           const auto term = [&](size_t i) { return cast(t[0].type(), t[i]); };
                                           Term scale = 1.0 / sqrt(term(2) + eps), centred = t[0] - term(1);
                                           if (tail.weight) scale = scale * term(3);
                                           if (!tail.bias) return centred * scale;
                                           return apply(scalar::Prim::fma, {centred, scale, term(tail.weight ? 4 : 3)});
                                       },
                                   .result = n.output().dtype});
        low.write(value, 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[2, 3, 4], f32[3], f32[3] in 0.5..2, f32[3], f32[3]",
                  "bf16[2, 3, 2, 2], f32[3], f32[3] in 0.5..2, bf16[3], bf16[3]; eps=0.001", "f32[2, 1], f32[1], f32[1] in 0.5..2"};
    return op;
}

} // namespace

std::vector<OpDef> normalise_ops() { return {native_layer_norm(), rms_norm(), native_group_norm(), batch_norm()}; }

} // namespace codetta::ops
