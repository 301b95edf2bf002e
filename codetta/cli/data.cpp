#include "codetta/cli/data.h"

#include <cmath>
#include <random>

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"

namespace codetta::cli {

namespace {

constexpr int64_t usual_size = 4;
constexpr double units_allowed = 8; // f32 accumulates in f32

std::vector<int64_t> evaluated(const std::vector<sym::Expr>& list, const sym::Bindings& sizes) {
    std::vector<int64_t> values;
    for (const sym::Expr& e : list) values.push_back(sym::evaluate(e, sizes));
    return values;
}

/// An array with these strides over memory of its own.
scalar::HostArray with_strides(scalar::DType dtype, const std::vector<int64_t>& extents, const std::vector<int64_t>& strides) {
    int64_t elements = 1;
    for (size_t d = 0; d < extents.size(); ++d) elements = extents[d] == 0 || elements == 0 ? 0 : elements + (extents[d] - 1) * strides[d];
    return scalar::HostArray(dtype, {elements}).view(extents, strides, 0);
}

double unit_of(scalar::DType t) {
    switch (t) {
    case scalar::DType::bf16: return 0x1p-8;
    case scalar::DType::f16: return 0x1p-11;
    case scalar::DType::f32: return units_allowed * 0x1p-24;
    default: return units_allowed * 0x1p-53;
    }
}

template <class Names>
void check_name(const std::string& name, const Names& names, std::string_view what) {
    std::vector<std::string_view> known(names.begin(), names.end());
    for (const std::string_view k : known)
        if (k == name) return;
    throw base::UserError(fmt::format("there is no {} '{}'{}", what, name, base::did_you_mean(name, known)));
}

} // namespace

sym::Bindings choose_sizes(const std::set<std::string>& symbols, const sym::Facts& facts, const sym::Bindings& given) {
    sym::Bindings sizes;
    for (const auto& [name, value] : given) check_name(name, symbols, "size");
    for (const std::string& name : symbols) {
        const sym::Expr symbol = sym::Expr::symbol(name);
        const sym::Range range = facts.range(symbol);
        const int64_t divisor = std::max<int64_t>(1, facts.divisor(symbol));
        int64_t value = std::min(std::max(usual_size, range.lo), range.hi);
        value = (value + divisor - 1) / divisor * divisor;
        sizes[name] = given.contains(name) ? given.find(name)->second : value;
    }
    return sizes;
}

std::vector<scalar::HostArray> random_inputs(const graph::Graph& g, const sym::Bindings& sizes, const std::map<std::string, Range>& ranges,
                                             uint64_t seed) {
    std::vector<std::string> names;
    for (const graph::Input& i : g.inputs) names.push_back(g.value(i.value).name);
    for (const auto& [name, range] : ranges) check_name(name, names, "input");
    std::vector<scalar::HostArray> arrays;
    std::mt19937_64 random(seed);
    for (const graph::Input& input : g.inputs) {
        if (input.kind == graph::InputKind::constant) continue;
        const graph::Value& v = g.value(input.value);
        const bool is_float = scalar::is_float(v.type.dtype);
        scalar::HostArray a = with_strides(v.type.dtype, evaluated(v.type.shape, sizes), evaluated(v.type.strides, sizes));
        Range range = is_float ? Range{-1, 1} : Range{0, 2};
        if (is_float && input.kind == graph::InputKind::parameter && a.extents().size() > 1)
            range.hi = std::sqrt(3 / std::max(1.0, static_cast<double>(a.extents().back()))), range.lo = -range.hi;
        if (const auto known = ranges.find(v.name); known != ranges.end()) range = known->second;
        scalar::for_each_coordinate(a.extents(), [&](std::span<const int64_t> at) {
            const double x = range.lo + (range.hi - range.lo) * static_cast<double>(random() >> 11) * 0x1p-53;
            a.store(at, is_float ? scalar::make_float(v.type.dtype, x)
                                 : scalar::make_integer(v.type.dtype, static_cast<int64_t>(std::floor(x))));
        });
        arrays.push_back(std::move(a));
    }
    return arrays;
}

std::vector<scalar::HostArray> clones(const std::vector<scalar::HostArray>& arrays) {
    std::vector<scalar::HostArray> result;
    for (const scalar::HostArray& a : arrays) {
        result.push_back(with_strides(a.dtype(), a.extents(), a.strides()));
        scalar::for_each_coordinate(a.extents(), [&](std::span<const int64_t> at) { result.back().store(at, a.load(at)); });
    }
    return result;
}

Distance distance(const scalar::HostArray& got, const scalar::HostArray& exact) {
    CODETTA_CHECK(got.extents() == exact.extents(), "results of different shapes are compared");
    Distance d;
    double difference = 0, magnitude = 0;
    scalar::for_each_coordinate(got.extents(), [&](std::span<const int64_t> at) {
        const double a = scalar::as_double(got.load(at)), b = scalar::as_double(exact.load(at));
        if (!std::isfinite(a) || !std::isfinite(b)) {
            d.same_nonfinite &= (std::isnan(a) && std::isnan(b)) || a == b;
            return;
        }
        d.largest = std::max(d.largest, std::fabs(a - b));
        difference += (a - b) * (a - b);
        magnitude += b * b;
    });
    d.relative_rms = difference == 0 ? 0 : magnitude == 0 ? HUGE_VAL : std::sqrt(difference / magnitude);
    return d;
}

bool within_contract(const Distance& d, const Distance& interpreter, scalar::DType dtype) {
    if (!d.same_nonfinite) return false;
    if (!scalar::is_float(dtype)) return d.largest == 0;
    return d.relative_rms <= std::max(1.5 * interpreter.relative_rms, unit_of(dtype));
}

} // namespace codetta::cli
