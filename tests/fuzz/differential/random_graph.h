// Random graphs over the whole vocabulary: every op in every dtype that it takes, by its samples, with other and symbolic sizes, chained to
// one another; arguments lie in every way that a caller's may.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codetta/graph/op_def.h"
#include "codetta/ops/samples.h"

namespace codetta::test {

// How an input is filled. Integers in [lo, hi), floats in [lo, hi].
struct InputPlan {
    double lo = -2, hi = 2;
    bool special = false;              // some NaN, infinities and zeros of both signs
    std::vector<std::string> overlaps; // the name of an input whose memory this one is
};

struct RandomGraph {
    graph::Graph graph;
    std::map<std::string, InputPlan> plans; // by input name
    std::vector<sym::Bindings> runs;        // sizes of each call
    std::map<std::string, double> unit;     // by value name: the coarsest rounding unit on the way there
    size_t refused = 0;                     // nodes that the op's own rules did not allow
};

// One node to imitate: a sample, and the dtypes of its present operands.
struct Choice {
    const ops::Sample* sample = nullptr;
    std::vector<scalar::DType> dtypes;
};

// What there is to imitate: for every op and every dtype of its first operand (of its result, when it has none), the samples that are legal
// so. Made once.
class Templates {
public:
    explicit Templates(const graph::OpSet& ops);
    Templates(const Templates&) = delete;
    struct Pair {
        std::string op;
        scalar::DType dtype;
        std::vector<Choice> choices;
    };
    const std::vector<Pair>& pairs() const { return pairs_; }

private:
    std::vector<ops::Sample> samples_;
    std::vector<Pair> pairs_;
};

// Each graph holds some pairs by turns, so that any run of n seeds sees every pair about n * kByTurns / pairs times.
inline constexpr size_t kByTurns = 14;
RandomGraph make_random_graph(const graph::OpSet& ops, const Templates& templates, uint64_t seed);

// The arguments of one call; the same (seed, name) gives the same contents. Strided and overlapping as the types say.
std::vector<scalar::HostArray> make_arguments(const RandomGraph& g, const sym::Bindings& sizes, uint64_t seed);

double rounding_unit(scalar::DType t); // 0 for integers

} // namespace codetta::test
