// `copy(%c, %new) into %c` at the end of updates of %c: the updates themselves write %c's memory and the copy goes away.
//   %1 = index_copy(%c, %i, %v)          %1 = index_copy(%c, %i, %v) into %c
//   %2 = copy(%c, %1) into %c       ->
// Only when nobody reads %c, or an earlier step of the chain, after the first write.
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph in_place(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
