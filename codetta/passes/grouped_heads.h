// Keys and values that are repeated for groups of query heads (repeat_kv of grouped-query attention) are given to attention unrepeated:
//   %1 = view(%k, [b, h, 1, t, d])   %2 = expand(%1, [b, h, g, t, d])   %3 = view(%2, [b, h*g, t, d])   attention(%q, %3, ...)   ->
//   attention(%q, %k, ...)
#pragma once

#include "codetta/base/options.h"
#include "codetta/graph/op_def.h"

namespace codetta::passes {

graph::Graph grouped_heads(graph::Graph g, const graph::OpSet& ops, const base::Options& options);

} // namespace codetta::passes
