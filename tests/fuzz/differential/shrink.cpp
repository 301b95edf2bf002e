#include <chrono>

#include "codetta/base/error.h"
#include "tests/fuzz/differential/check.h"

namespace codetta::test {

namespace {

constexpr std::chrono::seconds longest(60);

// g with only these outputs, what they need and the nodes that write in place; values in `given` come from outside.
std::optional<RandomGraph> part(const RandomGraph& g, const graph::OpSet& ops, const std::vector<graph::Output>& outputs,
                                const std::vector<bool>& without) {
    const graph::Graph& old = g.graph;
    std::vector<bool> needed(old.values.size(), false);
    for (const graph::Output& o : outputs)
        if (o.kind != graph::Output::Kind::size) needed[o.value.value] = true;
    std::vector<bool> keep(old.nodes.size(), false);
    for (size_t i = old.nodes.size(); i-- > 0;) {
        const graph::Node& n = old.nodes[i];
        for (const graph::ValueId v : n.outputs) keep[i] = keep[i] || needed[v.value];
        keep[i] = (keep[i] || n.into) && !without[i];
        if (keep[i])
            for (const auto& v : n.inputs)
                if (v) needed[v->value] = true;
        if (keep[i] && n.into) needed[n.into->value] = true;
    }
    RandomGraph result = g;
    graph::Graph small;
    small.name = old.name, small.facts = old.facts, small.size_arguments = old.size_arguments;
    std::vector<std::optional<graph::ValueId>> now(old.values.size());
    const auto take = [&](graph::ValueId v) {
        now[v.value] = graph::ValueId(small.values.size());
        small.values.push_back(old.value(v));
        return *now[v.value];
    };
    for (graph::Input input : old.inputs)
        if (needed[input.value.value]) {
            input.value = take(input.value);
            small.inputs.push_back(input);
        }
    for (size_t i = 0; i < old.nodes.size(); ++i)
        if (!keep[i])
            for (const graph::ValueId v : old.nodes[i].outputs)
                if (needed[v.value]) {
                    small.inputs.push_back({take(v), graph::InputKind::argument, false, std::nullopt});
                    if (!scalar::is_float(old.type(v).dtype)) result.plans[old.value(v).name] = {0, 2, false, {}};
                }
    for (size_t i = 0; i < old.nodes.size(); ++i) {
        if (!keep[i]) continue;
        graph::Node n = old.nodes[i];
        for (auto& v : n.inputs)
            if (v) v = now[v->value];
        for (graph::ValueId& v : n.outputs) v = take(v);
        if (n.into) n.into = now[n.into->value];
        small.nodes.push_back(std::move(n));
    }
    for (graph::Output o : outputs) {
        if (o.kind != graph::Output::Kind::size) o.value = *now[o.value.value];
        if (o.kind == graph::Output::Kind::value && graph::find_input(small, o.value)) o.kind = graph::Output::Kind::input;
        small.outputs.push_back(o);
    }
    result.graph = std::move(small);
    try {
        graph::verify(result.graph, ops);
    } catch (const std::exception&) {
        return std::nullopt;
    }
    return result;
}

} // namespace

RandomGraph shrunk(RandomGraph g, const graph::OpSet& ops, const base::Target& target, uint64_t seed, Failure& failure) {
    const auto start = std::chrono::steady_clock::now();
    for (bool smaller = true; smaller;) {
        smaller = false;
        const auto attempt = [&](const std::vector<graph::Output>& outputs, const std::vector<bool>& without) {
            if (std::chrono::steady_clock::now() - start > longest) return false;
            const auto candidate = part(g, ops, outputs, without);
            if (!candidate || (candidate->graph.nodes.size() >= g.graph.nodes.size() && outputs.size() >= g.graph.outputs.size()))
                return false;
            const auto still = check(*candidate, ops, target, seed);
            if (!still || still->kind != failure.kind) return false;
            g = *candidate, failure = *still;
            return smaller = true;
        };
        const std::vector<bool> none(g.graph.nodes.size(), false);
        for (size_t o = 0; o < g.graph.outputs.size() && !smaller && g.graph.outputs.size() > 1; ++o)
            if (!attempt({g.graph.outputs[o]}, none) && !smaller) {
                std::vector<graph::Output> fewer = g.graph.outputs;
                fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(o));
                attempt(fewer, none);
            }
        for (size_t n = 0; n < g.graph.nodes.size() && !smaller; ++n) {
            std::vector<bool> without = none;
            without[n] = true;
            attempt(g.graph.outputs, without);
        }
    }
    return g;
}

} // namespace codetta::test
