// Traced tensors: a program written with them is recorded, not run; compiled.h compiles what was recorded.
//
//   Tensor x = input("x", {dim("rows"), 768});
//   Tensor y = gelu(linear(x, parameter("w", weights), bias));
//
// Every function of ops.h is one call of `apply` with the op's name. Types are checked at once: a misfit is a UserError that names the
// op and the line of the program that wrote it. Dtypes are never promoted: cast() where two differ.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "codetta/frontends/tensor/buffer.h"
#include "codetta/frontends/tensor/dim.h"
#include "codetta/graph/graph.h"

namespace codetta::frontends::tensor {

struct TracedNode; // traced_node.h

/// A value of the recorded program. Copies are the same value.
class Tensor {
public:
    DType dtype() const { return type().dtype; }
    size_t rank() const { return type().rank(); }
    Dim size(int64_t d) const; ///< negative counts from the back
    Shape shape() const;
    const graph::TensorType& type() const;

    // For the recorder and the compiler.
    Tensor(std::shared_ptr<const TracedNode> node, uint32_t output) : node_(std::move(node)), output_(output) {}
    const std::shared_ptr<const TracedNode>& node() const { return node_; }
    uint32_t output() const { return output_; }

private:
    std::shared_ptr<const TracedNode> node_;
    uint32_t output_ = 0;
};

/// A tensor as an operand, with the place in the program that wrote it.
struct Traced {
    Traced(Tensor t, std::source_location w = std::source_location::current()) : tensor(std::move(t)), where(w) {} // NOLINT
    Tensor tensor;
    std::source_location where;
};

/// A tensor or a number.
struct Operand {
    Operand(Tensor t, std::source_location w = std::source_location::current()) : tensor(std::move(t)), where(w) {} // NOLINT
    Operand(double v, std::source_location w = std::source_location::current()) : number(v), where(w) {}            // NOLINT
    Operand(int64_t v, std::source_location w = std::source_location::current()) : number(v), where(w) {}           // NOLINT
    Operand(int v, std::source_location w = std::source_location::current()) : number(int64_t{v}), where(w) {}      // NOLINT
    std::optional<Tensor> tensor;
    std::optional<graph::Attribute> number;
    std::source_location where;
};

/// What each call passes. strides: in elements; none given: row-major.
Tensor input(std::string name, const Shape& shape, DType dtype = f32, const Shape& strides = {});

/// A weight in the caller's memory, which must outlive every function compiled from it. It is read at each call, so changes are seen,
/// unless it is frozen (here or by the option `freeze`): then it is packed at the first call; see Compiled::refresh().
Tensor parameter(std::string name, const Buffer& data, bool frozen = false);

/// Data that become part of the program: copied now.
Tensor constant(const Buffer& data);

/// Records one op of the vocabulary (docs/ops.md). An absent operand is nullopt. facts: of sizes that only the attributes speak of.
/// @throws UserError naming the op and `where` when the operands or attributes do not fit
std::vector<Tensor> apply(std::string_view op, std::vector<std::optional<Tensor>> operands, graph::Attributes attributes,
                          std::source_location where = std::source_location::current(), const sym::Facts& facts = {});

/// An op with one result.
Tensor apply1(std::string_view op, std::vector<std::optional<Tensor>> operands, graph::Attributes attributes,
              std::source_location where = std::source_location::current(), const sym::Facts& facts = {});

} // namespace codetta::frontends::tensor
