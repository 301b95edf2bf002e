// What the choices among a product's variants share, whatever multiplies.
#pragma once

#include "codetta/kernels/gemm/view.h"
#include "codetta/kernels/template.h"

namespace codetta::kernels::gemm {

// The value of a size for the context's hints, at least 1; a literal is itself, and what no hint tells is `otherwise`.
int64_t likely(const sym::Expr& size, const BuildContext& context, int64_t otherwise);

// Whether a part of the result may be computed twice over: not where the epilogue updates its own operand.
bool may_compute_twice(const problem::Problem& p);

// For few rows over columns as the model holds them: dot products, or a nest where an operand does not lie along k. @pre at run time v.m is
// 1 .. most_rows
Variant few_rows(const problem::Problem& p, const View& v, const base::Target& target, int64_t most_rows);

// The variant where the guard holds; without rows it has no tasks, for there is nothing to read.
void add_variant(Candidate& candidate, const problem::Problem& p, const View& v, std::vector<sym::Condition> guard, Variant variant);

} // namespace codetta::kernels::gemm
