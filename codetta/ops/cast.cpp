// cast: the only conversion there is. Frontends insert it where torch promotes; its rounding is never dropped.
#include "codetta/ops/pointwise.h"

namespace codetta::ops {

std::vector<OpDef> cast_ops() {
    OpDef op;
    op.name = "cast";
    op.signature = "(x) dtype: dtype, implicit: bool = false";
    op.kind = graph::OpKind::pointwise;
    op.summary = "aten._to_copy(dtype): x in another dtype. implicit: a rounding that nobody asked for (made by decompositions), which "
                 "fusion may drop.";
    op.infer = [](const NodeView& n) { return std::vector{graph::contiguous(n.dtype("dtype"), n.input(0).shape)}; };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        scalar::DType t = n.output().dtype;
        bool implicit = n.flag("implicit");
        StageId s = low.stage({.name = "value",
                               .axes = loops.axes,
                               .reads = {low.read(0, broadcast_index(n.input(0).shape, loops.index))},
                               .body = [&](Terms x) { return implicit ? narrow(t, x[0]) : cast(t, x[0]); },
                               .raw = true});
        low.write(s, 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[2, 3]; dtype=bf16", "bf16[4]; dtype=f32", "f32[3]; dtype=i64",  "i64[3]; dtype=f32",  "f32[4]; dtype=bool",
                  "bool[3]; dtype=f32",    "f32[2]; dtype=f16",  "i64[3]; dtype=i32",  "bool[2]; dtype=i64", "i64[3]; dtype=bf16",
                  "f64[2]; dtype=f32",     "f32[2]; dtype=f64",  "bf16[2]; dtype=f16", "i32[2]; dtype=bool"};
    return {op};
}

} // namespace codetta::ops
