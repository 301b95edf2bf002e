// The samples of the ops' entries as graphs of one node: what every op is tested with, here, on every target and against torch.
#pragma once

#include <string>
#include <vector>

#include "codetta/graph/op_def.h"
#include "codetta/scalar/host_array.h"

namespace codetta::ops {

// In which range an input's values are drawn: floats in [lo, hi], integers in [lo, hi).
struct SampleRange {
    double lo = -2, hi = 2;
};

struct Sample {
    std::string op;
    std::string text; // as in the entry: "f32[2, 3], i64[2] in 0..5; dim=0"
    graph::Graph graph;
    std::vector<SampleRange> ranges; // per input
};

// An entry's sample: operands (`_` absent, `in lo..hi` a range of values) and, after `;`, attributes. UserError naming the text.
Sample make_sample(const graph::OpSet& ops, const std::string& op, const std::string& text);
std::vector<Sample> samples(const graph::OpSet& ops); // of all ops, in order

// Arrays for the sample's inputs; the same seed gives the same bytes.
std::vector<scalar::HostArray> sample_inputs(const Sample& s, uint64_t seed = 1);

} // namespace codetta::ops
