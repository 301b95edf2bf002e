#include "codetta/ops/pointwise.h"

#include <cmath>

#include <fmt/format.h>

#include "codetta/base/error.h"

namespace codetta::ops {

using graph::contiguous;
using scalar::DType;

void check_domain(Domain domain, DType t) {
    bool fits = domain == Domain::any || (domain == Domain::number && t != DType::boolean) ||
                (domain == Domain::floating && scalar::is_float(t)) || (domain == Domain::integral && !scalar::is_float(t)) ||
                (domain == Domain::integer && scalar::is_integer(t));
    std::string_view want = domain == Domain::floating   ? "floats"
                            : domain == Domain::integral ? "integers or bool"
                            : domain == Domain::integer  ? "integers"
                                                         : "numbers";
    CODETTA_USER_CHECK(fits, "the op is for {}, not for {}; cast the operand first", want, scalar::to_string(t));
}

DType common_dtype(const NodeView& n, size_t first) {
    std::optional<DType> t;
    for (size_t i = first; i < n.input_count(); ++i) {
        if (!n.has_input(i)) continue;
        DType have = n.input(i).dtype;
        CODETTA_USER_CHECK(!t || *t == have, "operands are {} and {}; cast one of them first", scalar::to_string(*t),
                           scalar::to_string(have));
        t = have;
    }
    CODETTA_USER_CHECK(t, "an operand is needed");
    return *t;
}

Term number_term(const NodeView& n, std::string_view name, Term like) {
    double value = n.number(name);
    if (!scalar::is_float(like.type())) {
        const bool whole = std::fabs(value) < 0x1p63 && value == std::trunc(value);
        CODETTA_USER_CHECK(whole, "attribute '{}' is {}, which is no {}; cast the operand first", name, value,
                           scalar::to_string(like.type()));
        const bool is_real = std::holds_alternative<double>(n.attribute(name)); // 3.0
        return {like.builder, like.builder->integer(like.type(), is_real ? static_cast<int64_t>(value) : n.integer(name))};
    }
    return constant(like, value);
}

namespace {

bool is_symbolic(const NodeView& n, std::string_view name) {
    if (!n.has(name)) return false;
    const auto* e = std::get_if<sym::Expr>(&n.attribute(name));
    return e && !e->constant();
}

// Writes the body once for nothing but its errors (a fraction for integers, an unknown mode), so that they come when the node is added.
void check_body(const Pointwise& entry, const NodeView& n) {
    scalar::Builder builder;
    size_t operands = n.signature->operands.size();
    bool symbolic = is_symbolic(n, "scalar");
    std::vector<std::optional<Term>> reads(operands);
    std::optional<Term> like;
    for (size_t i = 0; i < operands; ++i)
        if (n.has_input(i) || symbolic) reads[i] = Term{&builder, builder.parameter(n.has_input(i) ? n.input(i).dtype : DType::i64)};
    for (size_t i = 0; i < operands; ++i) {
        if (!n.has_input(i)) continue;
        reads[i] = wide(*reads[i]);
        if (i >= entry.conditions && !like) like = reads[i];
    }
    std::vector<Term> terms;
    for (size_t i = 0; i < operands; ++i)
        terms.push_back(!reads[i] ? number_term(n, "scalar", *like) : n.has_input(i) ? *reads[i] : cast(like->type(), *reads[i]));
    entry.body(terms, n);
}

std::vector<TensorType> infer_pointwise(const Pointwise& entry, const NodeView& n) {
    std::vector<std::vector<Expr>> shapes;
    for (size_t i = 0; i < n.input_count(); ++i)
        if (n.has_input(i)) shapes.push_back(n.input(i).shape);
    for (size_t i = 0; i < entry.conditions; ++i)
        CODETTA_USER_CHECK(n.input(i).dtype == DType::boolean, "operand {} must be bool, not {}", i, scalar::to_string(n.input(i).dtype));
    DType t = common_dtype(n, entry.conditions);
    check_domain(entry.domain, t);
    size_t operands = n.signature->operands.size();
    for (size_t i = 0; i < operands; ++i)
        CODETTA_USER_CHECK(n.has_input(i) || n.has("scalar"), "operand '{}' is missing: give it or the attribute 'scalar'",
                           n.signature->operands[i].name);
    check_body(entry, n);
    return {contiguous(entry.result == Result::boolean ? DType::boolean : t, broadcast_shapes(shapes, n.facts()))};
}

problem::Problem lower_pointwise(const Pointwise& entry, const NodeView& n) {
    Lowering low(n);
    TensorType out = n.output();
    Loops loops = low.loops(out.shape);
    StageSpec s{.name = "value", .axes = loops.axes, .result = out.dtype};
    size_t operands = n.signature->operands.size();
    bool symbolic = is_symbolic(n, "scalar");
    std::vector<std::optional<size_t>> slots(operands);
    for (size_t i = 0; i < operands; ++i) {
        if (!n.has_input(i) && !symbolic) continue;
        slots[i] = s.reads.size();
        s.reads.push_back(n.has_input(i) ? low.read(i, broadcast_index(n.input(i).shape, loops.index)) : Lowering::index(n.expr("scalar")));
    }
    s.body = [&](Terms reads) {
        std::optional<Term> like;
        for (size_t i = entry.conditions; i < operands && !like; ++i)
            if (n.has_input(i)) like = reads[*slots[i]];
        std::vector<Term> terms;
        for (size_t i = 0; i < operands; ++i) {
            if (!slots[i])
                terms.push_back(number_term(n, "scalar", *like));
            else
                terms.push_back(n.has_input(i) ? reads[*slots[i]] : cast(like->type(), reads[*slots[i]]));
        }
        return entry.body(terms, n);
    };
    low.write(low.stage(std::move(s)), 0, loops.index);
    return low.finish();
}

} // namespace

OpDef pointwise(Pointwise entry) {
    OpDef op;
    op.name = entry.name;
    op.signature = entry.signature;
    op.kind = graph::OpKind::pointwise;
    op.summary = entry.summary;
    op.samples = entry.samples;
    op.infer = [entry](const NodeView& n) { return infer_pointwise(entry, n); };
    op.lower = [entry](const NodeView& n) { return lower_pointwise(entry, n); };
    return op;
}

void append(std::vector<OpDef>& list, std::vector<OpDef> more) {
    for (OpDef& op : more) list.push_back(std::move(op));
}

} // namespace codetta::ops
