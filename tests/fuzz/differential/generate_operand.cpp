#include <algorithm>
#include <tuple>

#include "tests/fuzz/differential/generator.h"

namespace codetta::test {

using graph::TensorType;
using graph::ValueId;
using scalar::DType;

// A layout that the caller might have: packed, transposed, with gaps, repeated or overlapping.
Exprs Generator::layout(const Exprs& shape, bool& overlaps) {
    Exprs strides = graph::contiguous(DType::f32, shape).strides;
    overlaps = false;
    const size_t kind = pick(8);
    if (shape.empty() || kind < 4) return strides;
    if (kind == 4) { // another order of the dimensions
        std::vector<size_t> order(shape.size());
        for (size_t d = 0; d < order.size(); ++d) order[d] = d;
        std::shuffle(order.begin(), order.end(), random_);
        sym::Expr next = 1;
        for (const size_t d : order) {
            strides[d] = next;
            next = next * sym::max(shape[d], 1);
        }
        return strides;
    }
    if (kind == 5) { // gaps
        const int64_t gap = 2 + static_cast<int64_t>(pick(2));
        for (sym::Expr& s : strides) s = s * gap;
        return strides;
    }
    overlaps = true;
    if (kind == 6)
        strides[pick(strides.size())] = 0;
    else
        for (sym::Expr& s : strides) s = 1 + static_cast<int64_t>(pick(2));
    return strides;
}

// [lo, hi) of an integer dtype: holds an integer, and for u8 no negative one.
static std::pair<double, double> whole_range(DType t, double lo, double hi) {
    lo = std::ceil(t == DType::u8 ? std::max(lo, 0.0) : lo);
    return {lo, std::max(std::ceil(hi), lo + 1)};
}

ValueId Generator::fresh(const Want& want) {
    double lo = want.lo, hi = want.hi;
    if (!scalar::is_float(want.type.dtype)) std::tie(lo, hi) = whole_range(want.type.dtype, lo, hi);
    if (!is_symbolic(want.type) && pick(16) == 0) return fresh_constant(want.type, lo, hi);
    bool overlaps = false;
    const TensorType t{want.type.dtype, want.type.shape, layout(want.type.shape, overlaps)};
    const bool parameter = !is_symbolic(t) && pick(4) == 0;
    const std::string name = "x" + std::to_string(b_.graph().inputs.size());
    const ValueId v = b_.input(name, t, parameter ? graph::InputKind::parameter : graph::InputKind::argument, parameter && pick(3) > 0);
    const bool special = special_ && !want.plain && scalar::is_float(t.dtype) && pick(2) == 0;
    result_.plans[name] = {lo, hi, special, {}};
    meta(v) = {true, special ? -HUGE_VAL : lo, special ? HUGE_VAL : hi, rounding_unit(t.dtype), 0};
    if (overlaps) overlapping_.insert(v.value);
    values_.push_back(v);
    return v;
}

// Data inside the graph: what depends on no input is computed at compile time.
ValueId Generator::fresh_constant(const TensorType& t, double lo, double hi) {
    std::vector<int64_t> extents;
    for (const sym::Expr& e : t.shape) extents.push_back(*e.constant());
    scalar::HostArray data(t.dtype, extents);
    scalar::for_each_coordinate(extents, [&](std::span<const int64_t> at) {
        const double value = lo + (hi - lo) * static_cast<double>(random_() >> 11) * 0x1p-53;
        data.store(at, scalar::is_float(t.dtype) ? scalar::make_float(t.dtype, value)
                                                 : scalar::make_integer(t.dtype, static_cast<int64_t>(std::floor(value))));
    });
    const ValueId v = b_.constant(data);
    meta(v) = {true, lo, hi, rounding_unit(t.dtype), 0};
    values_.push_back(v);
    return v;
}

ValueId Generator::bounded(ValueId v, double lo, double hi) {
    const DType t = b_.type(v).dtype;
    if (t == DType::boolean || fits(v, lo, hi)) return v;
    ValueId result = v;
    if (scalar::is_float(t)) {
        const bool usual = lo <= -2 && hi >= 2;
        if (usual && meta(v).growth <= 2) return v;
        result = add1("tanh", {v});
        if (hi - lo != 2) result = add1("mul", {result}, {{"scalar", (hi - lo) * 0.499}});
        if (lo + hi != 0) result = add1("add", {result}, {{"scalar", (lo + hi) / 2}});
    } else {
        const auto [first, last] = whole_range(t, lo, hi);
        result = add1("remainder", {v}, {{"scalar", static_cast<int64_t>(last - first)}});
        if (first != 0) result = add1("add", {result}, {{"scalar", static_cast<int64_t>(first)}});
    }
    meta(result).lo = lo, meta(result).hi = hi, meta(result).growth = 0;
    return result;
}

std::optional<ValueId> Generator::reshaped(ValueId v, const Exprs& shape) {
    const TensorType t = b_.type(v);
    if (t.shape == shape) return v;
    const sym::Expr have = graph::element_count(t), want = sym::product(shape);
    if (have == want && !want.is(0)) return add1("view", {v}, {{"shape", shape}});
    if (!have.constant() || !want.constant() || have.is(0) || want.is(0)) return std::nullopt;
    ValueId flat = t.rank() == 1 ? v : add1("view", {v}, {{"shape", Exprs{have}}});
    const int64_t times = (*want.constant() + *have.constant() - 1) / *have.constant();
    if (times > 1) flat = add1("repeat", {flat}, {{"repeats", Exprs{times}}});
    if (times * *have.constant() != *want.constant()) flat = add1("slice", {flat}, {{"dim", int64_t{0}}, {"end", want}});
    return shape.size() == 1 ? flat : add1("view", {flat}, {{"shape", shape}});
}

ValueId Generator::operand(const Want& want) {
    if (pick(5) > 0)
        for (int attempt = 0; attempt < 12; ++attempt) {
            if (values_.empty()) break;
            const ValueId v = pick(2) ? values_[values_.size() - 1 - pick(std::min<size_t>(values_.size(), 6))] : any_of(values_);
            const TensorType t = b_.type(v);
            if (t.dtype != want.type.dtype || written_.contains(v.value)) continue;
            if (attempt < 8 && t.shape != want.type.shape) continue;
            if (want.crisp && scalar::is_float(t.dtype) && (!meta(v).crisp || !fits(v, want.lo, want.hi))) continue;
            if (want.plain && scalar::is_float(t.dtype) && special_) continue;
            if (const auto same = reshaped(v, want.type.shape)) return bounded(*same, want.lo, want.hi);
        }
    return fresh(want);
}

} // namespace codetta::test
