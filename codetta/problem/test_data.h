// Arrays for a Problem: what tests, the verifier of kernels and benches run it on.
#pragma once

#include "codetta/problem/problem.h"
#include "codetta/scalar/host_array.h"

namespace codetta::problem {

struct TestDataOptions {
    uint64_t seed = 1;
    bool special = false; // some NaN, Inf, -0.0 and denormals among the floats
    double scale = 1;     // of floats
};

// One array per operand with its extents and strides under `sizes` (an alias shares its target's memory). Floats are normal-like, scaled by
// 1/sqrt(number of reduced elements) when the operand is multiplied in a sum of many (fan-in), so that results stay O(1); integers that
// serve as indices lie in the range of their checks (or of the dimension they index); other integers are small; outputs are filled with a
// pattern that no kernel would write, so that a missing write shows.
// @post the same options and sizes give the same bytes
std::vector<scalar::HostArray> test_data(const Problem& p, const sym::Bindings& sizes, const TestDataOptions& options = {});

} // namespace codetta::problem
