// Comparisons and logic: bool results.
#include "codetta/ops/pointwise.h"

namespace codetta::ops {

namespace {

using scalar::Prim;

OpDef compare(std::string name, Prim p) {
    return pointwise({.name = name,
                      .summary = "torch." + name + ", elementwise.",
                      .domain = Domain::any,
                      .body = [p](Terms t, const NodeView&) { return apply(p, {t[0], t[1]}); },
                      .signature = "(x?, y?) scalar: number?",
                      .result = Result::boolean,
                      .samples = {"f32[2, 3], f32[3]", "i64[6], i64[6]", "bf16[4]; scalar=0.3", "i64[5]; scalar=1", "bool[4], bool[4]"}});
}

OpDef logical(std::string name, Prim p) {
    return pointwise({.name = name,
                      .summary = "torch." + name + " of values tested against zero.",
                      .domain = Domain::any,
                      .body = [p](Terms t, const NodeView&) { return apply(p, {t[0] != 0.0, t[1] != 0.0}); },
                      .signature = "(x, y)",
                      .result = Result::boolean,
                      .samples = {"bool[2, 3], bool[3]", "i64[6], i64[6]", "f32[4], f32[4]"}});
}

} // namespace

std::vector<OpDef> compare_ops() {
    return {
        compare("eq", Prim::eq),
        compare("ne", Prim::ne),
        compare("lt", Prim::lt),
        compare("le", Prim::le),
        compare("gt", Prim::gt),
        compare("ge", Prim::ge),
        logical("logical_and", Prim::bit_and),
        logical("logical_or", Prim::bit_or),
        logical("logical_xor", Prim::bit_xor),
    };
}

} // namespace codetta::ops
