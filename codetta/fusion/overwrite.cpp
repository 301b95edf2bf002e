#include "codetta/fusion/overwrite.h"

#include <algorithm>

#include <fmt/format.h>

namespace codetta::fusion {

using problem::Problem;
using problem::Read;
using problem::Stage;

namespace {

bool same_axes(std::vector<problem::AxisId> a, std::vector<problem::AxisId> b) {
    const auto less = [](problem::AxisId x, problem::AxisId y) { return x.value < y.value; };
    std::sort(a.begin(), a.end(), less);
    std::sort(b.begin(), b.end(), less);
    return a == b;
}

// The only stage that writes `out`, when it writes each element once and at a place that no data say.
const Stage* writer_of(const Problem& p, uint32_t out) {
    const Stage* writer = nullptr;
    for (const Stage& s : p.stages)
        for (const problem::Write& w : s.writes) {
            if (w.operand.value != out) continue;
            if (writer || w.accumulate || s.combiner || problem::depends_on_data(w.access)) return nullptr;
            writer = &s;
        }
    return writer;
}

bool is_written_where_read(const graph::Graph& g, const graph::OpSet& ops, const graph::Node& n) {
    Problem p = ops.lower(g, n);
    std::vector<uint32_t> sources; // operands that are the input
    uint32_t next = 0;
    for (const auto& v : n.inputs) {
        if (!v) continue;
        if (*v == *n.into) sources.push_back(next);
        ++next;
    }
    if (sources.empty()) return true;
    write_in_place(p, sources[0], next);
    const Stage* writer = writer_of(p, next);
    for (const Stage& s : p.stages)
        for (const Read& r : s.reads) {
            if (r.from != Read::From::operand || std::find(sources.begin(), sources.end(), r.source) == sources.end()) continue;
            if (!writer || s.combiner || !same_axes(s.axes, writer->axes)) return false;
            for (const problem::Write& w : writer->writes)
                if (w.operand.value == next && w.access.coordinates != r.access.coordinates) return false;
        }
    return true;
}

} // namespace

void write_in_place(Problem& p, uint32_t target, uint32_t out) {
    p.operands[out].aliases = problem::OperandId{target};
    std::vector<bool> read(p.stages.size(), false);
    for (const Stage& s : p.stages)
        for (const Read& r : s.reads)
            if (r.from == Read::From::stage) read[r.source] = true;
    for (size_t s = 0; s < p.stages.size(); ++s) {
        const Stage& stage = p.stages[s];
        const bool copies = !stage.combiner && !read[s] && stage.body.is_identity() && stage.reads.size() == 1 &&
                            stage.writes.size() == 1 && stage.reads[0].from == Read::From::operand && stage.reads[0].source == target &&
                            stage.writes[0].operand.value == out && stage.reads[0].access == stage.writes[0].access && p.stages.size() > 1;
        if (!copies) continue;
        p.stages.erase(p.stages.begin() + static_cast<std::ptrdiff_t>(s));
        for (Stage& later : p.stages)
            for (Read& r : later.reads)
                if (r.from == Read::From::stage && r.source > s) --r.source;
        return;
    }
}

graph::Graph overwrite_apart(graph::Graph g, const graph::OpSet& ops) {
    std::vector<graph::Node> nodes;
    for (graph::Node& n : g.nodes) {
        if (!n.into || is_written_where_read(g, ops, n)) {
            nodes.push_back(std::move(n));
            continue;
        }
        const graph::ValueId apart(g.values.size()), result = n.outputs[0], target = *n.into;
        g.values.push_back({fmt::format("apart{}", apart.value), graph::contiguous(g.type(result).dtype, g.type(result).shape)});
        n.outputs[0] = apart;
        n.into.reset();
        graph::Node copy{"copy", {target, apart}, {}, {result}, target, n.location};
        nodes.push_back(std::move(n));
        nodes.push_back(std::move(copy));
    }
    g.nodes = std::move(nodes);
    return g;
}

} // namespace codetta::fusion
