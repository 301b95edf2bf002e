// Replaces nodes whose op is written in terms of others by those.
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph decompose(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
