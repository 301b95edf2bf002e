// Inverses: from offsets back to indices.
#pragma once

#include "codetta/layout/layout.h"

namespace codetta::layout {

// The largest layout r found that walks l's offsets 0, 1, 2, ... without a gap; 1:0 when l has no mode of stride 1.
// @post for all i < size(r): l(r(i)) == i
Layout right_inverse(const Layout& l);
// @pre l is injective
// @post for all i < size(l): left_inverse(l)(l(i)) == i
// UserError where no layout is an inverse: strides that leave uneven gaps.
Layout left_inverse(const Layout& l, const sym::Facts& facts = {});

// Where two layouts agree: r with a(r(i)) == b(r(i)) == i for all i < size(r), the largest found.
Layout max_common_layout(const Layout& a, const Layout& b);
// How many of the first elements lie in the same order and without a gap in both: a vector copy may move so many at a time.
// @post for all i < max_common_vector(a, b): there is one c with a(c) == b(c) == i
sym::Expr max_common_vector(const Layout& a, const Layout& b);
// How many first elements of a mode lie without a gap.
// @post for all i < contiguous_run(m): m(i) == i, or the run is 1
sym::Expr contiguous_run(const Layout& mode);

} // namespace codetta::layout
