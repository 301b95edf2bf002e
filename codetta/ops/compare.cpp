// Comparisons and logic: bool results.
#include <variant>

#include "codetta/ops/pointwise.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/sym/expr.h"

namespace codetta::ops {

namespace {

using scalar::Prim;

// A number is compared as ATen does: as a value of the tensor's dtype. In bf16, 0.3 is the number 0.3.
Term in_dtype_of(const NodeView& n, size_t number, Term given, Term other) {
    const size_t tensor = 1 - number;
    if (n.has_input(number) || !n.has_input(tensor) || !scalar::is_float(n.input(tensor).dtype)) return given;
    if (const auto* e = std::get_if<sym::Expr>(&n.attribute("scalar")); e && !e->constant()) return given;
    return constant(other, scalar::round_to(n.input(tensor).dtype, n.number("scalar")));
}

OpDef compare(std::string name, Prim p) {
    return pointwise(
        {.name = name,
         .summary = "torch." + name + ", elementwise.",
         .domain = Domain::any,
         .body = [p](Terms t, const NodeView& n) { return apply(p, {in_dtype_of(n, 0, t[0], t[1]), in_dtype_of(n, 1, t[1], t[0])}); },
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
