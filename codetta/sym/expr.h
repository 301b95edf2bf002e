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

// An integer expression. Arithmetic is exact in int64 (an overflow is an InternalError).
// Canonical form: products expanded to a sum of monomials, like terms gathered, constants folded, operands in a fixed order; floor_div and
// mod round towards minus infinity (Python's `//`, `%`), multiples of the divisor are taken out of the numerator, common factors cancelled,
// divisors positive. Two expressions that canonicalise alike compare equal; unequal expressions may still have equal values
// (Facts::simplify goes further).
// @post parse_expr(to_string(e)) == e
// @post evaluate(op(a, b), v) == op(evaluate(a, v), evaluate(b, v)) whenever the right side is defined
class Expr {
public:
    Expr(int64_t value = 0) : value_(value) {}             // NOLINT: an integer is an expression
    Expr(int value) : Expr(static_cast<int64_t>(value)) {} // NOLINT
    static Expr symbol(std::string name);                  // name: [A-Za-z_$][A-Za-z0-9_.$]*

    Kind kind() const;
    // The value when it is a literal.
    std::optional<int64_t> constant() const { return node_ ? std::nullopt : std::optional<int64_t>(value_); }
    bool is(int64_t value) const { return !node_ && value_ == value; }
    const std::string& name() const; // symbols only
    // Of add and mul (n-ary; a literal term or factor comes last), floor_div and mod (two), min and max (n-ary); none of literals and
    // symbols.
    std::span<const Expr> operands() const;

    friend bool operator==(const Expr& a, const Expr& b);
    friend bool operator<(const Expr& a, const Expr& b); // a total order for containers, not of values
    size_t hash() const;

    struct Node;

private:
    explicit Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    friend struct ExprFactory;
    std::shared_ptr<const Node> node_; // none: a literal
    int64_t value_ = 0;
};

Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator*(const Expr& a, const Expr& b);
inline Expr& operator+=(Expr& a, const Expr& b) { return a = a + b; }
inline Expr& operator-=(Expr& a, const Expr& b) { return a = a - b; }
inline Expr& operator*=(Expr& a, const Expr& b) { return a = a * b; }
Expr floor_div(const Expr& a, const Expr& b); // a literal b == 0 is an InternalError
Expr ceil_div(const Expr& a, const Expr& b);  // floor_div(a + b - 1, b); b > 0
Expr mod(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr sum(std::span<const Expr> terms);       // 0 when empty
Expr product(std::span<const Expr> factors); // 1 when empty

// q with q * b == a as polynomials; nullopt when there is none that is plain to see.
std::optional<Expr> exact_div(const Expr& a, const Expr& b);

using Bindings = std::map<std::string, int64_t, std::less<>>;
using Substitution = std::map<std::string, Expr, std::less<>>;

int64_t evaluate(const Expr& e, const Bindings& values); // unbound symbol, division by zero, overflow: InternalError
Expr substitute(const Expr& e, const Substitution& by);  // simultaneous
Expr substitute(const Expr& e, std::string_view symbol, const Expr& by);
void collect_symbols(const Expr& e, std::set<std::string>& out);
std::set<std::string> symbols(const Expr& e);
bool depends_on(const Expr& e, std::string_view symbol);
size_t node_count(const Expr& e); // literals and symbols count one each, every operation one

// e == coefficient * symbol + rest, where neither depends on the symbol; nullopt when e is not affine in it.
struct Affine {
    Expr coefficient, rest;
};
std::optional<Affine> as_affine(const Expr& e, std::string_view symbol);

std::string to_string(const Expr& e); // `2*m + n`, `m // 16`, `(m + 3) % 4`, `min(m, 4)`
// Also reads ceil_div(a, b). UserError with the column on malformed text.
Expr parse_expr(std::string_view text);
// Reads the longest expression that starts at `position` and moves `position` behind it (and behind no blank after it).
Expr parse_expr_prefix(std::string_view text, size_t& position);

} // namespace codetta::sym

template <>
struct std::hash<codetta::sym::Expr> {
    size_t operator()(const codetta::sym::Expr& e) const { return e.hash(); }
};
