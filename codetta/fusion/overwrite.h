// Results that are written over an input.
#pragma once

#include "codetta/graph/op_def.h"
#include "codetta/problem/problem.h"

namespace codetta::fusion {

// `out` takes over the memory of operand `target`; what would only copy the old contents to themselves goes.
void write_in_place(problem::Problem& p, uint32_t target, uint32_t out);

// Kernels read and write element after element, in parallel: a node may be written over an input only when it reads each element of it
// where it writes it, or not at all. Others are made apart, and copied over the input when they are whole.
// @post same values and effects; new values stand behind those of g
graph::Graph overwrite_apart(graph::Graph g, const graph::OpSet& ops);

} // namespace codetta::fusion
