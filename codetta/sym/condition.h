// Conditions on symbolic integers: guards of accesses, of recipes and of tile statements.
#pragma once

#include "codetta/sym/expr.h"

namespace codetta::sym {

enum class Relation : uint8_t { eq, ne, lt, le };

// lhs relation rhs. `a >= b` is written le(b, a).
struct Condition {
    Relation relation = Relation::eq;
    Expr lhs, rhs;
    friend bool operator==(const Condition&, const Condition&) = default;
};

inline Condition eq(Expr a, Expr b) { return {Relation::eq, std::move(a), std::move(b)}; }
inline Condition ne(Expr a, Expr b) { return {Relation::ne, std::move(a), std::move(b)}; }
inline Condition lt(Expr a, Expr b) { return {Relation::lt, std::move(a), std::move(b)}; }
inline Condition le(Expr a, Expr b) { return {Relation::le, std::move(a), std::move(b)}; }

// @post evaluate(negate(c), v) == !evaluate(c, v)
Condition negate(const Condition& c);
bool evaluate(const Condition& c, const Bindings& values);
Condition substitute(const Condition& c, const Substitution& by);
void collect_symbols(const Condition& c, std::set<std::string>& out);

// @post parse_condition(to_string(c)) == c
std::string to_string(const Condition& c);                                 // `m % 16 == 0`, `m <= 4`
Condition parse_condition(std::string_view text);                          // also > and >=, which swap sides
Condition parse_condition_prefix(std::string_view text, size_t& position); // as parse_expr_prefix

} // namespace codetta::sym
