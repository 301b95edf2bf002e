// The meaning of a Problem: runs it element by element in stage order. The judge of every kernel.
#pragma once

#include "codetta/problem/problem.h"
#include "codetta/scalar/host_array.h"

namespace codetta::problem {

// arrays[i] is operand i (dtype, extents and strides as said there under `sizes`); outputs are written in place. Stage values are kept in
// the stage's dtype (exact: in double, rounding only where a cast says so is skipped too: the fp64 judge). exact: the array of a float
// operand may be f64 whatever its dtype, and is then read and written unrounded. An index outside a Check: IndexError("index 7 is out of
// range [0, 5) ...").
void interpret(const Problem& p, std::span<const scalar::HostArray> arrays, const sym::Bindings& sizes, bool exact = false);

} // namespace codetta::problem
