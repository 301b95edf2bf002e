// Makes an op's entry from an access: where each element of the result lies in the only operand. Views and simple moves.
#pragma once

#include "codetta/ops/pointwise.h"
#include "codetta/problem/problem.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/facts.h"

namespace codetta::ops {

struct Where {
    std::vector<Expr> coordinates;
    std::vector<sym::Condition> guard = {};
    double fill = 0;
    std::vector<problem::Check> checks = {}; // what the facts do not prove and the caller may get wrong
};

struct AccessOp {
    std::string name = {};
    std::string signature = {};
    std::string summary = {};
    graph::OpKind kind = graph::OpKind::view;
    std::function<std::vector<Expr>(const NodeView&)> shape = {};                     // of the result
    std::function<Where(const NodeView&, const std::vector<Expr>& index)> where = {}; // index: one per result dimension
    std::vector<std::string> samples = {};
};
OpDef access_op(AccessOp entry);

// A start or end in [0, size] as torch clamps it: negative counts from the back, beyond the size means the size.
Expr clamped(const Expr& e, const Expr& size, const sym::Facts& facts);
// max(0, ceil((end - start) / step)) under the facts
Expr slice_length(const Expr& start, const Expr& end, const Expr& step, const sym::Facts& facts);

struct Slice {
    size_t dim = 0;
    Expr start, end, step, length;
};
// Of attributes dim, start, end, step along a tensor of this shape. UserError when step < 1.
Slice slice_of(const NodeView& n, std::span<const Expr> shape);
// Attribute `index`, negative counts from the back. UserError when it can't be in a dimension of this size.
struct Selected {
    Expr index;
    std::vector<problem::Check> checks; // that it is, where the facts do not prove it
};
Selected select_index(const NodeView& n, const Expr& size);

// Whether two shapes are equal as far as the facts tell: symbolic sizes of a captured model may be equal for reasons that we don't see.
// Where they are not proven equal, accesses must be guarded.
bool may_agree(std::span<const Expr> a, std::span<const Expr> b, const sym::Facts& facts);

// Coordinates in `from` of the element that has the coordinates `index` in `to`, where both hold the same elements in row-major order.
std::vector<Expr> reshaped(std::span<const Expr> from, std::span<const Expr> to, std::span<const Expr> index, const sym::Facts& facts);

// The element at offset + sum index * stride in the memory of operand 0, which has the strides `base_strides` there (as_strided's
// attributes).
Where strided_access(const NodeView& n, const std::vector<Expr>& index);

} // namespace codetta::ops
