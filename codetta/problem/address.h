// Accesses as addresses: what a template loads from.
#pragma once

#include <optional>
#include <vector>

#include "codetta/problem/problem.h"

namespace codetta::problem {

// offset + sum of coefficient[a] * index of axis a, in elements. The coefficients and the offset speak of sizes only.
struct AffineAddress {
    sym::Expr offset;
    std::vector<sym::Expr> coefficient; // per axis of the problem
    friend bool operator==(const AffineAddress&, const AffineAddress&) = default;
};

// The address of an access in elements, simplified under the facts of the problem and its axes; may speak of axes and `$i`.
sym::Expr address(const Problem& p, const Operand& o, const Access& a);

// nullopt when the address is not affine in the axes (a gather, a split axis whose parts do not coalesce). Guard and checks are the
// caller's affair.
// @post for every point: offset + sum coefficient * index == address
std::optional<AffineAddress> as_affine_address(const Problem& p, const Operand& o, const Access& a);
std::optional<AffineAddress> as_affine_address(const Problem& p, const Read& r); // of an operand; nullopt for other reads

} // namespace codetta::problem
