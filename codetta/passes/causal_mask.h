// An attention mask that is a lower triangle becomes the causal flag: then blocks above the diagonal are never computed and no mask is
// read. Proven on the data of a constant mask, or, for masks computed from `arange`, comparisons and `where`, on the expression of one
// element under symbolic sizes.
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph causal_mask(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
