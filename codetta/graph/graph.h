// What the user wrote, typed: an SSA graph of tensor ops with symbolic sizes, in-place targets and aliasing outputs written down.
//
//   graph linear_gelu(%x: bf16[s0, 768], %w: bf16[3072, 768] frozen, %b: bf16[3072] frozen) where s0 >= 2 {
//     %0: bf16[s0, 3072] = linear(%x, %w, %b)                       # model.py:12
//     %1: bf16[s0, 3072] = gelu(%0, approximate="none")
//     return %1
//   }
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codetta/base/id.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/facts.h"

namespace codetta::graph {

using ValueId = base::Id<struct GraphValueTag>;

// dtype, sizes and strides (in elements) of a tensor value. Strides are the contract at the graph's border (inputs and outputs); inside, they are advice that passes may change.
struct TensorType {
  scalar::DType dtype = scalar::DType::f32;
  std::vector<sym::Expr> shape;
  std::vector<sym::Expr> strides;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
TensorType contiguous(scalar::DType dtype, std::vector<sym::Expr> shape);

// Attributes are typed data; an op's entry names and checks them.
using Attribute = std::variant<bool, int64_t, double, std::string, scalar::DType, sym::Expr, std::vector<sym::Expr>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

struct Value {
  std::string name;   // unique; `x`, `0`
  TensorType type;
};

enum class InputKind : uint8_t { argument, parameter, constant };  // parameter: weights (frozen when the user froze); constant: data inside the graph

struct Input {
  ValueId value;
  InputKind kind = InputKind::argument;
  bool frozen = false;
  std::optional<scalar::HostArray> data;  // of a constant
};

struct Node {
  std::string op;                          // name of an OpDef
  std::vector<std::optional<ValueId>> inputs;  // nullopt: an optional operand that is absent
  Attributes attributes;
  std::vector<ValueId> outputs;
  std::optional<ValueId> into;             // outputs[0] is written into this value's memory (an input or a view chain's base), ordered after every earlier read of it
  std::string location;                    // the model's source line, `model.py:12`
};

// What the caller gets back.
struct Output {
  enum class Kind : uint8_t { value, input, view, size };
  Kind kind = Kind::value;
  ValueId value;                           // value: a fresh tensor with the value's type; input: that very object; view: base value
  TensorType view_type;                    // view: as_strided over the base's memory
  sym::Expr offset;                        // view: elements
  sym::Expr size;                          // size: an integer
};

// A value: nodes in execution order. Size symbols are bound by input shapes or by `size_arguments`.
struct Graph {
  std::string name = "graph";
  sym::Facts facts;
  std::vector<std::string> size_arguments;  // integer arguments, in order, besides the tensors
  std::vector<Value> values;
  std::vector<Input> inputs;
  std::vector<Node> nodes;
  std::vector<Output> outputs;

  const Value& value(ValueId v) const { return values[v.value]; }
  const TensorType& type(ValueId v) const { return values[v.value].type; }
};

// @post to_string(parse_graph(to_string(g))) == to_string(g); constants are printed as `data("dtype", [..])` when small, else by content hash with the bytes beside the file.
std::string to_string(const Graph& g);
Graph parse_graph(std::string_view text);  // UserError "line L, column C: ..."

}  // namespace codetta::graph
