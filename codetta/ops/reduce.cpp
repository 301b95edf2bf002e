// Reductions. Floats accumulate in compute precision, sums of f32 in f64, of integers in i64.
#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/pointwise.h"

namespace codetta::ops {

namespace {

using scalar::Combiner;
using scalar::DType;

const std::string kDims = "(x) dims: exprs = [], keepdim: bool = false";

std::vector<std::string> samples(const std::vector<std::string>& types, const std::string& more = "") {
    std::vector<std::string> result;
    for (const std::string& t : types) {
        for (const char* dims : {"", "dims=[1]", "dims=[0, -1], keepdim=true"}) {
            std::string attributes = dims + std::string(*dims && !more.empty() ? ", " : "") + more;
            result.push_back(t + (attributes.empty() ? "" : "; " + attributes));
        }
    }
    return result;
}

std::vector<size_t> reduced_dims(const NodeView& n) { return dimensions(n.integers("dims"), n.input(0).rank()); }

std::vector<TensorType> infer_reduced(const NodeView& n, DType result) {
    return {graph::contiguous(result, shape_without(n.input(0).shape, reduced_dims(n), n.flag("keepdim")))};
}

// Coordinates of the reduced result's dimensions.
std::vector<Expr> result_index(const RowLoops& rows, const std::vector<size_t>& dims, bool keep) {
    std::vector<Expr> result = shape_without(rows.row_index, dims, keep);
    if (keep)
        for (size_t d : dims) result[d] = 0;
    return result;
}

// A number of elements as a term of like's dtype.
Term count_term(const Expr& count, std::optional<Term> read, Term like) {
    return read ? cast(like.type(), *read) : constant(like, static_cast<double>(*count.constant()));
}

struct Reduction {
    std::string name;
    std::string summary;
    Domain domain = Domain::any;
    std::function<DType(DType)> state; // dtype in which elements enter the combiner
    std::function<Combiner(DType)> combiner;
    std::function<DType(const NodeView&, DType)> result; // from the operand's dtype
    std::function<Term(Term)> enter = {};                // the element before it is cast to the state
    std::function<Term(Term, Term)> finish = {};         // (reduced, count)
    std::vector<std::string> samples = {};
    std::string signature = kDims;
};

problem::Problem lower_reduction(const Reduction& r, const NodeView& n) {
    Lowering low(n);
    std::vector<size_t> dims = reduced_dims(n);
    RowLoops rows = low.rows(n.input(0).shape, dims);
    DType state = r.state(n.input(0).dtype), result = n.output().dtype;
    StageId acc = low.stage({.name = r.name,
                             .axes = rows.rows,
                             .reads = {low.read(0, rows.index)},
                             .body = [&](Terms t) { return cast(state, r.enter ? r.enter(t[0]) : t[0]); },
                             .reduce = rows.reduce,
                             .combiner = r.combiner(state),
                             .raw = !r.enter});
    StageId value = acc;
    if (r.finish || low.dtype(acc) != result) {
        StageSpec s{.name = "value", .axes = rows.rows, .reads = {low.read(acc)}, .result = result};
        bool symbolic = r.finish && !rows.count.constant();
        if (symbolic) s.reads.push_back(Lowering::index(rows.count));
        s.body = [&](Terms t) {
            return r.finish ? r.finish(t[0], count_term(rows.count, symbolic ? std::optional(t[1]) : std::nullopt, t[0])) : t[0];
        };
        value = low.stage(std::move(s));
    }
    low.write(value, 0, result_index(rows, dims, n.flag("keepdim")));
    return low.finish();
}

OpDef reduction(Reduction r) {
    OpDef op;
    op.name = r.name;
    op.signature = r.signature;
    op.kind = graph::OpKind::reduce;
    op.summary = r.summary;
    op.samples = r.samples;
    op.infer = [r](const NodeView& n) {
        check_domain(r.domain, n.input(0).dtype);
        return infer_reduced(n, r.result(n, n.input(0).dtype));
    };
    op.lower = [r](const NodeView& n) { return lower_reduction(r, n); };
    return op;
}

DType sum_state(DType t) { return scalar::is_float(t) ? scalar::compute_type(t) : DType::i64; }
// f32 is summed in f64: nearly free beside the memory read, and the result is rounded once, in whatever order it is summed.
DType wide_sum_state(DType t) { return t == DType::f32 ? DType::f64 : sum_state(t); }
DType sum_result(const NodeView& n, DType t) { return n.has("dtype") ? n.dtype("dtype") : scalar::is_float(t) ? t : DType::i64; }
DType same_result(const NodeView&, DType t) { return t; }
DType bool_result(const NodeView&, DType) { return DType::boolean; }
DType bool_state(DType) { return DType::boolean; }
Term nonzero(Term t) { return t != 0.0; }

// dim absent: over all elements in row-major order.
OpDef arg_op(std::string name, std::function<Combiner(DType)> combiner) {
    OpDef op;
    op.name = name;
    op.signature = "(x) dim: int?, keepdim: bool = false";
    op.kind = graph::OpKind::reduce;
    op.summary = "torch." + name + ": the first such place; a NaN wins.";
    auto dims_of = [](const NodeView& n) {
        return dimensions(n.has("dim") ? std::vector<int64_t>{n.integer("dim")} : std::vector<int64_t>{}, n.input(0).rank());
    };
    op.infer = [dims_of](const NodeView& n) {
        check_domain(Domain::number, n.input(0).dtype);
        return std::vector{graph::contiguous(DType::i64, shape_without(n.input(0).shape, dims_of(n), n.flag("keepdim")))};
    };
    op.lower = [=](const NodeView& n) {
        Lowering low(n);
        std::vector<size_t> dims = dims_of(n);
        RowLoops rows = low.rows(n.input(0).shape, dims);
        DType state = scalar::compute_type(n.input(0).dtype);
        StageId s = low.stage({.name = name,
                               .axes = rows.rows,
                               .reads = {low.read(0, rows.index)},
                               .body = [](Terms t) { return t[0]; },
                               .reduce = rows.reduce,
                               .combiner = combiner(state)});
        low.write(s, 0, result_index(rows, dims, n.flag("keepdim")));
        return low.finish();
    };
    op.samples = {"f32[3, 4]; dim=1", "bf16[2, 5]; dim=0, keepdim=true", "f32[2, 3]", "i64[6] in -2..2; dim=-1"};
    return op;
}

// The variance in two passes: sum of squared deviations from the mean, over count - correction.
struct Variance {
    Lowering low;
    std::vector<size_t> dims;
    RowLoops rows;
    StageId mean, variance; // in the state's precision
};

Variance lower_variance(const NodeView& n) {
    Variance v{Lowering(n), reduced_dims(n), {}, {}, {}};
    v.rows = v.low.rows(n.input(0).shape, v.dims);
    DType t = wide_sum_state(n.input(0).dtype);
    const Expr& count = v.rows.count;
    StageId sum = v.low.stage({.name = "sum",
                               .axes = v.rows.rows,
                               .reads = {v.low.read(0, v.rows.index)},
                               .body = [t](Terms x) { return cast(t, x[0]); },
                               .reduce = v.rows.reduce,
                               .combiner = scalar::sum(t)});
    v.mean = v.low.stage({.name = "mean", .axes = v.rows.rows, .reads = {v.low.read(sum), Lowering::index(count)}, .body = [](Terms x) {
                              return x[0] / cast(x[0].type(), x[1]);
                          }});
    StageId squares = v.low.stage({.name = "squares",
                                   .axes = v.rows.rows,
                                   .reads = {v.low.read(0, v.rows.index), v.low.read(v.mean)},
                                   .body =
                                       [t](Terms x) {
                                           const Term deviation = cast(t, x[0]) - x[1];
                                           return deviation * deviation;
                                       },
                                   .reduce = v.rows.reduce,
                                   .combiner = scalar::sum(t)});
    double correction = n.number("correction");
    v.variance = v.low.stage(
        {.name = "variance", .axes = v.rows.rows, .reads = {v.low.read(squares), Lowering::index(count)}, .body = [correction](Terms x) {
             Term divisor = cast(x[0].type(), x[1]) - correction;
             return x[0] / maximum(divisor, 0.0);
         }});
    return v;
}

void write_rows(Variance& v, const NodeView& n, StageId s, size_t output, bool root = false) {
    StageId rounded = v.low.stage({.name = fmt::format("value{}", output),
                                   .axes = v.rows.rows,
                                   .reads = {v.low.read(s)},
                                   .body = [root](Terms t) { return root ? sqrt(t[0]) : t[0]; },
                                   .result = n.output(output).dtype});
    v.low.write(rounded, output, result_index(v.rows, v.dims, n.flag("keepdim")));
}

OpDef variance_op(std::string name, bool with_mean, bool root) {
    OpDef op;
    op.name = name;
    op.signature = "(x) dims: exprs = [], correction: number = 1, keepdim: bool = false";
    op.kind = graph::OpKind::reduce;
    op.summary = "torch." + name + " (aten." + name + ".correction).";
    op.infer = [with_mean](const NodeView& n) {
        check_domain(Domain::floating, n.input(0).dtype);
        std::vector<TensorType> types = infer_reduced(n, n.input(0).dtype);
        if (with_mean) types.push_back(types[0]);
        return types;
    };
    op.lower = [=](const NodeView& n) {
        Variance v = lower_variance(n);
        write_rows(v, n, v.variance, 0, root);
        if (with_mean) write_rows(v, n, v.mean, 1);
        return v.low.finish();
    };
    op.samples = samples({"f32[3, 4]", "bf16[2, 5]"});
    op.samples.push_back("f32[2, 3, 4]; dims=[1, 2], correction=0");
    return op;
}

OpDef logsumexp() {
    OpDef op;
    op.name = "logsumexp";
    op.signature = kDims;
    op.kind = graph::OpKind::reduce;
    op.summary = "torch.logsumexp.";
    op.infer = [](const NodeView& n) {
        check_domain(Domain::floating, n.input(0).dtype);
        return infer_reduced(n, n.input(0).dtype);
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        std::vector<size_t> dims = reduced_dims(n);
        RowLoops rows = low.rows(n.input(0).shape, dims);
        DType t = scalar::compute_type(n.input(0).dtype);
        StageId s = low.stage({.name = "logsumexp",
                               .axes = rows.rows,
                               .reads = {low.read(0, rows.index)},
                               .body = [](Terms x) { return x[0]; },
                               .reduce = rows.reduce,
                               .combiner = scalar::logsumexp(t)});
        StageId value = low.stage(
            {.name = "value", .axes = rows.rows, .reads = {low.read(s)}, .body = [](Terms x) { return x[0]; }, .result = n.output().dtype});
        low.write(value, 0, result_index(rows, dims, n.flag("keepdim")));
        return low.finish();
    };
    op.samples = samples({"f32[3, 4]", "bf16[2, 5]"});
    return op;
}

} // namespace

std::vector<OpDef> reduce_ops() {
    using D = Domain;
    std::string with_dtype = kDims + ", dtype: dtype?";
    std::vector<std::string> sum_samples = samples({"f32[3, 4]", "bf16[2, 5]", "i64[2, 3]", "bool[3, 4]", "i32[2, 2]"});
    sum_samples.insert(sum_samples.end(), {"bf16[2, 3]; dims=[1], dtype=f32", "f32[]", "f32[2, 0]; dims=[1]", "f32[3, 1]; dims=[1]",
                                           "f32[2, 3, 4] strides [1, 2, 6]; dims=[0, 2]"});
    return {
        reduction({"sum",
                   "torch.sum; integers and bool give i64; dtype: of the result.",
                   D::any,
                   wide_sum_state,
                   scalar::sum,
                   sum_result,
                   {},
                   {},
                   sum_samples,
                   with_dtype}),
        reduction({"mean",
                   "torch.mean; dtype: of the result.",
                   D::floating,
                   wide_sum_state,
                   scalar::sum,
                   sum_result,
                   {},
                   [](Term s, Term count) { return s / count; },
                   samples({"f32[3, 4]", "bf16[2, 5]", "f16[2, 2]"}),
                   with_dtype}),
        reduction({"prod",
                   "torch.prod; integers give i64.",
                   D::any,
                   sum_state,
                   scalar::product,
                   sum_result,
                   {},
                   {},
                   samples({"f32[3, 4]", "i64[2, 3]"}),
                   with_dtype}),
        reduction({"amax",
                   "torch.amax; NaN wins.",
                   D::number,
                   scalar::compute_type,
                   scalar::maximum,
                   same_result,
                   {},
                   {},
                   samples({"f32[3, 4]", "bf16[2, 5]", "i64[2, 3]"})}),
        reduction({"amin",
                   "torch.amin; NaN wins.",
                   D::number,
                   scalar::compute_type,
                   scalar::minimum,
                   same_result,
                   {},
                   {},
                   samples({"f32[3, 4]", "bf16[2, 5]", "i64[2, 3]"})}),
        reduction({"any",
                   "torch.any: whether an element is not zero.",
                   D::any,
                   bool_state,
                   [](DType) { return scalar::any(); },
                   bool_result,
                   nonzero,
                   {},
                   samples({"bool[3, 4]", "i64[2, 3]", "f32[2, 2]"})}),
        reduction({"all",
                   "torch.all: whether no element is zero.",
                   D::any,
                   bool_state,
                   [](DType) { return scalar::all(); },
                   bool_result,
                   nonzero,
                   {},
                   samples({"bool[3, 4]", "i64[2, 3]", "f32[2, 2]"})}),
        arg_op("argmax", scalar::argmax),
        arg_op("argmin", scalar::argmin),
        variance_op("var", false, false),
        variance_op("std", false, true),
        variance_op("var_mean", true, false),
        logsumexp(),
    };
}

} // namespace codetta::ops
