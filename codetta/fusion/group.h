// A region in the making: the composed Problem of some nodes, with the graph value behind each operand.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codetta/graph/op_def.h"
#include "codetta/problem/problem.h"
#include "codetta/problem/region.h"

namespace codetta::fusion {

struct Group {
    problem::Problem problem;
    std::vector<uint32_t> values;     // graph value per operand
    std::vector<std::string> reasons; // fusions that did not happen
    std::vector<problem::Origin> origins;
    bool alive = true;

    std::vector<uint32_t> inputs() const;  // values read
    std::vector<uint32_t> outputs() const; // values written
};

// One group per node, its Problem with frozen inputs marked and in-place targets as aliases.
std::vector<Group> make_groups(const graph::Graph& g, const graph::OpSet& ops);

// What a group is to its neighbours; read off its Problem.
enum class Shape : uint8_t {
    view,    // one stage that moves elements of one operand, computing nothing
    map,     // no reduction, one domain
    rows,    // reductions or scans whose results are per row
    product, // one contraction and stages on its result
    fixed,   // anything else: attention, scatter, in-place writes: only views of its results join it
};
Shape shape_of(const problem::Problem& p);
std::string_view to_string(Shape s);

} // namespace codetta::fusion
