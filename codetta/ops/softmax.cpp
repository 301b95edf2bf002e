// Softmax, its relatives and their backwards, along one dimension.
#include <cmath>

#include "codetta/base/error.h"
#include "codetta/ops/pointwise.h"

namespace codetta::ops {

namespace {

using scalar::DType;

struct SoftmaxRows {
    Lowering low;
    RowLoops rows;
    DType compute;
};

SoftmaxRows rows_of(const NodeView& n) {
    SoftmaxRows s{Lowering(n), {}, scalar::compute_type(n.input(0).dtype)};
    size_t rank = n.input(0).rank(), dim = dimension(n.integer("dim"), rank);
    s.rows = s.low.rows(n.input(0).shape, rank == 0 ? std::vector<size_t>{} : std::vector<size_t>{dim});
    return s;
}

OpDef row_op(std::string name, std::string signature, std::string summary, std::function<void(SoftmaxRows&, const NodeView&)> build,
             std::vector<std::string> samples) {
    OpDef op;
    op.name = std::move(name);
    op.signature = std::move(signature);
    op.kind = graph::OpKind::normalise;
    op.summary = std::move(summary);
    op.samples = std::move(samples);
    op.infer = [](const NodeView& n) {
        TensorType x = n.input(0);
        check_domain(Domain::floating, common_dtype(n));
        dimension(n.integer("dim"), x.rank());
        if (n.has_input(1))
            CODETTA_USER_CHECK(n.input(1).shape == x.shape, "operands are {} and {}", shape_text(x.shape), shape_text(n.input(1).shape));
        return std::vector{graph::contiguous(n.has("dtype") ? n.dtype("dtype") : x.dtype, x.shape)};
    };
    op.lower = [build](const NodeView& n) {
        SoftmaxRows s = rows_of(n);
        build(s, n);
        return s.low.finish();
    };
    return op;
}

StageId row_maximum(SoftmaxRows& s) {
    return s.low.stage({.name = "maximum",
                        .axes = s.rows.rows,
                        .reads = {s.low.read(0, s.rows.index)},
                        .body = [](Terms t) { return t[0]; },
                        .reduce = s.rows.reduce,
                        .combiner = scalar::maximum(s.compute)});
}

StageId row_sum(SoftmaxRows& s, std::vector<Read> reads, Body body) {
    return s.low.stage({.name = "total",
                        .axes = s.rows.rows,
                        .reads = std::move(reads),
                        .body = std::move(body),
                        .reduce = s.rows.reduce,
                        .combiner = scalar::sum(s.compute)});
}

void write_all(SoftmaxRows& s, const NodeView& n, std::vector<Read> reads, Body body) {
    StageId value =
        s.low.stage({.name = "value", .axes = s.rows.all, .reads = std::move(reads), .body = std::move(body), .result = n.output().dtype});
    s.low.write(value, 0, s.rows.index);
}

// safe: a row of -inf gives zeros (aten._safe_softmax), not NaN.
void build_softmax(SoftmaxRows& s, const NodeView& n, bool safe) {
    Read x = s.low.read(0, s.rows.index);
    StageId maximum = row_maximum(s);
    auto shifted = [safe](Terms t) { return exp(t[0] - (safe ? select(t[1] == -HUGE_VAL, 0.0, t[1]) : t[1])); };
    StageId total = row_sum(s, {x, s.low.read(maximum)}, shifted);
    write_all(s, n, {x, s.low.read(maximum), s.low.read(total)}, [=](Terms t) {
        Term value = shifted(t) / t[2];
        return safe ? select(t[1] == -HUGE_VAL, 0.0, value) : value;
    });
}

void build_log_softmax(SoftmaxRows& s, const NodeView& n) {
    Read x = s.low.read(0, s.rows.index);
    StageId maximum = row_maximum(s);
    StageId total = row_sum(s, {x, s.low.read(maximum)}, [](Terms t) { return exp(t[0] - t[1]); });
    write_all(s, n, {x, s.low.read(maximum), s.low.read(total)}, [](Terms t) { return t[0] - t[1] - log(t[2]); });
}

} // namespace

std::vector<OpDef> softmax_ops() {
    const std::vector<std::string> forward = {"f32[2, 5]; dim=-1", "bf16[3, 4, 2]; dim=1", "f16[4]; dim=0", "f32[2, 1]; dim=1",
                                              "f32[3, 4] strides [1, 3]; dim=0"};
    std::vector<std::string> widening = forward;
    widening.push_back("bf16[2, 4]; dim=1, dtype=f32");
    const std::vector<std::string> backward = {"f32[2, 5], f32[2, 5] in 0..1; dim=-1", "bf16[3, 4], bf16[3, 4] in 0..1; dim=0"};
    const std::vector<std::string> log_backward = {"f32[2, 5], f32[2, 5] in -3..0; dim=-1", "bf16[3, 4], bf16[3, 4] in -3..0; dim=0"};
    return {
        row_op(
            "softmax", "(x) dim: int, dtype: dtype?", "aten._softmax; dtype: of the result.",
            [](SoftmaxRows& s, const NodeView& n) { build_softmax(s, n, false); }, widening),
        row_op(
            "safe_softmax", "(x) dim: int, dtype: dtype?", "aten._safe_softmax: softmax with zeros for rows that are all -inf.",
            [](SoftmaxRows& s, const NodeView& n) { build_softmax(s, n, true); }, forward),
        row_op("log_softmax", "(x) dim: int, dtype: dtype?", "aten._log_softmax; dtype: of the result.", build_log_softmax, widening),
        row_op(
            "softmax_backward", "(grad, result) dim: int", "aten._softmax_backward_data: result * (grad - sum(grad * result)).",
            [](SoftmaxRows& s, const NodeView& n) {
                Read grad = s.low.read(0, s.rows.index), result = s.low.read(1, s.rows.index);
                StageId total = row_sum(s, {grad, result}, [](Terms t) { return t[0] * t[1]; });
                write_all(s, n, {grad, result, s.low.read(total)}, [](Terms t) { return t[1] * (t[0] - t[2]); });
            },
            backward),
        row_op(
            "log_softmax_backward", "(grad, result) dim: int", "aten._log_softmax_backward_data: grad - exp(result) * sum(grad).",
            [](SoftmaxRows& s, const NodeView& n) {
                Read grad = s.low.read(0, s.rows.index), result = s.low.read(1, s.rows.index);
                StageId total = row_sum(s, {grad}, [](Terms t) { return t[0]; });
                write_all(s, n, {grad, result, s.low.read(total)}, [](Terms t) { return t[0] - exp(t[1]) * t[2]; });
            },
            log_backward),
    };
}

} // namespace codetta::ops
