#include "tests/fuzz/differential/coverage.h"

#include <algorithm>

#include <fmt/format.h>

namespace codetta::test {

using scalar::DType;

void count(const RandomGraph& g, const graph::OpSet& ops, Coverage& c) {
    ++c.graphs;
    c.nodes += g.graph.nodes.size();
    c.refused += g.refused;
    c.symbolic += !g.graph.size_arguments.empty();
    bool strided = false, overlapping = false, empty = false, aliased = false, in_place = false, frozen = false, special = false,
         constants = false;
    for (const graph::Input& i : g.graph.inputs) {
        const graph::TensorType& t = g.graph.type(i.value);
        strided = strided || !graph::is_contiguous(t);
        for (size_t d = 0; d < t.rank(); ++d) overlapping = overlapping || (t.strides[d].is(0) && !t.shape[d].is(1));
        frozen = frozen || i.frozen;
        constants = constants || i.data;
    }
    for (const auto& [name, plan] : g.plans) aliased = aliased || !plan.overlaps.empty(), special = special || plan.special;
    for (const graph::Value& v : g.graph.values)
        for (const sym::Bindings& sizes : g.runs)
            for (const sym::Expr& e : v.type.shape) empty = empty || sym::evaluate(e, sizes) == 0;
    for (const graph::Node& n : g.graph.nodes) {
        in_place = in_place || n.into;
        const auto op = static_cast<size_t>(ops.find(n.op) - ops.all().data());
        const bool has_first = !n.inputs.empty() && n.inputs[0];
        ++c.of_op[op][static_cast<size_t>(g.graph.type(has_first ? *n.inputs[0] : n.outputs[0]).dtype)];
    }
    c.strided += strided, c.overlapping += overlapping, c.empty += empty, c.aliased += aliased, c.in_place += in_place;
    c.frozen += frozen, c.special += special, c.constants += constants;
}

void add(const CheckCounts& counts, Coverage& c) {
    c.checks.calls += counts.calls, c.checks.compared += counts.compared;
    c.checks.on_reference += counts.on_reference, c.checks.index_errors += counts.index_errors;
}

std::string to_string(const Coverage& c, const graph::OpSet& ops, const Templates& templates) {
    std::string text = fmt::format("{:<34}", "op");
    for (const DType d : scalar::kDTypes) text += fmt::format("{:>6}", scalar::to_string(d));
    text += fmt::format("{:>7}\n", "all");
    uint64_t of_dtype[Coverage::dtypes] = {}, fewest_op = ~uint64_t{0}, fewest_pair = ~uint64_t{0}, below = 0;
    std::string rare_op, rare_pair;
    for (size_t i = 0; i < ops.all().size(); ++i) {
        const std::string& name = ops.all()[i].name;
        uint64_t all = 0;
        text += fmt::format("{:<34}", name);
        for (const DType t : scalar::kDTypes) {
            const uint64_t n = c.of_op[i][static_cast<size_t>(t)];
            const bool takes = std::any_of(templates.pairs().begin(), templates.pairs().end(),
                                           [&](const Templates::Pair& p) { return p.op == name && p.dtype == t; });
            text += n == 0 && !takes ? fmt::format("{:>6}", "-") : fmt::format("{:>6}", n);
            all += n, of_dtype[static_cast<size_t>(t)] += n;
            if (!takes) continue;
            below += n < 50;
            if (n < fewest_pair) fewest_pair = n, rare_pair = fmt::format("{} in {}", name, scalar::to_string(t));
        }
        text += fmt::format("{:>7}\n", all);
        if (all < fewest_op) fewest_op = all, rare_op = name;
    }
    text += fmt::format("{:<34}", "all");
    for (const uint64_t n : of_dtype) text += fmt::format("{:>6}", n);
    text += fmt::format("{:>7}\n", c.nodes);
    text += fmt::format("{} graphs, {} nodes; calls that agreed {}, outputs compared {}, calls that had to fail and did {}, regions on "
                        "reference {}\n",
                        c.graphs, c.nodes, c.checks.calls, c.checks.compared, c.checks.index_errors, c.checks.on_reference);
    text += fmt::format("least seen op: {} ({}); least seen dtype of an op: {} ({}); of {} pairs seen less than 50 times: {}\n", rare_op,
                        fewest_op, rare_pair, fewest_pair, templates.pairs().size(), below);
    text +=
        fmt::format("graphs with symbolic sizes {}, strided inputs {}, overlapping inputs {}, empty arrays {}, aliased inputs {}, in-place "
                    "writes {}, frozen weights {}, constants {}, NaN and infinities {}; nodes refused by ops {}\n",
                    c.symbolic, c.strided, c.overlapping, c.empty, c.aliased, c.in_place, c.frozen, c.constants, c.special, c.refused);
    return text;
}

} // namespace codetta::test
