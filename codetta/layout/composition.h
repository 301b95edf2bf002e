// Composition: read a layout through another one.
#pragma once

#include "codetta/layout/layout.h"

namespace codetta::layout {

// One layout per mode; a mode behind the last is left as it is. The tiler (16, 8) is `{Layout{16, 1}, Layout{8, 1}}`.
using Tiler = std::vector<Layout>;

// a o b: the layout with the coordinates of b.
// @post compatible(b.shape, composition(a, b).shape)
// @post for all i < size(b): composition(a, b)(i) == a(b(i))
// UserError where a leaf of b neither stays inside the modes of a nor fills them evenly, or where b's modes carry into each other within a:
// then no layout with b's modes computes it (but for strides by which two carries cancel), or, for symbols, none can be proven to.
Layout composition(const Layout& a, const Layout& b, const sym::Facts& facts = {});
// Mode by mode.
// @post composition(a, tiler).mode(k) == composition(a.mode(k), tiler[k])
Layout composition(const Layout& a, const Tiler& tiler, const sym::Facts& facts = {});

// a / b where b divides a, plainly or under the facts.
std::optional<sym::Expr> divide_exactly(const sym::Expr& a, const sym::Expr& b, const sym::Facts& facts);

} // namespace codetta::layout
