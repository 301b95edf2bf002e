// One entry per op: everything the compiler knows of it.
#pragma once

#include <functional>
#include <span>

#include "codetta/base/verdict.h"
#include "codetta/graph/graph.h"
#include "codetta/problem/problem.h"

namespace codetta::graph {

// A node with the types of its operands: what rules see.
struct NodeView {
  const Graph* graph = nullptr;
  const Node* node = nullptr;
  size_t input_count() const { return node->inputs.size(); }
  bool has_input(size_t i) const { return i < node->inputs.size() && node->inputs[i].has_value(); }
  const TensorType& input(size_t i) const { return graph->type(*node->inputs[i]); }
  const TensorType& output(size_t i = 0) const { return graph->type(node->outputs[i]); }
  bool flag(std::string_view name, bool otherwise) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  sym::Expr expr(std::string_view name, sym::Expr otherwise) const;
  std::vector<sym::Expr> exprs(std::string_view name) const;
  std::optional<scalar::DType> dtype(std::string_view name) const;
};

enum class OpKind : uint8_t { pointwise, view, move, contract, reduce, normalise, index, attention, factory, scan };

class GraphBuilder;

// Exactly one of lower and decompose is set.
struct OpDef {
  std::string name;              // ATen's base name where one exists: `add`, `linear`, `native_layer_norm`
  std::string signature;         // `(x, w, b?) approximate: text = "none"`: operands (? optional, * variadic) and typed attributes with defaults; parsed once, checked at every node
  OpKind kind = OpKind::pointwise;
  std::string summary;           // one sentence with the source (ATen doc)
  // Result types from operand types and attributes; UserError naming the op on a misfit.
  std::function<std::vector<TensorType>(const NodeView&)> infer;
  // The op's meaning: operand i of the Problem is the i-th present input, then one `out` operand per output, with the types' shapes and strides.
  std::function<problem::Problem(const NodeView&)> lower;
  // The op in terms of others; returns one value per output.
  std::function<std::vector<ValueId>(const NodeView&, GraphBuilder&)> decompose;
};

// The vocabulary is passed explicitly; ops::list() makes it.
class OpSet {
 public:
  explicit OpSet(std::vector<OpDef> ops);  // InternalError on a duplicate name
  const OpDef* find(std::string_view name) const;
  const OpDef& get(std::string_view name) const;  // UserError with the nearest name
  std::span<const OpDef> all() const { return ops_; }

 private:
  std::vector<OpDef> ops_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

// Builds or rewrites a graph; infers the types of what it adds.
class GraphBuilder {
 public:
  GraphBuilder(const OpSet& ops, Graph graph);
  ValueId input(std::string name, TensorType type, InputKind kind = InputKind::argument, bool frozen = false);
  ValueId constant(scalar::HostArray data);
  std::vector<ValueId> add(std::string op, std::vector<std::optional<ValueId>> inputs, Attributes attributes = {}, std::string location = {});
  ValueId add1(std::string op, std::vector<std::optional<ValueId>> inputs, Attributes attributes = {}, std::string location = {});
  const TensorType& type(ValueId v) const { return graph_.type(v); }
  const Graph& graph() const { return graph_; }
  Graph finish() { return std::move(graph_); }

 private:
  const OpSet* ops_;
  Graph graph_;
};

void verify(const Graph& g, const OpSet& ops);  // types as inferred, order, outputs, symbols bound: InternalError or UserError naming node and location

// Runs g on host arrays (one per input that is not a constant, in order): each node through its Problem. Returns the outputs as arrays (a `size` as a 0-d i64). In-place targets are written.
std::vector<scalar::HostArray> interpret(const Graph& g, const OpSet& ops, std::span<const scalar::HostArray> arguments, std::span<const int64_t> size_arguments, bool exact = false);

}  // namespace codetta::graph
