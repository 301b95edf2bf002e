// Local rules that never change a value: chains of views become one view, views and moves that do nothing go away, casts that undo an exact
// widening go away, `x * 1`, `x / 1`, `x - 0`, `x ^ 1` and `where` of a constant become what they are. (`x + 0` stays: it turns -0.0 into
// 0.0.)
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph simplify(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
