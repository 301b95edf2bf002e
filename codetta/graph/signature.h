// What a node of an op may look like: its operands and typed attributes, parsed once from the entry's text.
//
//   (x, w, b?) approximate: text = "none"           b may be absent
//   (*tensors) dim: int                              one or more operands
//   (x, *indices?) accumulate: bool = false          each may be absent
//   (x) scale: number?, shape: exprs                 `scale` may be left out and has no default; `shape` must be given
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codetta/graph/graph.h"

namespace codetta::graph {

// `number` is an int, a float or an expression of sizes; `expr` an integer or an expression; `exprs` a list of these.
enum class AttributeType : uint8_t { boolean, integer, number, text, dtype, expr, exprs };
std::string_view to_string(AttributeType t); // `bool int number text dtype expr exprs`

struct OperandRule {
    std::string name;
    bool optional = false;
    bool variadic = false; // only the last
};

struct AttributeRule {
    std::string name;
    AttributeType type = AttributeType::boolean;
    bool optional = false; // may be left out; `otherwise` is then its value, if there is one
    std::optional<Attribute> otherwise;
};

struct Signature {
    std::vector<OperandRule> operands;
    std::vector<AttributeRule> attributes;
    const AttributeRule* find(std::string_view name) const;
};

Signature parse_signature(std::string_view text); // InternalError: entries are our own text

// Checks the node's operands and attributes against s and gives the attributes their declared type (an int literal for an `expr` becomes an
// Expr ...). UserError: "unknown attribute 'aproximate'; did you mean 'approximate'?", "operand 'w' is missing", ...
void apply_signature(const Signature& s, Node& node);

} // namespace codetta::graph
