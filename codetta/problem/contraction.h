// A stage seen as a product: sum over k of a[batch, m, k] * b[batch, n, k], whatever the operands' layouts. A derived view; no new kind of
// Problem.
#pragma once

#include <optional>
#include <vector>

#include "codetta/problem/problem.h"

namespace codetta::problem {

struct Contraction {
    StageId stage;
    uint32_t a = 0, b = 1;           // reads of the stage: a has the m axes, b the n axes
    std::vector<AxisId> batch, m, n; // of the stage's axes, in their order; batch: both operands depend on it (or neither)
    std::vector<AxisId> k;           // the reduced axes
    scalar::DType accumulator = scalar::DType::f32;
    friend bool operator==(const Contraction&, const Contraction&) = default;
};

// The body must be the product of (casts of) two reads and nothing else; every reduced axis is in both reads, m and n axes in one each, and
// there is at least one of those.
std::optional<Contraction> as_contraction(const Problem& p, StageId s);
// Of all stages.
std::vector<Contraction> contractions(const Problem& p);

} // namespace codetta::problem
