// softmax(scale * q k^T + mask) v, written with products, views and a softmax, becomes one attention node.
// Only where no cast of the user's graph rounds inside the pattern (casts stay), and for 16-bit floats not under numerics = eager.
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph attention_pattern(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
