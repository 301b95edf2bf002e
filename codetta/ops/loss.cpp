// Negative log likelihood (input [n, c] or [c]) and its backward.
#include "codetta/base/error.h"
#include "codetta/ops/indexing.h"
#include "codetta/sym/condition.h"

namespace codetta::ops {

namespace {

using scalar::DType;

enum class Reduction : uint8_t { none, mean, sum };

Reduction reduction_of(const NodeView& n) {
    std::string text = n.text("reduction");
    if (text == "none") return Reduction::none;
    if (text == "mean") return Reduction::mean;
    CODETTA_USER_CHECK(text == "sum", "reduction is \"{}\"; it must be \"none\", \"mean\" or \"sum\"", text);
    return Reduction::sum;
}

void check_loss(const NodeView& n, size_t x, size_t target) {
    check_domain(Domain::floating, n.input(x).dtype);
    check_index(n.input(target));
    CODETTA_USER_CHECK(n.input(x).rank() == 2 && n.input(target).rank() == 1,
                       "x must have 2 dimensions and target 1 (unsqueeze a single row)");
    size_t weight = target + 1;
    CODETTA_USER_CHECK(!n.has_input(weight) || n.input(weight).shape == std::vector{n.input(x).shape[1]},
                       "weight is {}, not one number for each class", shape_text(n.input(weight).shape));
}

// Rows where target is not ignore_index; the class is checked there.
sym::Condition counted(const NodeView& n) { return sym::ne(loaded(0), n.integer("ignore_index")); }

// -x[row, target] * weight[target] and weight[target] per row (0 for ignored rows), in compute precision.
OpDef nll_loss_forward() {
    OpDef op;
    op.name = "nll_loss_forward";
    op.signature = "(x, target, weight?) reduction: text = \"mean\", ignore_index: int = -100";
    op.kind = graph::OpKind::index;
    op.summary = "aten.nll_loss_forward: the loss and the total weight of the rows that count.";
    op.infer = [](const NodeView& n) {
        check_loss(n, 0, 1);
        DType t = n.input(0).dtype;
        std::vector<Expr> shape;
        if (reduction_of(n) == Reduction::none) shape.push_back(n.input(0).shape[0]);
        return std::vector{graph::contiguous(t, shape), graph::contiguous(t, {})};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        TensorType x = n.input(0);
        DType t = x.dtype, compute = scalar::compute_type(t);
        Reduction reduction = reduction_of(n);
        RowLoops rows = low.rows({&x.shape[0], 1}, {0});
        Read target = low.read(1, {rows.index[0]});
        std::vector<problem::Check> check = {{loaded(0), 0, x.shape[1]}};
        std::vector<Read> reads = {target, low.read(0, {rows.index[0], loaded(0)}, {counted(n)}, 0, check)};
        std::vector<Read> weight_reads = {target};
        bool weighted = n.has_input(2);
        if (weighted) {
            reads.push_back(low.read(2, {loaded(0)}, {counted(n)}, 0, check));
            weight_reads.push_back(reads.back());
        }
        int64_t ignored = n.integer("ignore_index");
        auto row_loss = [=](Terms v) { return weighted ? -(v[1] * cast(v[1].type(), v[2])) : -v[1]; };
        auto row_weight = [=](Terms v) {
            if (weighted) return cast(compute, v[1]);
            return cast(compute, apply(scalar::Prim::ne, {v[0], {v[0].builder, v[0].builder->integer(v[0].type(), ignored)}}));
        };
        auto total = [&](std::string name, std::vector<Read> from, Body body) {
            return low.stage({.name = std::move(name),
                              .axes = {},
                              .reads = std::move(from),
                              .body = std::move(body),
                              .reduce = rows.reduce,
                              .combiner = scalar::sum(compute)});
        };
        auto write = [&](size_t output, std::vector<AxisId> axes, std::vector<Read> from, Body body, std::vector<Expr> to) {
            low.write(low.stage({.name = output ? "weights" : "value",
                                 .axes = std::move(axes),
                                 .reads = std::move(from),
                                 .body = std::move(body),
                                 .result = t}),
                      output, to);
        };
        if (reduction == Reduction::none) {
            write(0, rows.all, reads, row_loss, rows.index);
            low.write(low.stage({.name = "weights", .constant = [t](scalar::Builder& b) { return Term{&b, b.constant(t, 0)}; }}), 1, {});
            return low.finish();
        }
        StageId loss = total("loss", reads, row_loss), weights = total("total_weight", weight_reads, row_weight);
        write(0, {}, {low.read(loss), low.read(weights)}, [=](Terms v) { return reduction == Reduction::mean ? v[0] / v[1] : v[0]; }, {});
        write(1, {}, {low.read(weights)}, [](Terms v) { return v[0]; }, {});
        return low.finish();
    };
    op.samples = {"f32[4, 3], i64[4] in 0..3", "f32[4, 3], i64[4] in 0..3, f32[3] in 0.5..2; reduction=\"sum\"",
                  "bf16[4, 3], i64[4] in 0..3; reduction=\"none\"", "f32[6, 4], i64[6] in 0..4; ignore_index=1"};
    return op;
}

OpDef nll_loss_backward() {
    OpDef op;
    op.name = "nll_loss_backward";
    op.signature = "(grad, x, target, weight?, total_weight?) reduction: text = \"mean\", ignore_index: int = -100";
    op.kind = graph::OpKind::index;
    op.summary = "aten.nll_loss_backward: -grad * weight at each row's class, over the total weight for the mean.";
    op.infer = [](const NodeView& n) {
        check_loss(n, 1, 2);
        std::vector<Expr> want;
        if (reduction_of(n) == Reduction::none) want.push_back(n.input(1).shape[0]);
        CODETTA_USER_CHECK(n.input(0).shape == want, "grad is {}, not {}", shape_text(n.input(0).shape), shape_text(want));
        CODETTA_USER_CHECK(!n.has_input(4) || n.input(4).rank() == 0, "total_weight must be 0-d");
        CODETTA_USER_CHECK(n.has_input(4) || reduction_of(n) != Reduction::mean, "operand 'total_weight' is missing");
        return std::vector{graph::contiguous(n.input(1).dtype, n.input(1).shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        Reduction reduction = reduction_of(n);
        std::vector<Expr> row = {loops.index[0]};
        StageSpec s{.name = "value", .axes = loops.axes, .result = n.output().dtype};
        s.reads = {low.read(2, row), low.read(0, reduction == Reduction::none ? row : std::vector<Expr>{}),
                   Lowering::index(loops.index[1])};
        bool weighted = n.has_input(3), mean = reduction == Reduction::mean;
        if (weighted) s.reads.push_back(low.read(3, {loops.index[1]}));
        if (mean) s.reads.push_back(low.read(4, {}));
        int64_t ignored = n.integer("ignore_index");
        s.body = [=](Terms v) {
            Term target = cast(DType::i64, v[0]), value = -v[1];
            if (weighted) value = value * cast(value.type(), v[3]);
            if (mean) value = value / cast(value.type(), v.back());
            Term skipped = apply(scalar::Prim::eq, {target, {target.builder, target.builder->integer(DType::i64, ignored)}});
            return select(target == v[2] && !skipped, value, 0.0);
        };
        low.write(low.stage(std::move(s)), 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[], f32[4, 3], i64[4] in 0..3, _, f32[] in 3..4",
                  "f32[4], f32[4, 3], i64[4] in 0..3, f32[3] in 0.5..2; reduction=\"none\"",
                  "bf16[], bf16[4, 3], i64[4] in 0..3; reduction=\"sum\", ignore_index=1"};
    return op;
}

} // namespace

std::vector<OpDef> loss_ops() { return {nll_loss_forward(), nll_loss_backward()}; }

} // namespace codetta::ops
