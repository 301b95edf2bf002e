// Drops nodes whose results nobody gets, and constants that nobody reads.
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph dead_code(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
