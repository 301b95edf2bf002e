// Complement: what is missing from a layout.
#pragma once

#include "codetta/layout/layout.h"

namespace codetta::layout {

// The ordered layout that steps over the offsets that l leaves free, up to `extent` at least.
// @pre l is injective apart from modes of stride 0
// @post for all 0 < j < size(c), i < size(l): c(j) != l(i); c(j - 1) < c(j)
// @post where l's strides, in order, divide evenly: cosize(make_layout({l, c})) >= extent and, where they divide
//       the extent too, size(c) * size(filter(l)) == extent.
//       Otherwise a gap is rounded down, as (2,2):(1,3) leaves the offset 2 to nobody.
// UserError where l is not injective, or, for symbols, can't be put in order.
Layout complement(const Layout& l, const sym::Expr& extent, const sym::Facts& facts = {});
Layout complement(const Layout& l, const sym::Facts& facts = {}); // extent = cosize(l)

} // namespace codetta::layout
