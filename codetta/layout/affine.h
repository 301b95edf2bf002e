// From offsets as expressions to layouts.
#pragma once

#include "codetta/layout/layout.h"

#include <optional>

namespace codetta::layout {

// A mode per axis: extents[i]:coefficients[i]; one axis gives a leaf.
Layout from_affine(std::span<const sym::Expr> extents, std::span<const sym::Expr> coefficients);

struct AxisExtent {
    std::string name; // the symbol, 0 <= name < extent
    sym::Expr extent;
};

struct OffsetLayout {
    Layout layout;    // one mode per axis, nested where the offset divides that axis
    sym::Expr offset; // free of the axes
    friend bool operator==(const OffsetLayout&, const OffsetLayout&) = default;
};

// The layout of an offset that is a sum of coefficients times a, a // c, a % c or (a // c) % d for axes a; nullopt when it has another form
// or when the divisors of an axis do not divide each other and its extent.
// @post offset(axes = c) == result.offset + result.layout(c)
std::optional<OffsetLayout> from_offset(const sym::Expr& offset, std::span<const AxisExtent> axes, const sym::Facts& facts = {});

} // namespace codetta::layout
