// Which compositions are wanted: rules over the shapes of Problems, never over op names.
#pragma once

#include "codetta/base/verdict.h"
#include "codetta/problem/problem.h"

namespace codetta::fusion {

// Before composing: may this producer join this consumer at all?
base::Verdict may_merge(const problem::Problem& producer, const problem::Problem& consumer);
// After composing: is the result something that one kernel computes well?
base::Verdict accept(const problem::Problem& producer, const problem::Problem& consumer, const problem::Problem& composed);
// Worth computing again for each reader: no transcendental function, at most one operand element read, no data-dependent place.
bool is_cheap(const problem::Problem& p);

} // namespace codetta::fusion
