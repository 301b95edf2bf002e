// The inside of Expr, for the sources of this room alone: nodes, and a sum seen as terms (coefficient times sorted factors).
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "codetta/sym/expr.h"

namespace codetta::sym {

struct Expr::Node {
    Kind kind;
    size_t hash;
    std::string name;           // symbol
    std::vector<Expr> operands; // the rest
};

struct ExprFactory {
    // The node as given: operands must already be canonical.
    static Expr make(Kind kind, std::vector<Expr> operands, std::string name = {});
    static const Expr::Node* node(const Expr& e) { return e.node_.get(); }
};

// One term of a sum: coefficient * product(factors), the factors sorted atoms; no factor: the literal term. It points into the Expr it came
// from.
struct TermView {
    int64_t coefficient;
    std::span<const Expr> factors;
};

// An owned term.
struct Term {
    int64_t coefficient;
    std::vector<Expr> factors;
};

std::strong_ordering compare(const Expr& a, const Expr& b);                             // structural; literals come last
std::strong_ordering compare_factors(std::span<const Expr> a, std::span<const Expr> b); // lexicographic; no factor comes last

std::span<const Expr> terms_of(const Expr& e); // the terms of a sum; one term for anything else; none for 0. Points into e
TermView view_term(const Expr& term);          // points into term
Expr make_term(int64_t coefficient, std::span<const Expr> factors);
Expr sum_of_terms(std::vector<Term> terms); // sorts and gathers

// scale * sum + shift, where `sum` has two or more multiples of symbols without a common divisor, the first of them positive.
struct LinearView {
    int64_t scale;
    Expr sum;
    int64_t shift;
};
std::optional<LinearView> view_linear(const Expr& e);

// a / b when the factors of b are among those of a (sorted multisets).
std::optional<std::vector<Expr>> divide_factors(std::span<const Expr> a, std::span<const Expr> b);
std::vector<Expr> common_factors(std::span<const Expr> a, std::span<const Expr> b);

int64_t checked_add(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
int64_t floor_div_int(int64_t a, int64_t b); // b == 0: InternalError
int64_t mod_int(int64_t a, int64_t b);

} // namespace codetta::sym
