// Running reductions along a dimension.
#include "codetta/base/error.h"
#include "codetta/ops/pointwise.h"

namespace codetta::ops {

namespace {

using scalar::DType;

OpDef running(std::string name, std::function<scalar::Combiner(DType)> combiner) {
    OpDef op;
    op.name = name;
    op.signature = "(x) dim: int, dtype: dtype?";
    op.kind = graph::OpKind::scan;
    op.summary = "torch." + name + "; integers and bool give i64; dtype: of the result.";
    op.infer = [](const NodeView& n) {
        TensorType x = n.input(0);
        dimension(n.integer("dim"), x.rank());
        return std::vector{graph::contiguous(n.has("dtype")              ? n.dtype("dtype")
                                             : scalar::is_float(x.dtype) ? x.dtype
                                                                         : DType::i64,
                                             x.shape)};
    };
    op.lower = [=](const NodeView& n) {
        Lowering low(n);
        TensorType x = n.input(0);
        std::vector<size_t> dims;
        if (x.rank() > 0) dims.push_back(dimension(n.integer("dim"), x.rank()));
        RowLoops rows = low.rows(x.shape, dims);
        DType state = scalar::is_float(x.dtype) ? scalar::compute_type(x.dtype) : DType::i64;
        StageSpec s{
            .name = name, .axes = rows.all, .reads = {low.read(0, rows.index)}, .body = [state](Terms t) { return cast(state, t[0]); }};
        if (!dims.empty()) {
            s.scan = rows.reduce[0];
            s.combiner = combiner(state);
        }
        StageId value = low.stage(std::move(s));
        if (state != n.output().dtype)
            value = low.stage({.name = "value",
                               .axes = rows.all,
                               .reads = {low.read(value)},
                               .body = [](Terms t) { return t[0]; },
                               .result = n.output().dtype});
        low.write(value, 0, rows.index);
        return low.finish();
    };
    op.samples = {"f32[2, 5]; dim=1", "bf16[3, 4]; dim=0", "i64[2, 3]; dim=-1", "bool[5]; dim=0", "f32[3, 1]; dim=1", "f32[]; dim=0"};
    return op;
}

} // namespace

std::vector<OpDef> scan_ops() { return {running("cumsum", scalar::sum), running("cumprod", scalar::product)}; }

} // namespace codetta::ops
