#include "codetta/ops/access.h"

#include <algorithm>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"

namespace codetta::ops {

OpDef access_op(AccessOp entry) {
    OpDef op;
    op.name = entry.name;
    op.signature = entry.signature;
    op.kind = entry.kind;
    op.summary = entry.summary;
    op.samples = entry.samples;
    op.infer = [entry](const NodeView& n) { return std::vector{graph::contiguous(n.input(0).dtype, entry.shape(n))}; };
    op.lower = [entry](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        Where w = entry.where(n, loops.index);
        std::vector<Expr> coordinates;
        for (const Expr& c : w.coordinates) coordinates.push_back(n.facts().simplify(c));
        low.write(low.stage({.name = "value", .axes = loops.axes, .reads = {low.read(0, coordinates, w.guard, w.fill, w.checks)}}), 0,
                  loops.index);
        return low.finish();
    };
    return op;
}

Expr clamped(const Expr& e, const Expr& size, const sym::Facts& facts) {
    Expr value = e;
    if (facts.proves(sym::lt(value, 0))) value = value + size;
    if (facts.proves(sym::le(size, value))) return size;
    if (value.constant() && *value.constant() >= sym::kUnbounded) return size;
    if (!facts.proves(sym::le(0, value))) value = sym::max(0, value);
    if (!facts.proves(sym::le(value, size))) value = sym::min(value, size);
    return facts.simplify(value);
}

bool may_agree(std::span<const Expr> a, std::span<const Expr> b, const sym::Facts& facts) {
    if (a.size() != b.size()) return false;
    for (size_t d = 0; d < a.size(); ++d)
        if (a[d] != b[d] && facts.refutes(sym::eq(a[d], b[d]))) return false;
    return true;
}

Expr slice_length(const Expr& start, const Expr& end, const Expr& step, const sym::Facts& facts) {
    Expr length = facts.simplify(sym::ceil_div(end - start, step));
    return facts.proves(sym::le(0, length)) ? length : facts.simplify(sym::max(0, length));
}

Slice slice_of(const NodeView& n, std::span<const Expr> shape) {
    Slice s;
    CODETTA_USER_CHECK(!shape.empty(), "a 0-d tensor can't be sliced");
    s.dim = dimension(n.integer("dim"), shape.size());
    s.step = n.expr("step");
    CODETTA_USER_CHECK(n.facts().proves(sym::le(1, s.step)), "the step is {}; it must be positive", sym::to_string(s.step));
    s.start = clamped(n.expr("start"), shape[s.dim], n.facts());
    s.end = n.has("end") ? clamped(n.expr("end"), shape[s.dim], n.facts()) : shape[s.dim];
    s.length = slice_length(s.start, s.end, s.step, n.facts());
    return s;
}

Selected select_index(const NodeView& n, const Expr& size) {
    Expr index = n.expr("index");
    if (n.facts().proves(sym::lt(index, 0))) index = index + size;
    CODETTA_USER_CHECK(!n.facts().proves(sym::le(size, index)) && !n.facts().proves(sym::lt(index, 0)),
                       "index {} is out of range for size {}", sym::to_string(n.expr("index")), sym::to_string(size));
    const bool sure = n.facts().proves(sym::le(0, index)) && n.facts().proves(sym::lt(index, size));
    return {index, sure ? std::vector<problem::Check>{} : std::vector<problem::Check>{{index, 0, size}}};
}

namespace {

Expr product_of(std::span<const Expr> shape) { return sym::product(shape); }

// Coordinates within one group of dimensions of equal products.
void reshape_group(std::span<const Expr> from, std::span<const Expr> to, std::span<const Expr> index, std::span<Expr> result,
                   const sym::Facts& facts) {
    Expr linear = 0;
    for (size_t d = 0; d < to.size(); ++d) linear = linear * to[d] + index[d];
    size_t outermost = 0;
    while (outermost < from.size() && from[outermost].is(1)) ++outermost;
    Expr stride = 1;
    for (size_t d = from.size(); d-- > 0;) {
        if (from[d].is(1) || from[d].is(0) || stride.is(0)) { // nothing to say, or nothing there
            result[d] = 0;
            stride = stride * from[d];
            continue;
        }
        Expr c = stride.is(1) ? linear : sym::floor_div(linear, positive(stride, facts));
        result[d] = d == outermost ? c : sym::mod(c, positive(from[d], facts));
        stride = stride * from[d];
    }
}

// The shortest leading parts of both shapes with equal products; the whole of both when there are none.
std::pair<size_t, size_t> next_group(std::span<const Expr> from, std::span<const Expr> to, const sym::Facts& facts) {
    for (size_t total = 2; total <= from.size() + to.size(); ++total)
        for (size_t a = 1; a < total && a <= from.size(); ++a) {
            size_t b = total - a;
            if (b > to.size()) continue;
            Expr p = product_of(from.first(a)), q = product_of(to.first(b));
            if (p.is(0)) continue;
            if (p == q || facts.proves(sym::eq(p, q))) return {a, b};
        }
    return {from.size(), to.size()};
}

} // namespace

std::vector<Expr> reshaped(std::span<const Expr> from, std::span<const Expr> to, std::span<const Expr> index, const sym::Facts& facts) {
    std::vector<Expr> result(from.size(), Expr(0));
    size_t f = 0, t = 0;
    while (f < from.size() && t < to.size()) {
        if (from[f].is(1)) {
            ++f;
            continue;
        }
        if (to[t].is(1)) {
            ++t;
            continue;
        }
        auto [a, b] = next_group(from.subspan(f), to.subspan(t), facts);
        reshape_group(from.subspan(f, a), to.subspan(t, b), index.subspan(t, b), std::span(result).subspan(f, a), facts);
        f += a;
        t += b;
    }
    for (Expr& e : result) e = facts.simplify(e);
    return result;
}

Where strided_access(const NodeView& n, const std::vector<Expr>& index) {
    TensorType x = n.input(0);
    std::vector<Expr> strides = n.exprs("stride"),
                      base = n.has("base_strides") ? n.exprs("base_strides") : graph::contiguous(x.dtype, x.shape).strides;
    CODETTA_USER_CHECK(strides.size() == index.size(), "size and stride need equally many entries");
    CODETTA_USER_CHECK(base.size() == x.rank(), "base_strides needs {} entries", x.rank());
    Expr linear = n.expr("offset");
    for (size_t d = 0; d < index.size(); ++d) linear = linear + index[d] * strides[d];
    std::vector<Expr> coordinates(x.rank(), Expr(0));
    std::vector<size_t> order;
    for (size_t d = 0; d < x.rank(); ++d)
        if (!x.shape[d].is(1)) order.push_back(d);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return base[a] != base[b] && n.facts().proves(sym::lt(base[b], base[a])); });
    Expr inner = 1;
    for (size_t k = order.size(); k-- > 0;) {
        size_t d = order[k];
        CODETTA_USER_CHECK(base[d] == inner || n.facts().proves(sym::eq(base[d], inner)),
                           "as_strided over a tensor with gaps (base strides {}) is not supported", shape_text(base));
        Expr c = sym::floor_div(linear, positive(inner, n.facts()));
        coordinates[d] = k == 0 ? c : sym::mod(c, positive(x.shape[d], n.facts()));
        inner = inner * x.shape[d];
    }
    return {coordinates};
}

} // namespace codetta::ops
