// Graph -> Graph: fewer, more general nodes with the same meaning. This is the order of the passes, and the whole list.
#pragma once

#include <span>
#include <string_view>

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

// @pre verify(g); @post verify(result), the same outputs (up to roundings that no cast asks for, unless options.numerics is eager)
struct Pass {
    std::string_view name;
    std::string_view summary;
    graph::Graph (*run)(graph::Graph g, const graph::OpSet& ops, const base::Options& options);
};

std::span<const Pass> pipeline();
const Pass& find_pass(std::string_view name); // UserError with the nearest name

// All passes in order; verifies after each one.
graph::Graph run_passes(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
