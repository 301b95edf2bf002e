// Which axes may lie across the lanes of a fragment, and which must run in order: what StageEmitter demands of a template.
#pragma once

#include <optional>
#include <vector>

#include "codetta/base/verdict.h"
#include "codetta/problem/problem.h"
#include "codetta/sym/expr.h"

namespace codetta::kernels {

// Every axis expression of an access as a function of one axis: address == coefficient * axis + rest (in elements); nullopt when it is not
// affine in it.
std::optional<sym::Affine> address_along(const problem::Problem& p, const problem::Access& access, const std::vector<sym::Expr>& strides,
                                         problem::AxisId axis);

// Whether the reads and writes of the stage can run across lanes of the axis: addresses and guards are affine along it, indices from data
// and checks are the same for all lanes, each write goes to other memory for each lane (of an axis of the result; a reduced one ends before
// the write). Coordinates in other stages are the template's.
base::Verdict can_lie_across_lanes(const problem::Problem& p, const problem::Stage& s, problem::AxisId axis);

// Whether some write to places that come from data, or some sum in memory, wants the axis in index order: it can't be shared out to tasks.
bool is_sequential(const problem::Problem& p, problem::AxisId axis);

} // namespace codetta::kernels
