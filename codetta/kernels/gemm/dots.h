// The product for a handful of rows over columns that lie as the model holds them, contiguous along k: dot products, each element of b read
// once, straight from memory, which is what they wait for.
#pragma once

#include "codetta/kernels/gemm/view.h"
#include "codetta/kernels/kernel.h"

namespace codetta::kernels::gemm {

inline constexpr int64_t kMostDotRows = 5;

base::Verdict can_dot(const View& v); // both operands contiguous along k
// @pre can_dot; at run time v.m is 1 .. most_rows
Kernel emit_dots(const problem::Problem& p, const View& v, int64_t vector_lanes, int64_t most_rows);

} // namespace codetta::kernels::gemm
