// Convolutions become products: the windows of the operand as a matrix [n, c * kernel, places] times the weight. Where the window is one
// place, or windows do not overlap (patch embeddings), the matrix holds each element once; else it is kernel-size times larger, and still
// faster than a loop nest. Depthwise convolutions stay.
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph convolution_product(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
