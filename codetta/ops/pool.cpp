// Pools over the last two dimensions, and their backwards.
#include "codetta/base/error.h"
#include "codetta/ops/pointwise.h"

#include <fmt/format.h>

#include <cmath>

namespace codetta::ops {

namespace {

using scalar::DType;

struct Window {
    std::vector<int64_t> kernel, stride, padding, dilation;
    bool ceil_mode = false;
};

Window window_of(const NodeView& n) {
    Window w{n.integers("kernel"), n.integers("kernel"), {0, 0}, {1, 1}, n.flag("ceil_mode")};
    if (n.has("stride") && !n.integers("stride").empty()) w.stride = n.integers("stride");
    if (n.has("padding")) w.padding = n.integers("padding");
    if (n.has("dilation")) w.dilation = n.integers("dilation");
    for (std::vector<int64_t>* list : {&w.kernel, &w.stride, &w.padding, &w.dilation}) {
        if (list->size() == 1) list->push_back(list->front());
        CODETTA_USER_CHECK(list->size() == 2, "kernel, stride, padding and dilation need 2 entries each");
    }
    for (size_t d = 0; d < 2; ++d)
        CODETTA_USER_CHECK(w.kernel[d] > 0 && w.stride[d] > 0 && w.dilation[d] > 0 && w.padding[d] >= 0,
                           "kernel, stride and dilation must be positive, padding not negative");
    return w;
}

// at::pooling_output_shape: in ceil mode the last window starts inside the input or its left padding.
Expr pooled_size(const Expr& in, const Window& w, size_t d, const sym::Facts& facts) {
    Expr reach = in + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1;
    if (!w.ceil_mode) return facts.simplify(sym::floor_div(reach, w.stride[d]) + 1);
    Expr out = facts.simplify(sym::floor_div(reach + w.stride[d] - 1, w.stride[d]) + 1);
    Expr last_start = (out - 1) * w.stride[d];
    if (facts.proves(sym::lt(last_start, in + w.padding[d]))) return out;
    if (facts.proves(sym::le(in + w.padding[d], last_start))) return out - 1;
    throw base::UserError("ceil_mode under a symbolic size is not supported; mark the size static");
}

std::vector<Expr> pooled_shape(const NodeView& n, const std::vector<Expr>& x, const Window& w) {
    CODETTA_USER_CHECK(x.size() == 3 || x.size() == 4, "x must have 3 or 4 dimensions, not {}", x.size());
    std::vector<Expr> shape = x;
    for (size_t d = 0; d < 2; ++d) shape[x.size() - 2 + d] = pooled_size(x[x.size() - 2 + d], w, d, n.facts());
    return shape;
}

// The element that output place `out` sees at window place `r`; outside the input the read gives `fill`.
Read window_read(const Lowering& low, const std::vector<Expr>& x, const std::vector<Expr>& out, const std::vector<Expr>& r, const Window& w,
                 double fill) {
    std::vector<Expr> at = out;
    std::vector<sym::Condition> guard;
    for (size_t d = 0; d < 2; ++d) {
        Expr& place = at[at.size() - 2 + d];
        place = place * w.stride[d] + r[d] * w.dilation[d] - w.padding[d];
        if (w.padding[d] > 0) guard.push_back(sym::le(0, place));
        if (w.padding[d] > 0 || w.ceil_mode) guard.push_back(sym::lt(place, x[x.size() - 2 + d]));
    }
    return low.read(0, at, guard, fill);
}

OpDef max_pool2d_with_indices() {
    OpDef op;
    op.name = "max_pool2d_with_indices";
    op.kind = graph::OpKind::reduce;
    op.signature = "(x) kernel: exprs, stride: exprs?, padding: exprs?, dilation: exprs?, ceil_mode: bool = false";
    op.summary = "aten.max_pool2d_with_indices: the maximum of each window and its place h * width + w (i64).";
    op.infer = [](const NodeView& n) {
        check_domain(Domain::floating, n.input(0).dtype);
        std::vector<Expr> shape = pooled_shape(n, n.input(0).shape, window_of(n));
        return std::vector{graph::contiguous(n.input(0).dtype, shape), graph::contiguous(DType::i64, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Window w = window_of(n);
        TensorType x = n.input(0);
        DType t = scalar::compute_type(x.dtype);
        Loops o = low.loops(n.output().shape);
        Loops r = low.reduced(std::vector<Expr>{w.kernel[0], w.kernel[1]});
        Read element = window_read(low, x.shape, o.index, r.index, w, -HUGE_VAL);
        auto over_window = [&](std::string name, scalar::Combiner combiner) {
            return low.stage({.name = std::move(name),
                              .axes = o.axes,
                              .reads = {element},
                              .body = [](Terms v) { return v[0]; },
                              .reduce = r.axes,
                              .combiner = std::move(combiner)});
        };
        StageId best = over_window("best", scalar::maximum(t)), place = over_window("place", scalar::argmax(t));
        StageId value = best;
        if (t != x.dtype)
            value = low.stage(
                {.name = "value", .axes = o.axes, .reads = {low.read(best)}, .body = [](Terms v) { return v[0]; }, .result = x.dtype});
        low.write(value, 0, o.index);
        // From the place in the window to the place in the input.
        size_t h = x.rank() - 2;
        Expr row = o.index[h] * w.stride[0] - w.padding[0], column = o.index[h + 1] * w.stride[1] - w.padding[1];
        StageId index = low.stage(
            {.name = "flat",
             .axes = o.axes,
             .reads = {low.read(place), Lowering::index(row * x.shape[h + 1] + column), Lowering::index(x.shape[h + 1])},
             .body = [&](Terms v) {
                 Term width = constant(v[0], static_cast<double>(w.kernel[1]));
                 Term in_row = apply(scalar::Prim::floor_div, {v[0], width}), in_column = apply(scalar::Prim::mod, {v[0], width});
                 return v[1] + in_row * static_cast<double>(w.dilation[0]) * v[2] + in_column * static_cast<double>(w.dilation[1]);
             }});
        low.write(index, 1, o.index);
        return low.finish();
    };
    op.samples = {"f32[2, 3, 6, 6]; kernel=[3, 3], stride=[2, 2], padding=[1, 1]", "bf16[1, 2, 5, 4]; kernel=[2, 2]",
                  "f32[2, 5, 7]; kernel=[2, 3], stride=[1, 2], dilation=[2, 1]", "f32[1, 1, 5, 5]; kernel=[2, 2], ceil_mode=true"};
    return op;
}

OpDef max_pool2d_backward() {
    OpDef op;
    op.name = "max_pool2d_with_indices_backward";
    op.kind = graph::OpKind::index;
    op.signature = "(grad, indices) size: exprs";
    op.summary =
        "aten.max_pool2d_with_indices_backward: zeros of the pooled tensor's shape plus grad at the indices; size: its height and width.";
    op.infer = [](const NodeView& n) {
        TensorType grad = n.input(0);
        CODETTA_USER_CHECK(n.input(1).shape == grad.shape && n.input(1).dtype == DType::i64, "indices must be i64 of grad's shape");
        CODETTA_USER_CHECK(n.exprs("size").size() == 2 && grad.rank() >= 3, "size needs 2 entries and grad 3 or 4 dimensions");
        std::vector<Expr> shape(grad.shape.begin(), grad.shape.end() - 2);
        for (const Expr& e : n.exprs("size")) shape.push_back(e);
        return std::vector{graph::contiguous(grad.dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        DType t = n.output().dtype;
        Loops out = low.loops(n.output().shape);
        low.write(low.stage({.name = "base", .axes = out.axes, .constant = [t](scalar::Builder& b) { return Term{&b, b.constant(t, 0)}; }}),
                  0, out.index);
        Loops o = low.loops(n.input(0).shape);
        std::vector<Expr> to(o.index.begin(), o.index.end() - 2), size = n.exprs("size");
        to.push_back(sym::floor_div(loaded(0), positive(size[1], n.facts())));
        to.push_back(sym::mod(loaded(0), positive(size[1], n.facts())));
        StageId part = low.stage({.name = "part",
                                  .axes = o.axes,
                                  .reads = {low.read(1, o.index), low.read(0, o.index)},
                                  .body = [](Terms v) { return v[1]; },
                                  .raw = true});
        low.write(part, 0, to, {}, {{loaded(0), 0, size[0] * size[1]}}, true);
        return low.finish();
    };
    op.samples = {"f32[2, 3, 2, 2], i64[2, 3, 2, 2] in 0..16; size=[4, 4]"};
    return op;
}

// How many elements the window of output place (row, column) divides by.
Expr window_count(const NodeView& n, const std::vector<Expr>& x, const Expr& row, const Expr& column, const Window& w) {
    if (n.has("divisor_override")) return n.integer("divisor_override");
    Expr count = 1;
    bool padded = n.flag("count_include_pad");
    for (size_t d = 0; d < 2; ++d) {
        const Expr& size = x[x.size() - 2 + d];
        Expr start = (d == 0 ? row : column) * w.stride[d] - w.padding[d];
        bool whole = !w.ceil_mode && (padded || w.padding[d] == 0);
        if (whole) {
            count = count * w.kernel[d];
            continue;
        }
        Expr end = sym::min(start + w.kernel[d], size + w.padding[d]);
        count = count * (padded ? end - start : sym::min(end, size) - sym::max(start, 0));
    }
    return count;
}

const std::string kAverage =
    "kernel: exprs, stride: exprs?, padding: exprs?, ceil_mode: bool = false, count_include_pad: bool = true, divisor_override: int?";

OpDef avg_pool2d() {
    OpDef op;
    op.name = "avg_pool2d";
    op.kind = graph::OpKind::reduce;
    op.signature = "(x) " + kAverage;
    op.summary = "torch.nn.functional.avg_pool2d.";
    op.infer = [](const NodeView& n) {
        check_domain(Domain::floating, n.input(0).dtype);
        return std::vector{graph::contiguous(n.input(0).dtype, pooled_shape(n, n.input(0).shape, window_of(n)))};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Window w = window_of(n);
        TensorType x = n.input(0);
        Loops o = low.loops(n.output().shape);
        Loops r = low.reduced(std::vector<Expr>{w.kernel[0], w.kernel[1]});
        StageId total = low.stage({.name = "total",
                                   .axes = o.axes,
                                   .reads = {window_read(low, x.shape, o.index, r.index, w, 0)},
                                   .body = [](Terms v) { return v[0]; },
                                   .reduce = r.axes,
                                   .combiner = scalar::sum(scalar::compute_type(x.dtype))});
        Expr count = window_count(n, x.shape, o.index[x.rank() - 2], o.index[x.rank() - 1], w);
        StageId value = low.stage({.name = "value",
                                   .axes = o.axes,
                                   .reads = {low.read(total), Lowering::index(count)},
                                   .body = [](Terms v) { return v[0] / cast(v[0].type(), v[1]); },
                                   .result = x.dtype});
        low.write(value, 0, o.index);
        return low.finish();
    };
    op.samples = {"f32[2, 3, 6, 6]; kernel=[2, 2]", "bf16[1, 2, 5, 5]; kernel=[3, 3], stride=[2, 2], padding=[1, 1]",
                  "f32[1, 2, 5, 5]; kernel=[3, 3], stride=[2, 2], padding=[1, 1], count_include_pad=false",
                  "f32[1, 1, 6, 5]; kernel=[3, 2], stride=[2, 2], ceil_mode=true", "f32[2, 4, 4]; kernel=[2, 2], divisor_override=3"};
    return op;
}

// Gathered: dx[h, w] = sum over the windows that see it of grad / count.
OpDef avg_pool2d_backward() {
    OpDef op;
    op.name = "avg_pool2d_backward";
    op.kind = graph::OpKind::reduce;
    op.signature = "(grad, x) " + kAverage;
    op.summary = "aten.avg_pool2d_backward; only x's shape matters.";
    op.infer = [](const NodeView& n) {
        check_domain(Domain::floating, common_dtype(n));
        TensorType x = n.input(1);
        std::vector<Expr> want = pooled_shape(n, x.shape, window_of(n));
        CODETTA_USER_CHECK(n.input(0).shape == want, "grad is {}, not {}", shape_text(n.input(0).shape), shape_text(want));
        return std::vector{graph::contiguous(x.dtype, x.shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Window w = window_of(n);
        TensorType x = n.input(1), grad = n.input(0);
        Loops i = low.loops(x.shape);
        Loops r = low.reduced(std::vector<Expr>{w.kernel[0], w.kernel[1]});
        std::vector<Expr> at = i.index;
        std::vector<sym::Condition> guard;
        size_t h = x.rank() - 2;
        for (size_t d = 0; d < 2; ++d) {
            Expr scaled = i.index[h + d] + w.padding[d] - r.index[d];
            at[h + d] = w.stride[d] == 1 ? scaled : sym::floor_div(scaled, w.stride[d]);
            if (w.stride[d] != 1) guard.push_back(sym::eq(sym::mod(scaled, w.stride[d]), 0));
            guard.push_back(sym::le(0, at[h + d]));
            guard.push_back(sym::lt(at[h + d], grad.shape[h + d]));
        }
        Expr count = window_count(n, x.shape, at[h], at[h + 1], w);
        StageId total =
            low.stage({.name = "total",
                       .axes = i.axes,
                       .reads = {low.read(0, at, guard), Lowering::index(sym::max(1, count))}, // beyond the guard the count means nothing
                       .body = [](Terms v) { return v[0] / cast(v[0].type(), v[1]); },
                       .reduce = r.axes,
                       .combiner = scalar::sum(scalar::compute_type(x.dtype))});
        StageId value = low.stage(
            {.name = "value", .axes = i.axes, .reads = {low.read(total)}, .body = [](Terms v) { return v[0]; }, .result = x.dtype});
        low.write(value, 0, i.index);
        return low.finish();
    };
    op.samples = {"f32[2, 3, 3, 3], f32[2, 3, 6, 6]; kernel=[2, 2]",
                  "f32[1, 2, 3, 3], f32[1, 2, 5, 5]; kernel=[3, 3], stride=[2, 2], padding=[1, 1], count_include_pad=false"};
    return op;
}

// Window of output place o of `out` places over `in`: floor(o * in / out) .. ceil((o + 1) * in / out).
// @pre out is positive
Expr adaptive_start(const Expr& o, const Expr& in, const Expr& out) { return sym::floor_div(o * in, out); }
Expr adaptive_end(const Expr& o, const Expr& in, const Expr& out) { return sym::floor_div((o + 1) * in + out - 1, out); }

OpDef adaptive_avg_pool2d() {
    OpDef op;
    op.name = "adaptive_avg_pool2d";
    op.kind = graph::OpKind::reduce;
    op.signature = "(x) size: exprs";
    op.summary = "aten._adaptive_avg_pool2d.";
    op.infer = [](const NodeView& n) {
        check_domain(Domain::floating, n.input(0).dtype);
        CODETTA_USER_CHECK(n.exprs("size").size() == 2 && n.input(0).rank() >= 3, "size needs 2 entries and x 3 or 4 dimensions");
        std::vector<Expr> shape = n.input(0).shape;
        shape.resize(shape.size() - 2);
        for (const Expr& e : n.exprs("size")) shape.push_back(e);
        return std::vector{graph::contiguous(n.input(0).dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        TensorType x = n.input(0);
        Loops o = low.loops(n.output().shape);
        size_t h = x.rank() - 2;
        std::vector<Expr> size = n.exprs("size"), widest;
        for (Expr& e : size) e = positive(e, n.facts());
        std::vector<bool> even;
        for (size_t d = 0; d < 2; ++d) {
            even.push_back(n.facts().proves(sym::eq(sym::mod(x.shape[h + d], size[d]), 0)));
            widest.push_back(
                n.facts().simplify(even[d] ? sym::floor_div(x.shape[h + d], size[d]) : sym::ceil_div(x.shape[h + d], size[d]) + 1));
        }
        Loops r = low.reduced(widest);
        std::vector<Expr> at = o.index;
        std::vector<sym::Condition> guard;
        Expr count = 1;
        for (size_t d = 0; d < 2; ++d) {
            const Expr& in = x.shape[h + d];
            Expr start = even[d] ? o.index[h + d] * widest[d] : adaptive_start(o.index[h + d], in, size[d]);
            at[h + d] = start + r.index[d];
            if (!even[d]) guard.push_back(sym::lt(at[h + d], adaptive_end(o.index[h + d], in, size[d])));
            count = count * (even[d] ? widest[d] : adaptive_end(o.index[h + d], in, size[d]) - start);
        }
        StageId total = low.stage({.name = "total",
                                   .axes = o.axes,
                                   .reads = {low.read(0, at, guard)},
                                   .body = [](Terms v) { return v[0]; },
                                   .reduce = r.axes,
                                   .combiner = scalar::sum(scalar::compute_type(x.dtype))});
        StageId value = low.stage({.name = "value",
                                   .axes = o.axes,
                                   .reads = {low.read(total), Lowering::index(count)},
                                   .body = [](Terms v) { return v[0] / cast(v[0].type(), v[1]); },
                                   .result = x.dtype});
        low.write(value, 0, o.index);
        return low.finish();
    };
    op.samples = {"f32[2, 3, 6, 4]; size=[3, 2]", "bf16[1, 2, 7, 5]; size=[3, 2]", "f32[2, 4, 4]; size=[1, 1]"};
    return op;
}

OpDef adaptive_avg_pool2d_backward() {
    OpDef op;
    op.name = "adaptive_avg_pool2d_backward";
    op.kind = graph::OpKind::reduce;
    op.signature = "(grad, x)";
    op.summary = "aten._adaptive_avg_pool2d_backward; only x's shape matters.";
    op.infer = [](const NodeView& n) {
        check_domain(Domain::floating, common_dtype(n));
        TensorType grad = n.input(0), x = n.input(1);
        CODETTA_USER_CHECK(x.rank() >= 3 && grad.rank() == x.rank(), "grad and x need equally many dimensions, at least 3");
        return std::vector{graph::contiguous(x.dtype, x.shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        TensorType grad = n.input(0), x = n.input(1);
        Loops i = low.loops(x.shape);
        size_t h = x.rank() - 2;
        Loops o = low.reduced(std::vector{grad.shape[h], grad.shape[h + 1]});
        std::vector<Expr> at = i.index;
        std::vector<sym::Condition> guard;
        Expr count = 1;
        for (size_t d = 0; d < 2; ++d) {
            const Expr in = x.shape[h + d], out = positive(grad.shape[h + d], n.facts());
            Expr start = adaptive_start(o.index[d], in, out), end = adaptive_end(o.index[d], in, out);
            at[h + d] = o.index[d];
            guard.push_back(sym::le(start, i.index[h + d]));
            guard.push_back(sym::lt(i.index[h + d], end));
            count = count * (end - start);
        }
        StageId total = low.stage({.name = "total",
                                   .axes = i.axes,
                                   .reads = {low.read(0, at, guard), Lowering::index(count)},
                                   .body = [](Terms v) { return v[0] / cast(v[0].type(), v[1]); },
                                   .reduce = o.axes,
                                   .combiner = scalar::sum(scalar::compute_type(x.dtype))});
        StageId value = low.stage(
            {.name = "value", .axes = i.axes, .reads = {low.read(total)}, .body = [](Terms v) { return v[0]; }, .result = x.dtype});
        low.write(value, 0, i.index);
        return low.finish();
    };
    op.samples = {"f32[2, 3, 3, 2], f32[2, 3, 6, 4]", "f32[1, 2, 3, 2], f32[1, 2, 7, 5]"};
    return op;
}

} // namespace

std::vector<OpDef> pool_ops() {
    return {max_pool2d_with_indices(), max_pool2d_backward(), avg_pool2d(),
            avg_pool2d_backward(),     adaptive_avg_pool2d(), adaptive_avg_pool2d_backward()};
}

} // namespace codetta::ops
