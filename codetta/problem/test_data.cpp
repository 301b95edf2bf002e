#include "codetta/problem/test_data.h"

#include "codetta/base/error.h"
#include "codetta/base/hash.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace codetta::problem {

namespace {

using scalar::DType;
using scalar::HostArray;
using scalar::Scalar;

struct Range {
    int64_t lo = 0, hi = 0; // [lo, hi)
};

class Random { // splitmix64: small, and the same everywhere
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    double normal() { // the sum of four uniforms, variance 1: bounded, so that no test sees an outlier
        double sum = uniform() + uniform() + uniform() + uniform();
        return (sum - 2) * std::sqrt(3.0);
    }

private:
    uint64_t state_;
};

// The range that the values of operand o must lie in when they index something.
std::optional<Range> index_range(const Problem& p, uint32_t o, const sym::Bindings& sizes) {
    std::optional<Range> range;
    auto narrow = [&](int64_t lo, int64_t hi) { range = range ? Range{std::max(range->lo, lo), std::min(range->hi, hi)} : Range{lo, hi}; };
    for (const Stage& s : p.stages) {
        for (size_t i = 0; i < s.reads.size(); ++i) {
            if (s.reads[i].from != Read::From::operand || s.reads[i].source != o) continue;
            sym::Expr value = read_symbol(i);
            auto scan = [&](const Access& a, const std::vector<sym::Expr>& shape) {
                bool checked = false;
                for (const Check& c : a.checks) {
                    auto affine = sym::as_affine(c.index, value.name());
                    if (!affine || !affine->coefficient.is(1)) continue;
                    std::set<std::string> rest;
                    for (const sym::Expr* e : std::initializer_list<const sym::Expr*>{&affine->rest, &c.lo, &c.hi})
                        sym::collect_symbols(*e, rest);
                    if (std::ranges::any_of(rest, [&](const std::string& n) { return !sizes.contains(n); })) continue;
                    int64_t shift = sym::evaluate(affine->rest, sizes);
                    narrow(sym::evaluate(c.lo, sizes) - shift, sym::evaluate(c.hi, sizes) - shift);
                    checked = true;
                }
                for (size_t d = 0; !checked && d < a.coordinates.size() && d < shape.size(); ++d)
                    if (sym::depends_on(a.coordinates[d], value.name())) narrow(0, sym::evaluate(shape[d], sizes));
            };
            for (const Read& r : s.reads) {
                if (r.from == Read::From::operand) scan(r.access, p.operands[r.source].shape);
                if (r.from != Read::From::stage) continue;
                std::vector<sym::Expr> extents;
                for (AxisId a : p.stages[r.source].axes) extents.push_back(p.axis(a).extent);
                scan(r.access, extents);
            }
            for (const Write& w : s.writes) scan(w.access, p.operand(w.operand).shape);
        }
    }
    return range;
}

// How many elements a sum runs over in which o is a factor.
int64_t fan_in(const Problem& p, uint32_t o, const sym::Bindings& sizes) {
    int64_t most = 1;
    for (const Stage& s : p.stages) {
        if (!s.combiner || s.combiner->name != "sum" || s.scan) continue;
        int64_t n = 1;
        for (AxisId a : s.reduce) n *= std::max<int64_t>(sym::evaluate(p.axis(a).extent, sizes), 1);
        size_t floats = 0, last = 0;
        for (size_t i = 0; i < s.reads.size(); ++i)
            if (s.reads[i].from == Read::From::operand && scalar::is_float(read_dtype(p, s.reads[i]))) ++floats, last = i;
        // The last factor carries the scale: weights, as in fan-in initialisation.
        if (floats > 1 && s.reads[last].source == o) most = std::max(most, n);
    }
    return most;
}

double special_value(uint64_t pick) {
    constexpr double values[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 -0.0,
                                 1e-40,
                                 3e38};
    return values[pick % std::size(values)];
}

} // namespace

std::vector<HostArray> test_data(const Problem& p, const sym::Bindings& sizes, const TestDataOptions& options) {
    std::vector<HostArray> arrays(p.operands.size());
    auto evaluated = [&](const std::vector<sym::Expr>& list) {
        std::vector<int64_t> values;
        for (const sym::Expr& e : list) values.push_back(sym::evaluate(e, sizes));
        return values;
    };
    for (uint32_t i = 0; i < p.operands.size(); ++i) {
        const Operand& o = p.operands[i];
        std::vector<int64_t> extents = evaluated(o.shape), strides = evaluated(o.strides);
        if (o.aliases && o.aliases->value < i) { // an alias may come before its target: done below
            arrays[i] = arrays[o.aliases->value].view(extents, strides, 0);
            continue;
        }
        int64_t lowest = 0, highest = 0;
        for (size_t d = 0; d < extents.size(); ++d) {
            (strides[d] < 0 ? lowest : highest) += std::max<int64_t>(extents[d] - 1, 0) * strides[d];
        }
        HostArray a = HostArray(o.dtype, {highest - lowest + 1}).view(extents, strides, -lowest);
        Random random(base::hash_combine(options.seed, i + 1));
        auto range = scalar::is_float(o.dtype) ? std::nullopt : index_range(p, i, sizes);
        double scale = options.scale / std::sqrt(static_cast<double>(fan_in(p, i, sizes)));
        scalar::for_each_coordinate(extents, [&](std::span<const int64_t> c) {
            Scalar v{o.dtype, 0, 0};
            if (o.role == Role::out) {
                v = scalar::is_float(o.dtype) ? scalar::make_float(o.dtype, 777) : scalar::make_integer(o.dtype, 77);
            } else if (scalar::is_float(o.dtype)) {
                v = scalar::make_float(o.dtype, random.normal() * scale);
                if (options.special && random.next() % 16 == 0) v = scalar::make_float(o.dtype, special_value(random.next()));
            } else if (o.dtype == DType::boolean) {
                v.i = static_cast<int64_t>(random.next() & 1);
            } else if (range) {
                v.i = range->hi > range->lo ? range->lo + static_cast<int64_t>(random.next() % static_cast<uint64_t>(range->hi - range->lo))
                                            : range->lo;
            } else {
                v = scalar::make_integer(o.dtype, static_cast<int64_t>(random.next() % 19) - (o.dtype == DType::u8 ? 0 : 9));
            }
            a.store(c, v);
        });
        arrays[i] = a;
    }
    for (uint32_t i = 0; i < p.operands.size(); ++i)
        if (const Operand& o = p.operands[i]; o.aliases && o.aliases->value > i)
            arrays[i] = arrays[o.aliases->value].view(evaluated(o.shape), evaluated(o.strides), 0);
    return arrays;
}

} // namespace codetta::problem
