// Matrix products. One form for all: a stage `acc` that sums products in compute precision, then a stage that scales, adds and rounds.
#include <algorithm>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/pointwise.h"
#include "codetta/sym/condition.h"

namespace codetta::ops {

namespace {

using scalar::DType;

DType accumulator(DType t) { return scalar::is_float(t) ? scalar::compute_type(t) : DType::i64; }

void check_equal(const Expr& a, const Expr& b, const NodeView& n, std::string_view what) {
    CODETTA_USER_CHECK(a == b || n.facts().proves(sym::eq(a, b)), "{} differ: {} against {}", what, sym::to_string(a), sym::to_string(b));
}

void check_rank(const NodeView& n, size_t i, size_t rank) {
    CODETTA_USER_CHECK(n.input(i).rank() == rank, "operand {} has {} dimensions, not {}", i, n.input(i).rank(), rank);
}

StageId product(Lowering& low, const std::vector<AxisId>& axes, Read a, Read b, const std::vector<AxisId>& reduce, DType operands) {
    DType t = accumulator(operands);
    return low.stage({.name = "acc",
                      .axes = axes,
                      .reads = {std::move(a), std::move(b)},
                      .body = [t](Terms x) { return cast(t, x[0]) * cast(t, x[1]); },
                      .reduce = reduce,
                      .combiner = scalar::sum(t),
                      .raw = true});
}

// Writes acc, rounded to the output's dtype: directly where nothing has to be done.
void write_product(Lowering& low, StageId acc, const Loops& loops, DType result) {
    StageId s = acc;
    if (low.dtype(acc) != result)
        s = low.stage(
            {.name = "value", .axes = loops.axes, .reads = {low.read(acc)}, .body = [](Terms t) { return t[0]; }, .result = result});
    low.write(s, 0, loops.index);
}

// beta * c + alpha * (a @ b), c broadcast to the result.
void write_scaled_sum(Lowering& low, StageId acc, const Loops& loops, const NodeView& n, size_t c) {
    DType t = n.output().dtype;
    double alpha = n.number("alpha"), beta = n.number("beta");
    StageSpec s{.name = "value", .axes = loops.axes, .reads = {low.read(acc)}, .result = t};
    if (beta != 0)
        s.reads.push_back(low.read(c, broadcast_index(n.input(c).shape, loops.index))); // NaN in c counts for nothing when beta is 0
    s.body = [&](Terms x) {
        Term value = alpha == 1 ? x[0] : x[0] * number_term(n, "alpha", x[0]);
        if (beta == 0) return value;
        Term added = cast(value.type(), x[1]);
        return value + (beta == 1 ? added : added * number_term(n, "beta", added));
    };
    low.write(low.stage(std::move(s)), 0, loops.index);
}

// a [b..., m, k], b [b..., k, n] as operands `first`, `first + 1`.
struct MatrixProduct {
    Lowering low;
    Loops loops;
    StageId acc;
};
MatrixProduct matrix_product(const NodeView& n, size_t first) {
    MatrixProduct p{Lowering(n), {}, {}};
    p.loops = p.low.loops(n.output().shape);
    TensorType a = n.input(first), b = n.input(first + 1);
    Loops k = p.low.reduced(std::vector{a.shape.back()});
    std::vector<Expr> at_a = p.loops.index, at_b = p.loops.index;
    at_a.back() = k.index[0];
    at_b[at_b.size() - 2] = k.index[0];
    p.acc = product(p.low, p.loops.axes, p.low.read(first, broadcast_index(a.shape, at_a)),
                    p.low.read(first + 1, broadcast_index(b.shape, at_b)), k.axes, a.dtype);
    return p;
}

std::vector<TensorType> infer_matrix_product(const NodeView& n, size_t first, size_t rank) {
    check_rank(n, first, rank);
    check_rank(n, first + 1, rank);
    TensorType a = n.input(first), b = n.input(first + 1);
    CODETTA_USER_CHECK(a.dtype == b.dtype, "operands are {} and {}; cast one of them first", scalar::to_string(a.dtype),
                       scalar::to_string(b.dtype));
    check_domain(Domain::number, a.dtype);
    if (rank == 3) check_equal(a.shape[0], b.shape[0], n, "batch sizes");
    check_equal(a.shape[rank - 1], b.shape[rank - 2], n, "inner sizes");
    std::vector<Expr> shape = a.shape;
    shape.back() = b.shape.back();
    if (first == 1) {
        CODETTA_USER_CHECK(n.input(0).dtype == a.dtype, "operand 0 is {}, not {}", scalar::to_string(n.input(0).dtype),
                           scalar::to_string(a.dtype));
        std::vector<Expr> shapes[] = {shape, n.input(0).shape};
        CODETTA_USER_CHECK(broadcast_shapes(shapes, n.facts()) == shape, "operand 0 of shape {} does not broadcast to {}",
                           shape_text(shapes[1]), shape_text(shape));
    }
    return {graph::contiguous(a.dtype, shape)};
}

OpDef matrix_op(std::string name, size_t rank, bool added) {
    OpDef op;
    op.name = name;
    op.kind = graph::OpKind::contract;
    op.signature = added ? "(c, a, b) beta: number = 1, alpha: number = 1" : "(a, b)";
    op.summary = "torch." + name + (added ? ": beta * c + alpha * (a @ b)." : ": a @ b.");
    size_t first = added ? 1 : 0;
    op.infer = [=](const NodeView& n) { return infer_matrix_product(n, first, rank); };
    op.lower = [=](const NodeView& n) {
        MatrixProduct p = matrix_product(n, first);
        if (added)
            write_scaled_sum(p.low, p.acc, p.loops, n, 0);
        else
            write_product(p.low, p.acc, p.loops, n.output().dtype);
        return p.low.finish();
    };
    for (std::string t : {"f32", "bf16", "f16"}) {
        std::string a = rank == 2 ? t + "[3, 4], " + t + "[4, 5]" : t + "[2, 3, 4], " + t + "[2, 4, 5]";
        if (!added)
            op.samples.push_back(a);
        else
            op.samples.insert(op.samples.end(),
                              {t + "[5], " + a, (rank == 2 ? t + "[3, 1], " : t + "[2, 1, 5], ") + a + "; alpha=0.5, beta=2.0"});
    }
    if (!added) op.samples.push_back(rank == 2 ? "f32[1, 4] strides [1, 1], f32[4, 3] strides [1, 4]" : "f32[1, 3, 2], f32[1, 2, 1]");
    if (!added) op.samples.push_back(rank == 2 ? "i64[2, 3], i64[3, 2]" : "f32[2, 0, 3], f32[2, 3, 4]");
    return op;
}

// linear(x, w, b): the form that models have; w is [n, k].
OpDef linear() {
    OpDef op;
    op.name = "linear";
    op.kind = graph::OpKind::contract;
    op.signature = "(x, w, b?)";
    op.summary = "torch.nn.functional.linear: x @ w.T + b.";
    op.infer = [](const NodeView& n) {
        TensorType x = n.input(0), w = n.input(1);
        check_domain(Domain::number, common_dtype(n));
        CODETTA_USER_CHECK(w.rank() == 2 && x.rank() >= 1, "w must have 2 dimensions and x at least 1");
        check_equal(x.shape.back(), w.shape[1], n, "inner sizes");
        if (n.has_input(2)) {
            check_rank(n, 2, 1);
            check_equal(n.input(2).shape[0], w.shape[0], n, "sizes of b and w");
        }
        std::vector<Expr> shape = x.shape;
        shape.back() = w.shape[0];
        return std::vector{graph::contiguous(x.dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        Loops k = low.reduced(std::vector{n.input(0).shape.back()});
        std::vector<Expr> at = loops.index;
        at.back() = k.index[0];
        StageId acc = product(low, loops.axes, low.read(0, at), low.read(1, {loops.index.back(), k.index[0]}), k.axes, n.input(0).dtype);
        if (!n.has_input(2)) {
            write_product(low, acc, loops, n.output().dtype);
            return low.finish();
        }
        StageId s = low.stage({.name = "value",
                               .axes = loops.axes,
                               .reads = {low.read(acc), low.read(2, {loops.index.back()})},
                               .body = [](Terms t) { return t[0] + cast(t[0].type(), t[1]); },
                               .result = n.output().dtype});
        low.write(s, 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[3, 4], f32[5, 4], f32[5]", "bf16[2, 3, 4], bf16[5, 4], bf16[5]", "f32[4], f32[2, 4]",
                  "f16[2, 4], f16[1, 4], f16[1]"};
    return op;
}

OpDef matmul() {
    OpDef op;
    op.name = "matmul";
    op.kind = graph::OpKind::contract;
    op.signature = "(a, b)";
    op.summary = "torch.matmul of tensors with at least 2 dimensions; leading dimensions broadcast.";
    op.infer = [](const NodeView& n) {
        TensorType a = n.input(0), b = n.input(1);
        check_domain(Domain::number, common_dtype(n));
        CODETTA_USER_CHECK(a.rank() >= 2 && b.rank() >= 2, "both operands need at least 2 dimensions; unsqueeze vectors first");
        check_equal(a.shape.back(), b.shape[b.rank() - 2], n, "inner sizes");
        std::vector<Expr> shapes[] = {{a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2}};
        std::vector<Expr> shape = broadcast_shapes(shapes, n.facts());
        shape.push_back(a.shape[a.rank() - 2]);
        shape.push_back(b.shape.back());
        return std::vector{graph::contiguous(a.dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        MatrixProduct p = matrix_product(n, 0);
        write_product(p.low, p.acc, p.loops, n.output().dtype);
        return p.low.finish();
    };
    op.samples = {"f32[2, 3, 4], f32[4, 5]", "bf16[2, 1, 3, 4], bf16[5, 4, 2]", "f32[3, 4], f32[4, 5]"};
    return op;
}

// The general product: batch, then a's free dimensions, then b's.
struct Dims {
    std::vector<size_t> batch, contract, free;
};
Dims dims_of(const NodeView& n, const char* side, size_t operand) {
    auto listed = [&](const std::string& name) {
        std::vector<size_t> result;
        CODETTA_USER_CHECK(n.input(operand).rank() > 0 || n.integers(name).empty(), "a 0-d operand has no dimension");
        for (int64_t d : n.integers(name)) result.push_back(dimension(d, n.input(operand).rank()));
        return result;
    };
    Dims dims{listed(std::string(side) + "_batch"), listed(std::string(side) + "_contract"), {}};
    for (size_t d = 0; d < n.input(operand).rank(); ++d) {
        size_t uses = static_cast<size_t>(std::count(dims.batch.begin(), dims.batch.end(), d) +
                                          std::count(dims.contract.begin(), dims.contract.end(), d));
        CODETTA_USER_CHECK(uses <= 1, "dimension {} of {} is listed twice", d, side);
        if (uses == 0) dims.free.push_back(d);
    }
    return dims;
}

OpDef dot_general() {
    OpDef op;
    op.name = "dot_general";
    op.kind = graph::OpKind::contract;
    op.signature = "(a, b) a_batch: exprs = [], b_batch: exprs = [], a_contract: exprs, b_contract: exprs, dtype: dtype?";
    op.summary = "The general product: sums over the contracted dimensions; the result has the batch, a's free and b's free dimensions. "
                 "dtype: of the result (default a's).";
    op.infer = [](const NodeView& n) {
        TensorType a = n.input(0), b = n.input(1);
        check_domain(Domain::number, common_dtype(n));
        Dims da = dims_of(n, "a", 0), db = dims_of(n, "b", 1);
        CODETTA_USER_CHECK(da.batch.size() == db.batch.size() && da.contract.size() == db.contract.size(),
                           "a and b list different numbers of dimensions");
        std::vector<Expr> shape;
        for (size_t i = 0; i < da.batch.size(); ++i) {
            check_equal(a.shape[da.batch[i]], b.shape[db.batch[i]], n, "batch sizes");
            shape.push_back(a.shape[da.batch[i]]);
        }
        for (size_t i = 0; i < da.contract.size(); ++i)
            check_equal(a.shape[da.contract[i]], b.shape[db.contract[i]], n, "contracted sizes");
        for (size_t d : da.free) shape.push_back(a.shape[d]);
        for (size_t d : db.free) shape.push_back(b.shape[d]);
        return std::vector{graph::contiguous(n.has("dtype") ? n.dtype("dtype") : a.dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        Dims da = dims_of(n, "a", 0), db = dims_of(n, "b", 1);
        std::vector<Expr> extents;
        for (size_t d : da.contract) extents.push_back(n.input(0).shape[d]);
        Loops k = low.reduced(extents);
        std::vector<Expr> at_a(n.input(0).rank()), at_b(n.input(1).rank());
        size_t next = 0;
        for (size_t i = 0; i < da.batch.size(); ++i) at_a[da.batch[i]] = at_b[db.batch[i]] = loops.index[next++];
        for (size_t d : da.free) at_a[d] = loops.index[next++];
        for (size_t d : db.free) at_b[d] = loops.index[next++];
        for (size_t i = 0; i < da.contract.size(); ++i) at_a[da.contract[i]] = at_b[db.contract[i]] = k.index[i];
        StageId acc = product(low, loops.axes, low.read(0, at_a), low.read(1, at_b), k.axes, n.input(0).dtype);
        write_product(low, acc, loops, n.output().dtype);
        return low.finish();
    };
    op.samples = {"f32[3, 4], f32[5, 4]; a_contract=[1], b_contract=[1]",
                  "bf16[2, 3, 4], bf16[4, 2, 5]; a_batch=[0], b_batch=[1], a_contract=[2], b_contract=[0]",
                  "f32[2, 3], f32[2, 3]; a_contract=[0, 1], b_contract=[0, 1]",
                  "bf16[3, 4], bf16[4, 2]; a_contract=[1], b_contract=[0], dtype=f32", "f32[2], f32[3]; a_contract=[], b_contract=[]"};
    return op;
}

} // namespace

std::vector<OpDef> contract_ops() {
    return {matrix_op("mm", 2, false),
            matrix_op("bmm", 3, false),
            matrix_op("addmm", 2, true),
            matrix_op("baddbmm", 3, true),
            linear(),
            matmul(),
            dot_general()};
}

} // namespace codetta::ops
