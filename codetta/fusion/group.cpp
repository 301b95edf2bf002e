#include "codetta/fusion/group.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "codetta/fusion/overwrite.h"
#include "codetta/problem/contraction.h"
#include "codetta/problem/rows.h"

namespace codetta::fusion {

using problem::AxisId;
using problem::Problem;
using problem::Read;
using problem::Role;
using problem::Stage;

std::vector<uint32_t> Group::inputs() const {
    std::vector<uint32_t> found;
    for (size_t i = 0; i < values.size(); ++i)
        if (problem.operands[i].role != Role::out) found.push_back(values[i]);
    return found;
}

std::vector<uint32_t> Group::outputs() const {
    std::vector<uint32_t> found;
    for (size_t i = 0; i < values.size(); ++i)
        if (problem.operands[i].role != Role::in) found.push_back(values[i]);
    return found;
}

namespace {

bool same_axes(std::vector<AxisId> a, std::vector<AxisId> b) {
    const auto less = [](AxisId x, AxisId y) { return x.value < y.value; };
    std::sort(a.begin(), a.end(), less);
    std::sort(b.begin(), b.end(), less);
    return a == b;
}

// Who is to be named when an index of the node is out of range, and in what people read of the region.
void note_origin(Group& group, const graph::Node& node) {
    std::string who = fmt::format("op '{}'{}{}", node.op, node.location.empty() ? "" : " at ", node.location);
    std::replace(who.begin(), who.end(), '"', '\'');
    for (Stage& s : group.problem.stages) {
        for (Read& r : s.reads)
            for (problem::Check& c : r.access.checks) c.origin = who;
        for (problem::Write& w : s.writes)
            for (problem::Check& c : w.access.checks) c.origin = who;
    }
    group.origins = {{node.op, node.location, shape_of(group.problem) == Shape::view}};
}

} // namespace

std::vector<Group> make_groups(const graph::Graph& g, const graph::OpSet& ops) {
    std::vector<Group> groups;
    for (const graph::Node& node : g.nodes) {
        Group group;
        group.problem = ops.lower(g, node);
        for (const auto& input : node.inputs)
            if (input) group.values.push_back(input->value);
        for (const graph::ValueId output : node.outputs) group.values.push_back(output.value);
        for (size_t i = 0; i < group.values.size(); ++i) {
            const graph::Input* input = graph::find_input(g, graph::ValueId{group.values[i]});
            if (input && (input->frozen || input->kind == graph::InputKind::constant)) group.problem.operands[i].frozen = true;
        }
        if (node.into) {
            const auto out = static_cast<uint32_t>(group.values.size() - node.outputs.size());
            for (uint32_t i = 0; i < out; ++i)
                if (group.values[i] == node.into->value) {
                    write_in_place(group.problem, i, out);
                    break;
                }
        }
        if (!node.location.empty()) group.problem.name = node.op + " " + node.location;
        note_origin(group, node);
        groups.push_back(std::move(group));
    }
    return groups;
}

Shape shape_of(const Problem& p) {
    for (const problem::Operand& o : p.operands)
        if (o.aliases || o.role == Role::inout) return Shape::fixed;
    bool reduces = false, one_domain = true;
    for (const Stage& s : p.stages) {
        for (const problem::Write& w : s.writes)
            if (w.accumulate || problem::depends_on_data(w.access)) return Shape::fixed;
        reduces = reduces || s.combiner;
        one_domain = one_domain && same_axes(s.axes, p.stages[0].axes);
    }
    const auto products = problem::contractions(p);
    if (products.empty()) {
        if (!reduces) {
            if (!one_domain) return Shape::fixed;
            const Stage& s = p.stages[0];
            const bool view = p.stages.size() == 1 && s.body.is_identity() && s.reads.size() == 1 &&
                              s.reads[0].from == Read::From::operand && s.writes.size() == 1;
            return view ? Shape::view : Shape::map;
        }
        const auto rows = problem::as_rows(p);
        for (const Stage& s : p.stages)
            if (s.combiner && !s.scan && !same_axes(s.axes, rows->rows)) return Shape::fixed;
        return Shape::rows;
    }
    if (products.size() > 1) return Shape::fixed;
    const Stage& product = p.stage(products[0].stage);
    const auto rows = problem::as_rows(p);
    for (const Stage& s : p.stages) {
        const bool is_product = &s == &product;
        if ((s.combiner && !is_product) || !same_axes(s.axes, product.axes) || !same_axes(s.axes, rows->rows)) return Shape::fixed;
    }
    for (const Read& r : product.reads)
        if (r.from != Read::From::operand) return Shape::fixed;
    return Shape::product;
}

std::string_view to_string(Shape s) {
    constexpr std::string_view names[] = {"view", "map", "rows", "product", "fixed"};
    return names[static_cast<size_t>(s)];
}

} // namespace codetta::fusion
