// torch's x[i, j, None-dimension, ...] with index tensors: shape of the result and where each element lies.
#pragma once

#include "codetta/ops/pointwise.h"
#include "codetta/problem/problem.h"

namespace codetta::ops {

void check_index(const TensorType& t); // UserError unless i32 or i64

// The index of a gather or scatter is walked beside another tensor: it must not be longer in any dimension but `except`. UserError where it
// is known to be, else the checks for what the facts do not prove.
std::vector<problem::Check> fits_within(const TensorType& index, const TensorType& other, std::optional<size_t> except,
                                        const sym::Facts& facts);

// Operands first_index, first_index + 1 ... of the node are the indices of dimensions 0, 1 ... of operand 0; an absent one means the whole
// dimension. The index tensors broadcast together; their dimensions stand where the first index stood when the indices are adjacent, else
// in front (numpy's rule).
class Indexing {
public:
    Indexing(const NodeView& n, size_t first_index); // UserError on too many, none, or bool indices
    std::vector<Expr> shape() const;
    std::vector<Read> reads(const Lowering& low, const std::vector<Expr>& index) const; // the index tensors: reads 0, 1 ... of the stage
    std::vector<Expr> coordinates(const std::vector<Expr>& index) const;                // in operand 0; negative indices wrap
    std::vector<problem::Check> checks() const;

private:
    std::span<const Expr> index_part(const std::vector<Expr>& index) const;
    TensorType x_;
    const sym::Facts* facts_ = nullptr; // of the node's graph
    size_t first_index_ = 0;
    std::vector<std::optional<TensorType>> indices_; // per dimension of x
    std::vector<Expr> broadcast_;                    // shape of all index tensors together
    size_t place_ = 0;                               // where broadcast_ stands in the result
};

} // namespace codetta::ops
