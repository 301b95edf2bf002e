// A Problem as a Hopper product: which operands are a, b and out, what the tensor maps describe, and the epilogue that the other stages
// make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codetta/base/verdict.h"
#include "codetta/kernels/gemm/gemm_sm90.h"
#include "codetta/problem/problem.h"

namespace codetta::kernels::gemm {

// What a tensor map parameter describes: a matrix of an operand, rows `row_stride` elements apart, columns adjacent.
struct MatrixMap {
    problem::OperandId operand;
    sym::Expr rows, columns, row_stride, offset; // in elements, of size symbols
};

struct ProductSm90 {
    scalar::DType dtype = scalar::DType::bf16;
    MatrixMap a, b, out; // in the order of the kernel's tensor maps
    Epilogue epilogue;
    std::vector<problem::OperandId> operands; // of the epilogue's operands, in order
    std::vector<sym::Expr> integers;          // the kernel's: m, n, k, then a row stride per full operand
    std::vector<sym::Condition> guard;        // extents, strides and offsets as TMA wants them; those that the facts prove are left out
};

// Stages after the product become one scalar body; each operand that they read varies with rows, columns, both or neither.
std::optional<ProductSm90> match_sm90(const problem::Problem& p, base::Verdict* why_not);

} // namespace codetta::kernels::gemm
