// The graph as regions: which values are computed together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codetta/base/options.h"
#include "codetta/base/target.h"
#include "codetta/graph/op_def.h"
#include "codetta/problem/region.h"

namespace codetta::fusion {

// Regions in execution order (each value is made by exactly one region before it is read; in-place writes come after all earlier reads).
// Region value ids below `graph_values` are graph values; larger ones are made by cutting.
struct Regions {
  std::vector<problem::Region> regions;
  uint32_t graph_values = 0;
};

std::string to_string(const Regions& r);

// The largest legal regions by one mechanism: composition of the nodes' Problems (problem/region.h); op names are never looked at. Each fusion that was legal but not wanted, or wanted but not legal,
// leaves its reason in the region.
Regions fuse(const graph::Graph& g, const graph::OpSet& ops, const base::Target& target, const base::Options& options);

}  // namespace codetta::fusion
