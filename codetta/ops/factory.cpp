// Values made of nothing: constants and functions of the index.
#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/pointwise.h"
#include "codetta/sym/expr.h"

namespace codetta::ops {

namespace {

using scalar::DType;

bool is_symbolic(const graph::Attribute& a) {
    const auto* e = std::get_if<sym::Expr>(&a);
    return e && !e->constant();
}

// The value as torch stores it: the rounding of a float was asked for.
Term stored(scalar::Builder& b, const NodeView& n, DType t) {
    if (scalar::is_float(t)) return cast(t, {&b, b.constant(scalar::compute_type(t), n.number("value"))});
    bool fraction = std::holds_alternative<double>(n.attribute("value"));
    return {&b, b.integer(t, fraction ? static_cast<int64_t>(n.number("value")) : n.integer("value"))};
}

OpDef full() {
    OpDef op;
    op.name = "full";
    op.signature = "() shape: exprs = [], value: number, dtype: dtype";
    op.kind = graph::OpKind::factory;
    op.summary = "torch.full, zeros, ones, scalar_tensor; value may be an expression of sizes.";
    op.infer = [](const NodeView& n) { return std::vector{graph::contiguous(n.dtype("dtype"), n.exprs("shape"))}; };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        DType t = n.output().dtype;
        StageSpec s{.name = "value", .axes = loops.axes, .raw = true};
        if (is_symbolic(n.attribute("value"))) {
            s.reads = {Lowering::index(n.expr("value"))};
            s.body = [&](Terms x) { return cast(t, x[0]); };
        } else {
            s.constant = [&](scalar::Builder& b) { return stored(b, n, t); };
        }
        low.write(low.stage(std::move(s)), 0, loops.index);
        return low.finish();
    };
    op.samples = {"; shape=[2, 3], value=1.5, dtype=f32", "; shape=[2], value=0.3, dtype=bf16", "; value=-7, dtype=i64",
                  "; shape=[3], value=1, dtype=bool",     "; shape=[0, 2], value=0, dtype=f32", "; value=-inf, dtype=f32"};
    return op;
}

// start + step * i, as torch computes it: integers exactly, floats in f64.
OpDef arange() {
    OpDef op;
    op.name = "arange";
    op.signature = "() length: expr, start: number = 0, step: number = 1, dtype: dtype = i64";
    op.kind = graph::OpKind::factory;
    op.summary = "prims.iota and torch.arange: start + step * i for i in 0..length.";
    op.infer = [](const NodeView& n) {
        CODETTA_USER_CHECK(n.dtype("dtype") != DType::boolean, "arange gives numbers, not bool");
        return std::vector{graph::contiguous(n.dtype("dtype"), {n.expr("length")})};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        DType t = n.output().dtype;
        bool fraction = std::holds_alternative<double>(n.attribute("start")) || std::holds_alternative<double>(n.attribute("step"));
        StageSpec s{.name = "value", .axes = loops.axes, .raw = true};
        if (fraction) {
            s.reads = {Lowering::index(loops.index[0])};
            s.body = [&](Terms x) { return cast(t, n.number("start") + n.number("step") * cast(DType::f64, x[0])); };
        } else {
            s.reads = {Lowering::index(n.expr("start") + n.expr("step") * loops.index[0])};
            s.body = [&](Terms x) { return cast(t, x[0]); };
        }
        low.write(low.stage(std::move(s)), 0, loops.index);
        return low.finish();
    };
    op.samples = {"; length=5",
                  "; length=4, start=3, step=-2",
                  "; length=3, start=0.5, step=0.25, dtype=f32",
                  "; length=3, dtype=f32",
                  "; length=2, dtype=bf16",
                  "; length=0",
                  "; length=1, start=7, dtype=i32"};
    return op;
}

} // namespace

std::vector<OpDef> factory_ops() { return {full(), arange()}; }

} // namespace codetta::ops
