// The judge: compiled results against the interpreter's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/differential/random_graph.h"

namespace codetta::test {

struct Interpreted {
    std::vector<scalar::HostArray> arguments, outputs; // after the call
    std::string index_error;
};

// exact: floats in double, without roundings. else every rounding that the graph asks for.
Interpreted interpreted(const RandomGraph& g, const graph::OpSet& ops, const sym::Bindings& sizes, uint64_t seed, bool exact);

// In double, with small errors on the operands of sensitive ops (vocabulary.h): how far a sum of rounded terms may throw their results.
// nullopt when there are no such ops.
std::optional<Interpreted> disturbed(const RandomGraph& g, const graph::OpSet& ops, const sym::Bindings& sizes, uint64_t seed);

// got against the value in double: nullopt when it is as near as `others` (interpretations with roundings or errors) are, some times over.
std::optional<std::string> differs(const scalar::HostArray& got, const scalar::HostArray& exact,
                                   const std::vector<scalar::HostArray>& others, double unit);

std::vector<int64_t> size_arguments(const graph::Graph& g, const sym::Bindings& sizes);

} // namespace codetta::test
