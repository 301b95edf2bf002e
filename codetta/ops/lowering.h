// Turns a node into its Problem: operands from the node's types, axes from shapes, stages from scalar bodies. What every op's `lower` is
// written with.
#pragma once

#include <optional>

#include "codetta/graph/op_def.h"
#include "codetta/ops/body.h"
#include "codetta/problem/problem.h"
#include "codetta/scalar/combiner.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"

namespace codetta::ops {

using problem::AxisId;
using problem::Read;
using problem::StageId;
using sym::Expr;

// Loops over a shape. index[d] is the axis of dimension d, or 0 where the extent is 1 (such a dimension has no axis, unless asked for).
struct Loops {
    std::vector<AxisId> axes;
    std::vector<Expr> index;
};

// Loops over a shape of which some dimensions are reduced: the same axis is a loop of pointwise stages (all) and the reduction of others
// (reduce).
struct RowLoops {
    std::vector<AxisId> all, rows, reduce;
    std::vector<Expr> index;     // per dimension
    std::vector<Expr> row_index; // per dimension, 0 where it is reduced
    Expr count = 1;              // elements reduced
};

struct StageSpec {
    std::string name = {};
    std::vector<AxisId> axes = {};
    std::vector<Read> reads = {};
    Body body = {};                           // over the reads in their compute types; default: the first read itself, unconverted
    std::optional<scalar::DType> result = {}; // the body's value is narrowed (or cast) to it
    std::vector<AxisId> reduce = {};          // with combiner
    std::optional<AxisId> scan = {};          // with combiner
    std::optional<scalar::Combiner> combiner = {};
    std::function<Term(scalar::Builder&)> constant = {}; // instead of body: a stage that reads nothing
    bool raw = false;                                    // the body sees the reads in their own dtypes
};

class Lowering {
public:
    explicit Lowering(const graph::NodeView& n);

    Loops loops(std::span<const Expr> shape);   // axes i0, i1 ...
    Loops reduced(std::span<const Expr> shape); // axes r0, r1 ..., one for each dimension
    RowLoops rows(std::span<const Expr> shape, const std::vector<size_t>& reduced_dims);

    const graph::TensorType& type(size_t input) const { return inputs_[input]; } // of a present input of the node
    bool has(size_t input) const { return present_[input].has_value(); }
    // A read of the node's input i; checks bound coordinates that come from data.
    Read read(size_t input, std::vector<Expr> coordinates, std::vector<sym::Condition> guard = {}, double fill = 0,
              std::vector<problem::Check> checks = {}) const;
    Read read(StageId s) const; // at the same place: the consumer loops over all axes of s
    Read read(StageId s, std::vector<Expr> coordinates, std::vector<sym::Condition> guard = {}, double fill = 0) const;
    std::vector<Expr> symbols(std::span<const AxisId> axes) const;
    static Read index(Expr e); // its value, i64

    StageId stage(StageSpec spec);
    scalar::DType dtype(StageId s) const { return problem_.stage(s).dtype(); }
    void write(StageId s, size_t output, std::vector<Expr> coordinates, std::vector<sym::Condition> guard = {},
               std::vector<problem::Check> checks = {}, bool accumulate = false);
    problem::Problem finish() { return std::move(problem_); }

private:
    AxisId add_axis(char letter, const Expr& extent);
    problem::Problem problem_;
    std::vector<graph::TensorType> inputs_;
    std::vector<std::optional<problem::OperandId>> present_;
    std::vector<problem::OperandId> outputs_;
    size_t next_i_ = 0, next_r_ = 0;
};

// The extent as a divisor: at least 1. Where nothing is, nobody looks at the quotient, but it may be computed.
Expr positive(const Expr& extent, const sym::Facts& facts);

// `$i`: the value of the i-th read of the stage.
Expr loaded(size_t read);

// Coordinates of an operand of `shape` that is broadcast to the domain with these indices (aligned at the right; extent 1 reads 0).
std::vector<Expr> broadcast_index(std::span<const Expr> shape, std::span<const Expr> index);
// torch's broadcasting of shapes; UserError with both when they don't fit.
std::vector<Expr> broadcast_shapes(std::span<const std::vector<Expr>> shapes, const sym::Facts& facts);

// A dimension of a tensor of this rank; negative counts from the back. UserError when out of range. A 0-d tensor has dimension 0 and -1.
size_t dimension(int64_t dim, size_t rank);
std::vector<size_t> dimensions(const std::vector<int64_t>& dims, size_t rank); // sorted, all when empty; UserError on a repeated one
std::vector<Expr> shape_without(std::span<const Expr> shape, const std::vector<size_t>& dims, bool keep);

std::string shape_text(std::span<const Expr> shape); // `[2, s0]`

} // namespace codetta::ops
