#include "tests/fuzz/differential/compare.h"

#include <cmath>
#include <random>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "tests/fuzz/differential/vocabulary.h"

namespace codetta::test {

using scalar::DType;
using scalar::HostArray;

namespace {

enum class Sort : uint8_t { finite, infinite, negative_infinite, nan };
Sort sort_of(double v) {
    return std::isnan(v) ? Sort::nan : !std::isinf(v) ? Sort::finite : v > 0 ? Sort::infinite : Sort::negative_infinite;
}

Interpreted interpreted(const graph::Graph& g, const graph::OpSet& ops, std::vector<HostArray> arguments, const sym::Bindings& sizes,
                        bool exact) {
    Interpreted result;
    result.arguments = std::move(arguments);
    try {
        result.outputs = graph::interpret(g, ops, result.arguments, size_arguments(g, sizes), exact);
    } catch (const base::IndexError& e) {
        result.index_error = e.message();
    }
    return result;
}

} // namespace

std::vector<int64_t> size_arguments(const graph::Graph& g, const sym::Bindings& sizes) {
    std::vector<int64_t> result;
    for (const std::string& s : g.size_arguments) result.push_back(sizes.at(s));
    return result;
}

Interpreted interpreted(const RandomGraph& g, const graph::OpSet& ops, const sym::Bindings& sizes, uint64_t seed, bool exact) {
    return interpreted(g.graph, ops, make_arguments(g, sizes, seed), sizes, exact);
}

std::optional<Interpreted> disturbed(const RandomGraph& g, const graph::OpSet& ops, const sym::Bindings& sizes, uint64_t seed) {
    graph::Graph with = g.graph;
    with.nodes.clear();
    std::vector<HostArray> arguments = make_arguments(g, sizes, seed);
    std::mt19937_64 random(seed + 1);
    const auto value = [&](graph::TensorType t) {
        with.values.push_back({"disturbed" + std::to_string(with.values.size()), std::move(t)});
        return graph::ValueId(with.values.size() - 1);
    };
    const auto node = [&](const char* op, std::vector<std::optional<graph::ValueId>> inputs, graph::Attributes attributes, DType t) {
        const graph::ValueId out = value(graph::contiguous(t, with.type(*inputs[0]).shape));
        with.nodes.push_back({op, std::move(inputs), std::move(attributes), {out}, std::nullopt, ""});
        return out;
    };
    bool any = false;
    for (graph::Node n : g.graph.nodes) {
        if (is_sensitive(ops.get(n.op)))
            for (auto& v : n.inputs) {
                if (!v || !scalar::is_float(with.type(*v).dtype)) continue;
                const DType t = with.type(*v).dtype;
                const double error = 4 * std::min(rounding_unit(t), 0x1p-24);
                const graph::ValueId factor = value(graph::contiguous(DType::f64, with.type(*v).shape));
                with.inputs.push_back({factor, graph::InputKind::argument, false, std::nullopt});
                std::vector<int64_t> extents;
                for (const sym::Expr& e : with.type(*v).shape) extents.push_back(sym::evaluate(e, sizes));
                HostArray factors(DType::f64, extents);
                for (int64_t i = 0; i < factors.size(); ++i)
                    factors.as<double>()[i] = 1 + error * (static_cast<double>(random() >> 11) * 0x1p-52 - 1);
                arguments.push_back(factors);
                const graph::ValueId wide = t == DType::f64 ? *v : node("cast", {*v}, {{"dtype", DType::f64}}, DType::f64);
                const graph::ValueId product = node("mul", {wide, factor}, {}, DType::f64);
                v = t == DType::f64 ? product : node("cast", {product}, {{"dtype", t}}, t);
                any = true;
            }
        with.nodes.push_back(std::move(n));
    }
    if (!any) return std::nullopt;
    return interpreted(with, ops, std::move(arguments), sizes, true);
}

std::optional<std::string> differs(const HostArray& got, const HostArray& exact, const std::vector<HostArray>& others, double unit) {
    if (got.extents() != exact.extents()) return "another shape";
    const DType t = got.dtype();
    if (t == DType::f64) unit = std::max(unit, 0x1p-50); // the judge sums in double too
    double worst = 0, squares = 0;
    size_t count = 0;
    scalar::for_each_coordinate(got.extents(), [&](std::span<const int64_t> at) {
        if (!scalar::is_float(t)) return;
        const double e = exact.load(at).f;
        if (!std::isfinite(e)) return;
        for (const HostArray& other : others)
            if (const double o = other.load(at).f; std::isfinite(o)) worst = std::max(worst, std::fabs(e - o));
        squares += e * e;
        ++count;
    });
    const double rms = count ? std::sqrt(squares / static_cast<double>(count)) : 0;
    std::optional<std::string> result;
    scalar::for_each_coordinate(got.extents(), [&](std::span<const int64_t> at) {
        if (result) return;
        const scalar::Scalar g = got.load(at), e = exact.load(at), r = others[0].load(at);
        const double tolerance = 8 * worst + 16 * unit * (std::fabs(e.f) + std::max(rms, 1.0));
        bool same = true;
        if (!scalar::is_float(t))
            same = g.i == scalar::as_integer(e) || g.i == r.i;
        else if (sort_of(e.f) != sort_of(r.f))
            return; // rounding decides
        else if (!std::isfinite(e.f))
            same = sort_of(g.f) == sort_of(e.f);
        else
            same = std::isfinite(g.f) && std::fabs(g.f - e.f) <= tolerance;
        if (same) return;
        std::string place;
        for (const int64_t i : at) place += (place.empty() ? "" : ", ") + std::to_string(i);
        result = scalar::is_float(t)
                     ? fmt::format("[{}] is {}, must be {} (with roundings {}, tolerance {})", place, g.f, e.f, r.f, tolerance)
                     : fmt::format("[{}] is {}, must be {}", place, g.i, scalar::as_integer(e));
    });
    return result;
}

} // namespace codetta::test
