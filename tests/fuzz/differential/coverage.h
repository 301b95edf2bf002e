// How often the graphs met every op in every dtype, and how their arguments lay.
#pragma once

#include "tests/fuzz/differential/check.h"

namespace codetta::test {

// Lies in memory that processes share: plain numbers.
struct Coverage {
    static constexpr size_t dtypes = scalar::kDTypes.size(), ops = 512;
    uint64_t graphs, nodes, refused, symbolic, strided, overlapping, empty, aliased, in_place, frozen, constants, special;
    CheckCounts checks;
    uint64_t of_op[ops][dtypes]; // by the dtype of the first operand, or of the result when there is none
};

void count(const RandomGraph& g, const graph::OpSet& ops, Coverage& coverage);
void add(const CheckCounts& counts, Coverage& coverage);

// A table: a row per op, a column per dtype (`-` where the op does not take it), sums, and the rarest.
std::string to_string(const Coverage& c, const graph::OpSet& ops, const Templates& templates);

} // namespace codetta::test
