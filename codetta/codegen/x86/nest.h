// The loops around a data statement's vectors: which dim runs along the lanes, which dims are unrolled and which stay loops.
#pragma once

#include "codetta/codegen/kernel.h"

#include <functional>

namespace codetta::codegen::x86 {

struct Plan {
    Iteration space;
    int vector_dim = -1; ///< -1: one element at a time
    int lanes = 1;       ///< per vector; what is left over along the dim comes in smaller powers of two
    std::vector<bool> rolled;        ///< per dim of `space`: a loop at run time (the vector dim: a loop over whole vectors)
    int64_t vectors_per_round = 1;   ///< of a rolled vector dim

    int64_t pieces() const; ///< how many vectors the statement moves
};

/// Keeps as many dims unrolled as fit `most` pieces of straight-line code, the vector dim first.
void roll(Plan& plan, int64_t most);

/// The visit of one vector: an offset per view (relative to the view's first element) and its lanes.
using Visit = std::function<void(const std::vector<Offset>& at, int lanes)>;
void run(Kernel& kernel, const Plan& plan, const Visit& visit);

} // namespace codetta::codegen::x86
