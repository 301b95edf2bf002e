// Where a mask hides values: which part of an axis can matter at all.
#pragma once

#include <optional>

#include "codetta/problem/problem.h"

namespace codetta::problem {

// [lo, hi) of an axis, over the stage's other axes and sizes. lo >= 0 and hi <= extent; empty where hi <= lo.
struct BlockRange {
    sym::Expr lo, hi;
    friend bool operator==(const BlockRange&, const BlockRange&) = default;
};

// The range of `axis` outside which the value of the stage is -inf, by selects (and guards with that fill) on comparisons of indices, here
// or in the stages it only passes on. The whole axis when nothing says less. Additive masks say nothing: NaN - inf is NaN.
// @pre axis is one of the stage's axes
// @post for every point with index of axis < lo or >= hi: the value is -inf
BlockRange block_range(const Problem& p, StageId s, AxisId axis);

} // namespace codetta::problem
