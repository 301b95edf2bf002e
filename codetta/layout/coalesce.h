// Coalesce: the same function with the fewest modes that merging neighbours gives.
#pragma once

#include "codetta/layout/layout.h"

namespace codetta::layout {

// Drops extents of 1 and merges (s0,s1):(d,s0*d) into s0*s1:d.
// @post depth(coalesce(l)) <= 1, size(coalesce(l)) == size(l)
// @post for all i < size(l): coalesce(l)(i) == l(i)
Layout coalesce(const Layout& l);
// Each top-level mode on its own.
// @post the rank stays; coalesce_modes(l).mode(k) == coalesce(l.mode(k))
Layout coalesce_modes(const Layout& l);

} // namespace codetta::layout
