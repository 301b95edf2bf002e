// Inverting coordinate maps: which loop index reads or writes a given element. Permutations, merges (b*S + s), splits (m // S, m % S),
// shifts and flips of them.
#pragma once

#include <optional>
#include <vector>

#include "codetta/problem/problem.h"

namespace codetta::problem {

struct Dimension {
    sym::Expr index; // a symbol in what is inverted; any expression where the inverse is wanted
    sym::Expr extent;
};

struct Inverse {
    std::vector<sym::Expr> index;      // of each source, over the targets' indices
    std::vector<sym::Condition> image; // which targets are hit, over their indices; empty: all
};

// The inverse of `coordinates` (one per target, over the sources' symbols and sizes). Sources of extent 1 need not occur. nullopt when the
// map is not seen to be injective onto a box. `facts`: of sizes, and of the sources' indices.
// @post for every source point: coordinates hit a target in the image, and index of that target is the source point; every target in the
// image is hit
std::optional<Inverse> invert(const std::vector<sym::Expr>& coordinates, const std::vector<Dimension>& sources,
                              const std::vector<Dimension>& targets, const sym::Facts& facts);

} // namespace codetta::problem
