// A problem seen as independent rows: some axes enumerate rows, and every stage works inside one row. Softmax, norms, pointwise chains,
// gathers; a derived view.
#pragma once

#include <optional>
#include <vector>

#include "codetta/problem/problem.h"

namespace codetta::problem {

struct Rows {
    std::vector<AxisId>
        rows; // axes of every stage; one row = one tuple of their indices, in the order of the first stage that has them all
};

// The largest set of row axes: each stage has them in its domain, and each read of a stage is at the same row. No reductions and one
// domain: all axes are row axes. A stage value that is read elsewhere than in its own row axis drops that axis from the set.
std::optional<Rows> as_rows(const Problem& p);

} // namespace codetta::problem
