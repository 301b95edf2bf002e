// A Problem seen as a matrix product with an epilogue: out[batch, m, n] = epilogue(sum over k of a[batch, m, k] * b[batch, n, k]).
#pragma once

#include <optional>
#include <vector>

#include "codetta/base/verdict.h"
#include "codetta/problem/contraction.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/expr.h"

namespace codetta::kernels::gemm {

// One operand as a strided array: element (row, k) at offset + row * row_stride + k * k_stride, in elements; the offset speaks of the batch
// axes.
struct Side {
    problem::OperandId operand;
    scalar::DType dtype = scalar::DType::f32;
    bool frozen = false;
    bool batched = false; // some batch axis moves it
    sym::Expr offset, row_stride, k_stride;
};
std::optional<Side> side(const problem::Problem& p, const problem::Read& r, std::optional<problem::AxisId> row, problem::AxisId k,
                         const std::vector<problem::AxisId>& batch);

struct View {
    problem::Contraction product;
    Side a, b;
    sym::Expr m = 1, n = 1, k = 1;
    std::optional<problem::AxisId> m_axis, n_axis; // nullopt: extent 1
    std::vector<problem::AxisId> batch;
    scalar::DType accumulator = scalar::DType::f32;
};

// At most one m, n and k axis each (problem::normalise merges what can be merged); every other stage works on the product's own domain and
// can run with n across lanes. Batches may run in any order, and columns; rows are written in order (a write to places from data).
std::optional<View> match(const problem::Problem& p, base::Verdict* why_not);

} // namespace codetta::kernels::gemm
