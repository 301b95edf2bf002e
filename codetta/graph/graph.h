// What the user wrote, typed: an SSA graph of tensor ops with symbolic sizes, in-place targets and aliasing outputs written down.
//
//   graph linear_gelu(%x: bf16[s0, 768], %w: bf16[3072, 768] parameter frozen, %b: bf16[3072] parameter frozen) where s0 >= 2 {
//     %0: bf16[s0, 3072] = linear(%x, %w, %b)                       # model.py:12
//     %1: bf16[s0, 3072] = gelu(%0, approximate="none")
//     return %1
//   }
//
// Other forms: `%c: i64[2] = data([0, 3])` a constant; `op(%x, _, %b)` an absent operand; `%2: f32[8] = index_copy(%c, %i, %v) into %c`;
// `graph g(%x: f32[n]) sizes m`: an integer argument; `f32[4, 8] strides [1, 4]` where not contiguous;
// `return %3, %x, view(%5, f32[4] strides [2], offset 1), size(2*n)`: a fresh tensor, an input itself, a view of %5's memory, an integer.
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

// dtype, sizes and strides (in elements) of a tensor value. Strides are the contract at the graph's border (inputs and outputs); inside,
// they are advice that passes may change. Ops see values, not memory: only `as_strided` and view outputs speak of strides.
struct TensorType {
    scalar::DType dtype = scalar::DType::f32;
    std::vector<sym::Expr> shape;
    std::vector<sym::Expr> strides;
    size_t rank() const { return shape.size(); }
    friend bool operator==(const TensorType&, const TensorType&) = default;
};
TensorType contiguous(scalar::DType dtype, std::vector<sym::Expr> shape);
bool is_contiguous(const TensorType& t);
sym::Expr element_count(const TensorType& t);

// Attributes are typed data; an op's entry names and checks them (signature.h).
using Attribute = std::variant<bool, int64_t, double, std::string, scalar::DType, sym::Expr, std::vector<sym::Expr>>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

struct Value {
    std::string name; // unique; `x`, `0`
    TensorType type;
};

enum class InputKind : uint8_t {
    argument,
    parameter, // weights (frozen when the user froze)
    constant,  // data inside the graph
};

struct Input {
    ValueId value;
    InputKind kind = InputKind::argument;
    bool frozen = false;
    std::optional<scalar::HostArray> data; // of a constant
};

struct Node {
    std::string op;                             // name of an OpDef
    std::vector<std::optional<ValueId>> inputs; // nullopt: an optional operand that is absent
    Attributes attributes;
    std::vector<ValueId> outputs;
    std::optional<ValueId> into; // outputs[0] is written into this input's memory, ordered after every read of it: no later node reads it
    std::string location;        // the model's source line, `model.py:12`
};

// What the caller gets back.
struct Output {
    enum class Kind : uint8_t { value, input, view, size };
    Kind kind = Kind::value;
    ValueId value;        // value: a fresh tensor with the value's type (never an input); input: that very object; view: base value
    TensorType view_type; // view: as_strided over the base's memory
    sym::Expr offset;     // view: elements
    sym::Expr size;       // size: an integer
};

// A value; nodes stand in execution order. Size symbols are bound by input shapes (a dimension that is just the symbol) or by
// `size_arguments`. Names of size symbols are never `i` or `r` followed by digits: those are the axes of lowered ops.
struct Graph {
    std::string name = "graph";
    sym::Facts facts;
    std::vector<std::string> size_arguments; // integer arguments, in order, besides the tensors
    std::vector<Value> values;
    std::vector<Input> inputs;
    std::vector<Node> nodes;
    std::vector<Output> outputs;

    const Value& value(ValueId v) const { return values[v.value]; }
    const TensorType& type(ValueId v) const { return values[v.value].type; }
};

const Input* find_input(const Graph& g, ValueId v);             // null when a node makes it
std::vector<std::optional<uint32_t>> producers(const Graph& g); // per value: the index of the node that makes it

// @post to_string(parse_graph(to_string(g))) == to_string(g) for graphs without large constants
// Constants of more than 64 elements are printed as `data(hash "0123456789abcdef")`; parse_graph takes their contents from `constants`
// (UserError when missing).
std::string to_string(const Graph& g);
using ConstantStore = std::map<std::string, scalar::HostArray, std::less<>>; // by hash
ConstantStore large_constants(const Graph& g);
Graph parse_graph(std::string_view text, const ConstantStore& constants = {}); // UserError "line L, column C: ..."

std::string to_string(const TensorType& t); // `f32[4, 8] strides [1, 4]`
std::string to_string(const Attribute& a);  // true 3 0.5 "text" f32 2*s0 [1, s0]
Attribute parse_attribute(std::string_view text);

} // namespace codetta::graph
