// Sizes and random arrays for a program that is run without real input, and the comparison of results.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codetta/graph/graph.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"

namespace codetta::cli {

/// Every size symbol of `symbols` with a value: as given, else the smallest from 4 on that the facts allow.
/// @throws UserError for a given name that is no size
sym::Bindings choose_sizes(const std::set<std::string>& symbols, const sym::Facts& facts, const sym::Bindings& given);

struct Range {
    double lo = 0, hi = 0;
};

/// Arrays for the graph's inputs that are not constants: floats in [-1, 1) (weights of products scaled by 1/sqrt of their last size),
/// integers in [0, 2), bools; or in the range that is given by the input's name. The same seed gives the same bytes.
/// @throws UserError for a range whose name is no input
std::vector<scalar::HostArray> random_inputs(const graph::Graph& g, const sym::Bindings& sizes, const std::map<std::string, Range>& ranges,
                                             uint64_t seed);

std::vector<scalar::HostArray> clones(const std::vector<scalar::HostArray>& arrays); ///< with the same strides

/// How far `got` is from `exact`: the largest difference and the root mean square of the differences over that of `exact`.
struct Distance {
    double largest = 0, relative_rms = 0;
    bool same_nonfinite = true; ///< NaN and Inf at the same places
};
Distance distance(const scalar::HostArray& got, const scalar::HostArray& exact);

/// The numerics contract: relative RMS up to 1.5 times that of the interpreter's ordinary run, or a few units of the dtype; integers equal.
bool within_contract(const Distance& d, const Distance& interpreter, scalar::DType dtype);

} // namespace codetta::cli
