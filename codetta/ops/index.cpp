// Gathers: results read at places that data say.
#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/indexing.h"
#include "codetta/problem/problem.h"
#include "codetta/sym/condition.h"

namespace codetta::ops {

namespace {

Term last(Terms t) { return t.back(); }

OpDef embedding() {
    OpDef op;
    op.name = "embedding";
    op.signature = "(weight, indices)";
    op.kind = graph::OpKind::index;
    op.summary = "aten.embedding: rows of weight.";
    op.infer = [](const NodeView& n) {
        check_index(n.input(1));
        CODETTA_USER_CHECK(n.input(0).rank() == 2, "weight must have 2 dimensions, not {}", n.input(0).rank());
        std::vector<Expr> shape = n.input(1).shape;
        shape.push_back(n.input(0).shape[1]);
        return std::vector{graph::contiguous(n.input(0).dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        std::vector<Expr> at(loops.index.begin(), loops.index.end() - 1);
        StageId s = low.stage(
            {.name = "value",
             .axes = loops.axes,
             .reads = {low.read(1, at), low.read(0, {loaded(0), loops.index.back()}, {}, 0, {{loaded(0), 0, n.input(0).shape[0]}})},
             .body = last,
             .raw = true});
        low.write(s, 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[5, 3], i64[2, 4] in 0..5", "bf16[7, 2], i32[3] in 0..7", "f16[4, 1], i64[] in 0..4"};
    return op;
}

OpDef embedding_dense_backward() {
    OpDef op;
    op.name = "embedding_dense_backward";
    op.signature = "(grad, indices) num_weights: expr, padding_idx: int = -1";
    op.kind = graph::OpKind::index;
    op.summary = "aten.embedding_dense_backward: zeros plus grad's rows at the indices; those of padding_idx are left out.";
    op.infer = [](const NodeView& n) {
        check_index(n.input(1));
        CODETTA_USER_CHECK(n.input(0).rank() == n.input(1).rank() + 1, "grad needs one dimension more than indices");
        return std::vector{graph::contiguous(n.input(0).dtype, {n.expr("num_weights"), n.input(0).shape.back()})};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops out = low.loops(n.output().shape);
        scalar::DType t = n.output().dtype;
        StageId zero =
            low.stage({.name = "base", .axes = out.axes, .constant = [t](scalar::Builder& b) { return Term{&b, b.constant(t, 0)}; }});
        low.write(zero, 0, out.index);
        Loops loops = low.loops(n.input(0).shape);
        std::vector<Expr> at(loops.index.begin(), loops.index.end() - 1);
        std::vector<sym::Condition> guard;
        if (n.integer("padding_idx") >= 0) guard.push_back(sym::ne(loaded(0), n.integer("padding_idx")));
        StageId s = low.stage(
            {.name = "part", .axes = loops.axes, .reads = {low.read(1, at), low.read(0, loops.index)}, .body = last, .raw = true});
        low.write(s, 0, {loaded(0), loops.index.back()}, guard, {{loaded(0), 0, n.expr("num_weights")}}, true);
        return low.finish();
    };
    op.samples = {"f32[2, 4, 3], i64[2, 4] in 0..5; num_weights=5", "f32[6, 2], i64[6] in 0..3; num_weights=3, padding_idx=1",
                  "bf16[3, 2], i64[3] in 0..4; num_weights=4"};
    return op;
}

OpDef gather() {
    OpDef op;
    op.name = "gather";
    op.signature = "(x, indices) dim: int";
    op.kind = graph::OpKind::index;
    op.summary = "torch.gather.";
    op.infer = [](const NodeView& n) {
        check_index(n.input(1));
        dimension(n.integer("dim"), n.input(0).rank());
        CODETTA_USER_CHECK(n.input(0).rank() == n.input(1).rank(), "the index has {} dimensions, not {}", n.input(1).rank(),
                           n.input(0).rank());
        fits_within(n.input(1), n.input(0), dimension(n.integer("dim"), n.input(0).rank()), n.facts());
        return std::vector{graph::contiguous(n.input(0).dtype, n.input(1).shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        std::vector<Expr> from = loops.index;
        std::vector<problem::Check> checks;
        if (!from.empty()) {
            size_t dim = dimension(n.integer("dim"), from.size());
            from[dim] = loaded(0);
            checks = fits_within(n.input(1), n.input(0), dim, n.facts());
            checks.push_back({loaded(0), 0, n.input(0).shape[dim]});
        }
        StageId s = low.stage({.name = "value",
                               .axes = loops.axes,
                               .reads = {low.read(1, loops.index), low.read(0, from, {}, 0, checks)},
                               .body = last,
                               .raw = true});
        low.write(s, 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[3, 4], i64[2, 4] in 0..3; dim=0", "bf16[2, 5], i64[2, 2] in 0..5; dim=-1", "i64[4], i64[6] in 0..4; dim=0"};
    return op;
}

OpDef index_select() {
    OpDef op;
    op.name = "index_select";
    op.signature = "(x, indices) dim: int";
    op.kind = graph::OpKind::index;
    op.summary = "torch.index_select.";
    op.infer = [](const NodeView& n) {
        check_index(n.input(1));
        CODETTA_USER_CHECK(n.input(1).rank() == 1 && n.input(0).rank() >= 1, "x needs a dimension and the index exactly one");
        std::vector<Expr> shape = n.input(0).shape;
        shape[dimension(n.integer("dim"), shape.size())] = n.input(1).shape[0];
        return std::vector{graph::contiguous(n.input(0).dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        size_t dim = dimension(n.integer("dim"), loops.index.size());
        std::vector<Expr> from = loops.index;
        from[dim] = loaded(0);
        StageId s =
            low.stage({.name = "value",
                       .axes = loops.axes,
                       .reads = {low.read(1, {loops.index[dim]}), low.read(0, from, {}, 0, {{loaded(0), 0, n.input(0).shape[dim]}})},
                       .body = last,
                       .raw = true});
        low.write(s, 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[4, 3], i64[2] in 0..4; dim=0", "bf16[2, 5], i32[3] in 0..5; dim=1"};
    return op;
}

OpDef index() {
    OpDef op;
    op.name = "index";
    op.signature = "(x, *indices?)";
    op.kind = graph::OpKind::index;
    op.summary = "aten.index.Tensor: x[indices]; an absent index means the whole dimension; negative indices count from the back.";
    op.infer = [](const NodeView& n) { return std::vector{graph::contiguous(n.input(0).dtype, Indexing(n, 1).shape())}; };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Indexing indexing(n, 1);
        Loops loops = low.loops(n.output().shape);
        std::vector<Read> reads = indexing.reads(low, loops.index);
        reads.push_back(low.read(0, indexing.coordinates(loops.index), {}, 0, indexing.checks()));
        low.write(low.stage({.name = "value", .axes = loops.axes, .reads = reads, .body = last, .raw = true}), 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[4, 3], i64[5] in 0..4", "f32[3, 4, 2], i64[2, 1] in -3..3, i64[3] in 0..4", "bf16[3, 4], _, i64[2, 2] in -4..4",
                  "i64[2, 3, 4], i64[2] in 0..2, _, i64[2] in 0..4", "f32[2, 3, 4, 2], _, i64[2] in 0..3, i64[] in 0..4"};
    return op;
}

} // namespace

std::vector<OpDef> index_ops() { return {embedding(), embedding_dense_backward(), gather(), index_select(), index()}; }

} // namespace codetta::ops
