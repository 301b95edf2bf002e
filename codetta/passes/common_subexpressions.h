// Nodes of the same op with the same operands and attributes become one.
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph common_subexpressions(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
