// Computes what depends on no input, once, through the interpreter: masks, positions, tables. A value whose elements are all equal becomes
// a `full` node, any other one a constant of the graph. Left alone: what is dynamic, what is large, and
// a single generator such as `arange`, which costs nothing to fuse.
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph fold_constants(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
