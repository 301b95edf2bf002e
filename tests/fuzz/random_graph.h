// Random graphs over the whole vocabulary: every op by its samples, with other dtypes, other and symbolic sizes, chained to one another.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "codetta/graph/op_def.h"
#include "codetta/ops/samples.h"

namespace codetta::test {

// How an input is filled. Integers in [lo, hi), floats in [lo, hi].
struct InputPlan {
    double lo = -2, hi = 2;
    bool special = false;              // some NaN, infinities and zeros of both signs
    std::vector<std::string> overlaps; // names of inputs whose memory this one shares
};

struct RandomGraph {
    graph::Graph graph;
    std::map<std::string, InputPlan> plans; // by input name
    std::vector<sym::Bindings> runs;        // sizes of each call
    std::map<std::string, double> unit;     // by value name: the coarsest rounding unit on the way there
    size_t refused = 0;                     // nodes that the op's own rules did not allow
};

// The samples of all ops as nodes to imitate; made once.
struct Templates {
    explicit Templates(const graph::OpSet& ops);
    std::vector<std::vector<ops::Sample>> of_op; // the samples of one node
};

RandomGraph make_random_graph(const graph::OpSet& ops, const Templates& templates, uint64_t seed);

// The arguments of one call; the same (seed, name) gives the same contents. Strided and overlapping as the types say.
std::vector<scalar::HostArray> make_arguments(const RandomGraph& g, const sym::Bindings& sizes, uint64_t seed);

double rounding_unit(scalar::DType t); // 0 for integers

} // namespace codetta::test
