// Scaled dot product attention, forward as one Problem, backward in terms of products and pointwise ops.
#include <cmath>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/compose.h"
#include "codetta/problem/problem.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"

namespace codetta::ops {

namespace {

using scalar::DType;

const std::string kAttributes = "causal: bool = false, scale: number?";

// The factor of the scores; nullopt: 1 / sqrt(head) of a symbolic head size.
std::optional<double> scale_of(const NodeView& n, const Expr& head) {
    if (n.has("scale")) return n.number("scale");
    if (!head.constant()) return std::nullopt;
    return 1 / std::sqrt(static_cast<double>(*head.constant()));
}

// q [..., heads, s, d], k [..., kv heads, t, d], v [..., kv heads, t, e], mask broadcast to [..., heads, s, t].
void check_attention(const NodeView& n, size_t first, std::optional<size_t> mask) {
    TensorType q = n.input(first), k = n.input(first + 1), v = n.input(first + 2);
    check_domain(Domain::floating, q.dtype);
    CODETTA_USER_CHECK(k.dtype == q.dtype && v.dtype == q.dtype, "q, k and v must have one dtype");
    size_t rank = q.rank();
    CODETTA_USER_CHECK(rank >= 3 && k.rank() == rank && v.rank() == rank, "q, k and v need equally many dimensions, at least 3");
    CODETTA_USER_CHECK(k.shape[rank - 1] == q.shape[rank - 1] && k.shape[rank - 2] == v.shape[rank - 2],
                       "sizes of q {}, k {} and v {} don't fit", shape_text(q.shape), shape_text(k.shape), shape_text(v.shape));
    for (size_t d = 0; d + 2 < rank; ++d) {
        CODETTA_USER_CHECK(k.shape[d] == v.shape[d], "k {} and v {} differ", shape_text(k.shape), shape_text(v.shape));
        // Symbolic numbers of heads are checked at the call.
        bool grouped = d + 3 == rank && !k.shape[d].is(0) && !n.facts().refutes(sym::eq(sym::mod(q.shape[d], k.shape[d]), 0));
        CODETTA_USER_CHECK(q.shape[d] == k.shape[d] || k.shape[d].is(1) || grouped, "q {} and k {} don't fit in dimension {}",
                           shape_text(q.shape), shape_text(k.shape), d);
    }
    if (!mask || !n.has_input(*mask)) return;
    TensorType m = n.input(*mask);
    CODETTA_USER_CHECK(m.dtype == DType::boolean || scalar::is_float(m.dtype), "the mask must be bool or float, not {}",
                       scalar::to_string(m.dtype));
    std::vector<Expr> scores = q.shape;
    scores.back() = k.shape[rank - 2];
    std::vector<Expr> shapes[] = {scores, m.shape};
    CODETTA_USER_CHECK(broadcast_shapes(shapes, n.facts()) == scores, "the mask {} does not broadcast to {}", shape_text(m.shape),
                       shape_text(scores));
}

// Leading coordinates in k and v for those of q: grouped heads share.
std::vector<Expr> kv_index(const TensorType& q, const TensorType& k, const std::vector<Expr>& lead, const sym::Facts& facts) {
    std::vector<Expr> result;
    for (size_t d = 0; d < lead.size(); ++d) {
        if (k.shape[d].is(1))
            result.emplace_back(0);
        else if (q.shape[d] == k.shape[d])
            result.push_back(lead[d]);
        else {
            Expr group = facts.simplify(sym::floor_div(q.shape[d], positive(k.shape[d], facts)));
            result.push_back(sym::floor_div(lead[d], positive(group, facts)));
        }
    }
    return result;
}

// That every head of k and v is shared by the same number of q's, where the facts do not prove it.
std::vector<problem::Check> head_checks(const TensorType& q, const TensorType& k, const sym::Facts& facts) {
    std::vector<problem::Check> checks;
    for (size_t d = 0; d + 2 < q.rank(); ++d) {
        if (k.shape[d].is(1) || q.shape[d] == k.shape[d]) continue;
        const Expr heads = positive(k.shape[d], facts), left = sym::mod(q.shape[d], heads);
        if (!facts.positive(k.shape[d])) checks.push_back({k.shape[d], 1, sym::max(q.shape[d], 1) + 1});
        if (!facts.proves(sym::eq(left, 0))) checks.push_back({left, 0, 1});
    }
    return checks;
}

std::vector<Expr> with(std::vector<Expr> lead, const Expr& a, const Expr& b) {
    lead.push_back(a);
    lead.push_back(b);
    return lead;
}

problem::Problem lower_attention(const NodeView& n) {
    Lowering low(n);
    TensorType q = n.input(0), k = n.input(1), v = n.input(2);
    size_t rank = q.rank();
    DType compute = scalar::compute_type(q.dtype);
    Loops row = low.loops(std::span(q.shape).first(rank - 1));
    std::vector<Expr> lead(row.index.begin(), row.index.end() - 1), kv_lead = kv_index(q, k, lead, n.facts());
    Expr s = row.index.back();
    Loops t = low.reduced(std::vector{k.shape[rank - 2]}), d = low.reduced(std::vector{q.shape.back()}),
          e = low.loops(std::vector{v.shape.back()});
    std::vector<AxisId> cells = row.axes;
    cells.push_back(t.axes[0]);
    StageId scores = low.stage({.name = "scores",
                                .axes = cells,
                                .reads = {low.read(0, with(lead, s, d.index[0])),
                                          low.read(1, with(kv_lead, t.index[0], d.index[0]), {}, 0, head_checks(q, k, n.facts()))},
                                .body = [](Terms x) { return x[0] * x[1]; },
                                .reduce = d.axes,
                                .combiner = scalar::sum(compute)});
    // Causal: a score beyond the diagonal is read as -inf, so that the guard says which blocks need no work.
    std::vector<sym::Condition> guard;
    if (n.flag("causal")) guard.push_back(sym::le(t.index[0], s));
    StageSpec logit{.name = "logits", .axes = cells, .reads = {low.read(scores, low.symbols(cells), guard, guard.empty() ? 0 : -HUGE_VAL)}};
    bool masked = n.has_input(3), boolean = masked && n.input(3).dtype == DType::boolean;
    if (masked) logit.reads.push_back(low.read(3, broadcast_index(n.input(3).shape, with(lead, s, t.index[0]))));
    std::optional<double> scale = scale_of(n, q.shape.back());
    if (!scale) logit.reads.push_back(Lowering::index(q.shape.back()));
    logit.body = [&](Terms x) {
        Term value = scale ? x[0] * *scale : x[0] * rsqrt(cast(x[0].type(), x.back()));
        if (boolean) return select(x[1], value, -HUGE_VAL);
        return masked ? value + cast(value.type(), x[1]) : value;
    };
    StageId logits = low.stage(std::move(logit));
    auto over_t = [&](std::string name, std::vector<AxisId> axes, std::vector<Read> reads, Body body, scalar::Combiner combiner) {
        return low.stage({.name = std::move(name),
                          .axes = std::move(axes),
                          .reads = std::move(reads),
                          .body = std::move(body),
                          .reduce = t.axes,
                          .combiner = std::move(combiner)});
    };
    StageId maximum = over_t("maximum", row.axes, {low.read(logits)}, [](Terms x) { return x[0]; }, scalar::maximum(compute));
    // A row that is masked throughout has weights 0; unless safe is false: then softmax's NaN.
    bool safe = n.flag("safe");
    StageId weights = low.stage({.name = "weights", .axes = cells, .reads = {low.read(logits), low.read(maximum)}, .body = [safe](Terms x) {
                                     return exp(x[0] - (safe ? select(x[1] == -HUGE_VAL, 0.0, x[1]) : x[1]));
                                 }});
    StageId total = over_t("total", row.axes, {low.read(weights)}, [](Terms x) { return x[0]; }, scalar::sum(compute));
    std::vector<AxisId> out_axes = row.axes;
    out_axes.insert(out_axes.end(), e.axes.begin(), e.axes.end());
    StageId mixed = over_t(
        "mixed", out_axes, {low.read(weights), low.read(2, with(kv_lead, t.index[0], e.index[0]))}, [](Terms x) { return x[0] * x[1]; },
        scalar::sum(compute));
    StageId value = low.stage({.name = "value",
                               .axes = out_axes,
                               .reads = {low.read(mixed), low.read(total)},
                               .body = [safe](Terms x) { return safe ? select(x[1] == 0.0, 0.0, x[0] / x[1]) : x[0] / x[1]; },
                               .result = q.dtype});
    low.write(value, 0, with(lead, s, e.index[0]));
    StageId logsumexp =
        low.stage({.name = "logsumexp", .axes = row.axes, .reads = {low.read(maximum), low.read(total)}, .body = [](Terms x) {
                       return select(x[1] == 0.0, 0.0, x[0] + log(x[1]));
                   }});
    low.write(logsumexp, 1, row.index);
    return low.finish();
}

OpDef attention() {
    OpDef op;
    op.name = "attention";
    op.signature = "(q, k, v, mask?) " + kAttributes + ", safe: bool = true";
    op.kind = graph::OpKind::attention;
    op.summary = "torch scaled_dot_product_attention: softmax(q k^T scale + mask) v and the rows' logsumexp (f32); bool masks keep what is "
                 "true; kv heads may be "
                 "fewer; rows masked throughout give 0, or NaN when safe is false.";
    op.infer = [](const NodeView& n) {
        check_attention(n, 0, 3);
        TensorType q = n.input(0);
        std::vector<Expr> rows(q.shape.begin(), q.shape.end() - 1), out = rows;
        out.push_back(n.input(2).shape.back());
        return std::vector{graph::contiguous(q.dtype, out), graph::contiguous(scalar::compute_type(q.dtype), rows)};
    };
    op.lower = lower_attention;
    op.samples = {"f32[1, 2, 3, 4], f32[1, 2, 5, 4], f32[1, 2, 5, 4]",
                  "f32[2, 2, 4, 4], f32[2, 2, 4, 4], f32[2, 2, 4, 4]; causal=true",
                  "bf16[1, 4, 3, 4], bf16[1, 2, 5, 4], bf16[1, 2, 5, 4], bf16[1, 1, 3, 5]",
                  "f32[1, 2, 3, 4], f32[1, 1, 5, 4], f32[1, 1, 5, 6], bool[3, 5]; scale=0.3",
                  "f16[2, 1, 4], f16[2, 3, 4], f16[2, 3, 2]",
                  "f32[1, 2, 3, 4], f32[1, 2, 5, 4], f32[1, 2, 5, 4], f32[1, 1, 3, 5]; safe=false"};
    return op;
}

// Heads of q are taken as [..., kv heads, group], so that gradients of k and v sum over the group.
OpDef attention_backward() {
    OpDef op;
    op.name = "attention_backward";
    op.signature = "(grad, q, k, v, out, logsumexp, mask?) " + kAttributes;
    op.kind = graph::OpKind::attention;
    op.summary = "Gradients of q, k and v of `attention`.";
    op.infer = [](const NodeView& n) {
        check_attention(n, 1, 6);
        TensorType q = n.input(1), k = n.input(2);
        size_t rank = q.rank();
        for (size_t d = 0; d + 3 < rank; ++d)
            CODETTA_USER_CHECK(q.shape[d] == k.shape[d], "the backward does not broadcast k {} over q {}", shape_text(k.shape),
                               shape_text(q.shape));
        std::vector<Expr> rows(q.shape.begin(), q.shape.end() - 1), out = rows;
        out.push_back(n.input(3).shape.back());
        CODETTA_USER_CHECK(n.input(0).shape == out && n.input(4).shape == out && n.input(5).shape == rows,
                           "grad {}, out {} and logsumexp {} must be {}, {} and {}", shape_text(n.input(0).shape),
                           shape_text(n.input(4).shape), shape_text(n.input(5).shape), shape_text(out), shape_text(out), shape_text(rows));
        CODETTA_USER_CHECK(n.input(0).dtype == q.dtype && n.input(4).dtype == q.dtype, "grad and out must be {} as q is",
                           scalar::to_string(q.dtype));
        check_domain(Domain::floating, n.input(5).dtype);
        std::vector<TensorType> types;
        for (size_t i = 1; i <= 3; ++i) types.push_back(graph::contiguous(n.input(i).dtype, n.input(i).shape));
        return types;
    };
    op.decompose = [](const NodeView& n, GraphBuilder& b) {
        Compose c(b);
        TensorType q = n.input(1), k = n.input(2), v = n.input(3);
        size_t rank = q.rank();
        DType t = q.dtype;
        Expr group = n.facts().simplify(sym::floor_div(q.shape[rank - 3], positive(k.shape[rank - 3], n.facts())));
        // All of q's side as [..., kv heads, group, s, x].
        auto grouped = [&](const std::vector<Expr>& shape) {
            std::vector<Expr> result(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(rank - 3));
            result.push_back(k.shape[rank - 3]);
            result.push_back(group);
            result.insert(result.end(), shape.begin() + static_cast<std::ptrdiff_t>(rank - 2), shape.end());
            return result;
        };
        auto side = [&](size_t i) { return c.view(*n.node->inputs[i], grouped(n.input(i).shape)); };
        ValueId grad = side(0), query = side(1), out = side(4), key = *n.node->inputs[2], value = *n.node->inputs[3];
        auto number = [](size_t d) { return Expr(static_cast<int64_t>(d)); };
        std::vector<Expr> batch;
        for (size_t d = 0; d + 2 < rank; ++d) batch.push_back(number(d));
        Expr g = number(rank - 2), s = number(rank - 1), x = number(rank), kt = number(rank - 2), kx = number(rank - 1);
        std::vector<Expr> stat = grouped(q.shape);
        stat.back() = 1;
        DType compute = scalar::compute_type(t);
        ValueId lse = c.rounded(c.view(*n.node->inputs[5], stat), compute);
        std::optional<double> scale = scale_of(n, q.shape.back());
        auto scaled = [&](ValueId a) {
            return scale ? c.scaled(a, *scale)
                         : c.mul(a, c.op("rsqrt", {c.op("full", {}, {{"value", q.shape.back()}, {"dtype", compute}})}));
        };
        ValueId logits = scaled(c.dot(query, key, batch, batch, {x}, {kx})); // [..., kv, group, s, t]
        Expr rows = q.shape[rank - 2], columns = k.shape[rank - 2];
        auto minus_infinity = [&] { return c.op("full", {}, {{"value", -HUGE_VAL}, {"dtype", compute}}); };
        if (n.flag("causal")) {
            ValueId row = c.view(c.op("arange", {}, {{"length", rows}}), {rows, 1}), column = c.op("arange", {}, {{"length", columns}});
            logits = c.op("where", {c.op("le", {column, row}), logits, minus_infinity()});
        }
        if (n.has_input(6)) {
            TensorType m = n.input(6);
            std::vector<Expr> shape = m.shape; // its head dimension as [kv, group] too
            if (shape.size() >= 3) {
                size_t head = shape.size() - 3;
                bool one = shape[head].is(1);
                shape[head] = one ? Expr(1) : k.shape[rank - 3];
                shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(head) + 1, one ? Expr(1) : group);
            }
            ValueId mask = c.view(*n.node->inputs[6], shape);
            if (m.dtype == DType::boolean)
                logits = c.op("where", {mask, logits, minus_infinity()});
            else
                logits = c.add(logits, m.dtype == compute ? mask : c.op("cast", {mask}, {{"dtype", compute}}));
        }
        ValueId weights = c.exp(c.sub(logits, lse));
        auto narrowed = [&](ValueId a) { return c.rounded(a, t); }; // operands of products in the model's dtype, as torch's kernel has them
        ValueId dvalue = c.dot(narrowed(weights), grad, batch, batch, {g, s}, {g, s});
        ValueId dweights = c.dot(grad, value, batch, batch, {x}, {kx});
        ValueId delta = c.sum(c.mul(c.wide(grad), c.wide(out)), {rank}, true);
        ValueId dlogits = narrowed(scaled(c.mul(weights, c.sub(dweights, delta))));
        ValueId dquery = c.dot(dlogits, key, batch, batch, {x}, {kt});
        ValueId dkey = c.dot(dlogits, query, batch, batch, {g, s}, {g, s});
        return std::vector{c.rounded(c.view(dquery, q.shape), t), c.rounded(dkey, t), c.rounded(dvalue, t)};
    };
    const std::string qkv = "f32[1, 2, 3, 4], f32[1, 2, 3, 4], f32[1, 2, 5, 4], f32[1, 2, 5, 4], f32[1, 2, 3, 4], f32[1, 2, 3] in 1..3";
    op.samples = {
        qkv, qkv + "; causal=true", qkv + ", f32[1, 1, 3, 5]; scale=0.3",
        "bf16[1, 4, 3, 4], bf16[1, 4, 3, 4], bf16[1, 2, 5, 4], bf16[1, 2, 5, 4], bf16[1, 4, 3, 4], f32[1, 4, 3] in 1..3, bool[1, 4, 3, 5]"};
    return op;
}

} // namespace

std::vector<OpDef> attention_ops() { return {attention(), attention_backward()}; }

} // namespace codetta::ops
