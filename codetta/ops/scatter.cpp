// Updated copies: a stage `base` copies operand 0 to `out`, a second stage writes parts of it. With `into`, `out` is operand 0 and `base`
// goes away.
#include <cmath>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/access.h"
#include "codetta/ops/indexing.h"

namespace codetta::ops {

namespace {

void write_base(Lowering& low, const NodeView& n) {
    Loops loops = low.loops(n.input(0).shape);
    low.write(low.stage({.name = "base", .axes = loops.axes, .reads = {low.read(0, loops.index)}}), 0, loops.index);
}

std::vector<TensorType> like_first(const NodeView& n) { return {graph::contiguous(n.input(0).dtype, n.input(0).shape)}; }

void check_same_dtype(const NodeView& n, size_t i) {
    CODETTA_USER_CHECK(n.input(i).dtype == n.input(0).dtype, "operand {} is {}, not {}; cast it first", i,
                       scalar::to_string(n.input(i).dtype), scalar::to_string(n.input(0).dtype));
}

OpDef updated_copy(std::string name, std::string signature, std::string summary, std::function<void(const NodeView&)> check,
                   std::function<void(Lowering&, const NodeView&)> update, std::vector<std::string> samples,
                   graph::OpKind kind = graph::OpKind::index) {
    OpDef op;
    op.name = std::move(name);
    op.signature = std::move(signature);
    op.summary = std::move(summary);
    op.kind = kind;
    op.samples = std::move(samples);
    op.infer = [check](const NodeView& n) {
        check(n);
        return like_first(n);
    };
    op.lower = [update](const NodeView& n) {
        Lowering low(n);
        write_base(low, n);
        update(low, n);
        return low.finish();
    };
    return op;
}

// --- writes at places that attributes say

void check_source(const NodeView& n, const std::vector<Expr>& want) {
    check_same_dtype(n, 1);
    CODETTA_USER_CHECK(n.input(1).shape == want, "source is {}, not {}", shape_text(n.input(1).shape), shape_text(want));
}

OpDef slice_scatter() {
    return updated_copy(
        "slice_scatter", "(x, source) dim: int = 0, start: expr = 0, end: expr?, step: expr = 1",
        "aten.slice_scatter: x with the slice replaced by source.",
        [](const NodeView& n) {
            std::vector<Expr> want = n.input(0).shape;
            Slice s = slice_of(n, want);
            want[s.dim] = s.length;
            if (!may_agree(n.input(1).shape, want, n.facts())) check_source(n, want);
            check_same_dtype(n, 1);
        },
        [](Lowering& low, const NodeView& n) {
            Slice s = slice_of(n, n.input(0).shape);
            Loops loops = low.loops(n.input(1).shape);
            std::vector<Expr> to = loops.index;
            to[s.dim] = s.start + s.step * to[s.dim];
            std::vector<sym::Condition> guard;
            if (!n.facts().proves(sym::eq(n.input(1).shape[s.dim], s.length))) guard.push_back(sym::lt(to[s.dim], s.end));
            low.write(low.stage({.name = "part", .axes = loops.axes, .reads = {low.read(1, loops.index)}}), 0, to, guard);
        },
        {"f32[5, 3], f32[2, 3]; start=1, end=3", "bf16[2, 6], bf16[2, 3]; dim=1, step=2", "i64[4], i64[4]"}, graph::OpKind::move);
}

OpDef select_scatter() {
    return updated_copy(
        "select_scatter", "(x, source) dim: int, index: expr", "aten.select_scatter: x with one index of a dimension replaced by source.",
        [](const NodeView& n) {
            CODETTA_USER_CHECK(n.input(0).rank() > 0, "a 0-d tensor has no dimension to select from");
            check_source(n, shape_without(n.input(0).shape, {dimension(n.integer("dim"), n.input(0).rank())}, false));
        },
        [](Lowering& low, const NodeView& n) {
            size_t dim = dimension(n.integer("dim"), n.input(0).rank());
            Loops loops = low.loops(n.input(1).shape);
            std::vector<Expr> to = loops.index;
            const Selected at = select_index(n, n.input(0).shape[dim]);
            to.insert(to.begin() + static_cast<std::ptrdiff_t>(dim), at.index);
            low.write(low.stage({.name = "part", .axes = loops.axes, .reads = {low.read(1, loops.index)}}), 0, to, {}, at.checks);
        },
        {"f32[3, 4], f32[4]; dim=0, index=1", "bf16[3, 4], bf16[3]; dim=-1, index=-1"}, graph::OpKind::move);
}

OpDef as_strided_scatter() {
    return updated_copy(
        "as_strided_scatter", "(x, source) size: exprs, stride: exprs, offset: expr = 0, base_strides: exprs?",
        "aten.as_strided_scatter: x with the strided part of its memory replaced by source.",
        [](const NodeView& n) {
            CODETTA_USER_CHECK(n.exprs("size").size() == n.exprs("stride").size(), "size and stride need equally many entries");
            check_source(n, n.exprs("size"));
        },
        [](Lowering& low, const NodeView& n) {
            Loops loops = low.loops(n.input(1).shape);
            low.write(low.stage({.name = "part", .axes = loops.axes, .reads = {low.read(1, loops.index)}}), 0,
                      strided_access(n, loops.index).coordinates);
        },
        {"f32[3, 4], f32[2, 2]; size=[2, 2], stride=[4, 1], offset=1"}, graph::OpKind::move);
}

// --- writes at places that data say: read 0 of the part is the index

Term second(Terms t) { return t[1]; }

// index: 1-d (or 0-d) along `dim`; source: x's shape with that dimension replaced.
void check_index_along(const NodeView& n) {
    check_index(n.input(1));
    CODETTA_USER_CHECK(n.input(1).rank() <= 1, "the index must have one dimension, not {}", n.input(1).rank());
    std::vector<Expr> want = n.input(0).shape;
    if (!want.empty()) want[dimension(n.integer("dim"), want.size())] = element_count(n.input(1));
    check_same_dtype(n, 2);
    CODETTA_USER_CHECK(n.input(2).shape == want, "source is {}, not {}", shape_text(n.input(2).shape), shape_text(want));
}

void update_along(Lowering& low, const NodeView& n, bool accumulate, double alpha) {
    Loops loops = low.loops(n.input(2).shape);
    std::vector<Expr> to = loops.index;
    std::vector<problem::Check> checks;
    std::vector<Expr> at;
    if (!to.empty()) {
        size_t dim = dimension(n.integer("dim"), to.size());
        if (n.input(1).rank() == 1) at = {to[dim]};
        to[dim] = loaded(0);
        checks = {{loaded(0), 0, n.input(0).shape[dim]}};
    } else if (n.input(1).rank() == 1) {
        at = {0};
    }
    StageSpec s{.name = "part", .axes = loops.axes, .reads = {low.read(1, at), low.read(2, loops.index)}, .body = second, .raw = true};
    if (alpha != 1) {
        s.body = [alpha](Terms t) { return t[1] * alpha; };
        s.result = n.input(0).dtype;
        s.raw = false;
    }
    low.write(low.stage(std::move(s)), 0, to, {}, checks, accumulate);
}

OpDef index_copy() {
    return updated_copy("index_copy", "(x, indices, source) dim: int",
                        "torch.index_copy: x with source written at the indices of a dimension.", check_index_along,
                        [](Lowering& low, const NodeView& n) { update_along(low, n, false, 1); },
                        {"f32[5, 3], i64[2] in 0..5, f32[2, 3]; dim=0", "bf16[2, 4, 3], i64[1] in 0..4, bf16[2, 1, 3]; dim=1",
                         "i64[4], i32[] in 0..4, i64[1]; dim=0"});
}

OpDef index_add() {
    return updated_copy(
        "index_add", "(x, indices, source) dim: int, alpha: number = 1",
        "torch.index_add: x plus alpha * source at the indices of a dimension.",
        [](const NodeView& n) {
            check_index_along(n);
            const scalar::DType t = n.input(0).dtype;
            const double alpha = n.number("alpha");
            if (alpha != 1) check_domain(Domain::number, t);
            CODETTA_USER_CHECK(scalar::is_float(t) || alpha == std::trunc(alpha), "alpha is {}, which is no {}", alpha,
                               scalar::to_string(t));
        },
        [](Lowering& low, const NodeView& n) { update_along(low, n, true, n.number("alpha")); },
        {"f32[3, 2], i64[5] in 0..3, f32[5, 2]; dim=0", "f32[2, 3], i64[4] in 0..3, f32[2, 4]; dim=1, alpha=0.5",
         "i64[4], i64[3] in 0..4, i64[3]; dim=0"});
}

OpDef index_put() {
    return updated_copy(
        "index_put", "(x, values, *indices?) accumulate: bool = false",
        "torch.index_put: x with values (broadcast) written or added at the indices; an absent index means the whole dimension.",
        [](const NodeView& n) {
            check_same_dtype(n, 1);
            Indexing indexing(n, 2);
            std::vector<Expr> shapes[] = {indexing.shape(), n.input(1).shape};
            CODETTA_USER_CHECK(broadcast_shapes(shapes, n.facts()) == shapes[0], "values {} do not broadcast to {}", shape_text(shapes[1]),
                               shape_text(shapes[0]));
        },
        [](Lowering& low, const NodeView& n) {
            Indexing indexing(n, 2);
            Loops loops = low.loops(indexing.shape());
            StageSpec s{.name = "part", .axes = loops.axes, .reads = indexing.reads(low, loops.index), .raw = true};
            size_t value = s.reads.size();
            s.reads.push_back(low.read(1, broadcast_index(n.input(1).shape, loops.index)));
            s.body = [value](Terms t) { return t[value]; };
            low.write(low.stage(std::move(s)), 0, indexing.coordinates(loops.index), {}, indexing.checks(), n.flag("accumulate"));
        },
        {"f32[5, 3], f32[2, 3], i64[2] in 0..5", "f32[3, 4], f32[5], i64[5] in -3..3, i64[5] in 0..4; accumulate=true",
         "bf16[3, 4], bf16[], _, i64[2] in 0..4", "i64[4], i64[1], i64[6] in 0..4; accumulate=true"});
}

void check_scatter(const NodeView& n) {
    check_index(n.input(1));
    size_t rank = n.input(0).rank();
    dimension(n.integer("dim"), rank);
    CODETTA_USER_CHECK(n.input(1).rank() == rank, "the index has {} dimensions, not {}", n.input(1).rank(), rank);
    fits_within(n.input(1), n.input(0), dimension(n.integer("dim"), rank), n.facts());
    if (!n.has_input(2)) {
        CODETTA_USER_CHECK(n.has("scalar"), "operand 'source' is missing: give it or the attribute 'scalar'");
        return;
    }
    check_same_dtype(n, 2);
    CODETTA_USER_CHECK(n.input(2).rank() == rank, "source has {} dimensions, not {}", n.input(2).rank(), rank);
    fits_within(n.input(1), n.input(2), std::nullopt, n.facts());
}

void update_scattered(Lowering& low, const NodeView& n, bool accumulate) {
    Loops loops = low.loops(n.input(1).shape);
    std::vector<Expr> to = loops.index;
    std::vector<problem::Check> checks;
    if (!to.empty()) {
        size_t dim = dimension(n.integer("dim"), to.size());
        to[dim] = loaded(0);
        checks = fits_within(n.input(1), n.input(0), dim, n.facts());
        checks.push_back({loaded(0), 0, n.input(0).shape[dim]});
    }
    StageSpec s{.name = "part", .axes = loops.axes, .reads = {low.read(1, loops.index)}, .raw = true};
    if (n.has_input(2)) {
        s.reads.push_back(low.read(2, loops.index, {}, 0, fits_within(n.input(1), n.input(2), std::nullopt, n.facts())));
        s.body = second;
    } else {
        scalar::DType t = n.input(0).dtype;
        s.body = [&n, t](Terms x) { return number_term(n, "scalar", cast(t, x[0])); };
    }
    low.write(low.stage(std::move(s)), 0, to, {}, checks, accumulate);
}

} // namespace

std::vector<OpDef> scatter_ops() {
    return {
        slice_scatter(),
        select_scatter(),
        as_strided_scatter(),
        index_copy(),
        index_add(),
        index_put(),
        updated_copy("scatter", "(x, indices, source?) dim: int, scalar: number?",
                     "torch.scatter: x with source (or a number) written at the indices; last wins.", check_scatter,
                     [](Lowering& low, const NodeView& n) { update_scattered(low, n, false); },
                     {"f32[4, 3], i64[2, 3] in 0..4, f32[2, 3]; dim=0", "bf16[2, 5], i64[2, 2] in 0..5; dim=1, scalar=1.5",
                      "i64[5], i64[3] in 0..5, i64[4]; dim=0"}),
        updated_copy("scatter_add", "(x, indices, source) dim: int", "torch.scatter_add: x plus source at the indices.", check_scatter,
                     [](Lowering& low, const NodeView& n) { update_scattered(low, n, true); },
                     {"f32[4, 3], i64[5, 3] in 0..4, f32[5, 3]; dim=0", "i64[4], i64[6] in 0..4, i64[6]; dim=0"}),
    };
}

} // namespace codetta::ops
