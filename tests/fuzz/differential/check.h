// Compiles one graph for one target, calls it and has it judged; a failure is made as small as it goes.
#pragma once

#include "codetta/base/target.h"
#include "tests/fuzz/differential/random_graph.h"

namespace codetta::test {

struct Failure {
    std::string kind, text; // kind: what shrinking must keep
};

struct CheckCounts {
    uint64_t calls = 0, compared = 0, on_reference = 0, index_errors = 0;
};

std::optional<Failure> check(const RandomGraph& g, const graph::OpSet& ops, const base::Target& target, uint64_t seed,
                             CheckCounts* counts = nullptr);

// A smaller graph with a failure of the same kind; `failure` becomes that one.
RandomGraph shrunk(RandomGraph g, const graph::OpSet& ops, const base::Target& target, uint64_t seed, Failure& failure);

} // namespace codetta::test
