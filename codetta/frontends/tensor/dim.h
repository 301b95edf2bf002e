// Sizes of tensors: numbers, or named sizes that each call decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"

namespace codetta::frontends::tensor {

/// One size: a number, a named size, or an expression of these. Carries what is known of the names in it.
class Dim {
public:
    Dim(int64_t value) : expr(value) {} // NOLINT: a number is a size
    Dim(int value) : expr(value) {}     // NOLINT
    Dim(sym::Expr e, sym::Facts f) : expr(std::move(e)), facts(std::move(f)) {}

    // Of a named size. A call with another size is refused; code is specialised for what is known here.
    Dim at_least(int64_t lo) const;
    Dim at_most(int64_t hi) const;
    Dim multiple_of(int64_t divisor) const;

    sym::Expr expr;
    sym::Facts facts;
};

/// A size that is known at the call only; the same name is the same size everywhere. 0 is allowed unless at_least says otherwise.
/// @throws UserError when the name is none, or `i` or `r` followed by digits (those are the compiler's)
Dim dim(const std::string& name);

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim floor_div(const Dim& a, const Dim& b);

using Shape = std::vector<Dim>;

std::vector<sym::Expr> exprs(const Shape& shape);

/// Both sets of facts. @throws UserError when one size is described in two ways
sym::Facts merge_facts(const sym::Facts& a, const sym::Facts& b);
sym::Facts facts_of(const Shape& shape);

} // namespace codetta::frontends::tensor
