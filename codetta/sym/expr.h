// Symbolic integers: an immutable expression over named symbols, kept in one canonical form.
// Every shape, stride, access, loop bound, buffer size and guard in Codetta is one of these.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace codetta::sym {

enum class Kind : uint8_t { constant, symbol, add, mul, floor_div, mod, min, max };

// An integer expression. Arithmetic is exact in int64 (an overflow is an InternalError at evaluation).
// Canonical form: a sum of products, constants folded, operands ordered by print; floor_div and mod round towards minus infinity (Python's `//`, `%`).
// Two expressions that canonicalise alike compare equal; unequal expressions may still have equal values.
// @post parse(to_string(e)) == e
class Expr {
 public:
  Expr(int64_t value = 0);  // NOLINT: an integer is an expression
  Expr(int value) : Expr(static_cast<int64_t>(value)) {}
  static Expr symbol(std::string name);  // name: [A-Za-z_$][A-Za-z0-9_.$]*

  Kind kind() const;
  std::optional<int64_t> constant() const;  // the value when it is a literal
  bool is(int64_t value) const { return constant() == value; }
  const std::string& name() const;          // symbols only
  std::span<const Expr> operands() const;   // of add, mul (n-ary; a literal factor or term comes last), floor_div, mod, min, max (binary; min/max n-ary)

  friend bool operator==(const Expr& a, const Expr& b);
  friend bool operator<(const Expr& a, const Expr& b);  // a total order for containers, not of values
  size_t hash() const;

  struct Node;

 private:
  explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  friend struct ExprFactory;
  std::shared_ptr<const Node> node_;
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator*(const Expr& a, const Expr& b);
Expr floor_div(const Expr& a, const Expr& b);
Expr ceil_div(const Expr& a, const Expr& b);  // -floor_div(-a, b), kept as floor_div(a + b - 1, b)
Expr mod(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr product(std::span<const Expr> factors);

using Bindings = std::map<std::string, int64_t, std::less<>>;
using Substitution = std::map<std::string, Expr, std::less<>>;

int64_t evaluate(const Expr& e, const Bindings& values);  // unbound symbol, division by zero, overflow: InternalError
Expr substitute(const Expr& e, const Substitution& by);   // simultaneous
void collect_symbols(const Expr& e, std::set<std::string>& out);
std::set<std::string> symbols(const Expr& e);
bool depends_on(const Expr& e, std::string_view symbol);

// e == coefficient * symbol + rest, where neither depends on the symbol; nullopt when e is not affine in it.
struct Affine {
  Expr coefficient, rest;
};
std::optional<Affine> as_affine(const Expr& e, std::string_view symbol);

std::string to_string(const Expr& e);  // `2*m + n`, `m // 16`, `(m + 3) % 4`, `min(m, 4)`
Expr parse_expr(std::string_view text);  // UserError with the column on malformed text

}  // namespace codetta::sym

template <>
struct std::hash<codetta::sym::Expr> {
  size_t operator()(const codetta::sym::Expr& e) const { return e.hash(); }
};
