// Recast: the same memory counted in larger or smaller elements.
#pragma once

#include "codetta/layout/layout.h"

namespace codetta::layout {

// Offsets in units of `factor` old elements. A leaf of stride 1 loses the factor from its extent, other strides are divided.
// @post for all i < size(u): u(i) * factor == l(j) for the first old element j of i
// UserError where a unit is not contiguous.
Layout upcast(const Layout& l, int64_t factor, const sym::Facts& facts = {});
// @post for all i < size(l), 0 <= k < factor: the new layout holds l(i) * factor + k; new elements of one old element follow each other in
// the leaf of stride 1
Layout downcast(const Layout& l, int64_t factor);

} // namespace codetta::layout
