// Division: a layout cut into tiles.
#pragma once

#include "codetta/layout/composition.h"

namespace codetta::layout {

// ((tile), (rest)): mode 0 is one tile, mode 1 walks the tiles. A rest that does not divide is rounded up: the last tile reaches past
// size(l), and the caller guards it.
// @post logical_divide(l, t).mode(0) == composition(l, t)
// @post for all c < size(l) with c == t(i) + complement(t, size(l))(j): logical_divide(l, t)((i,j)) == l(c)
Layout logical_divide(const Layout& l, const Layout& tile, const sym::Facts& facts = {});
// Mode by mode: ((tile0,rest0),(tile1,rest1),...); modes behind the tiler stay.
Layout logical_divide(const Layout& l, const Tiler& tiler, const sym::Facts& facts = {});
// The same modes, gathered: ((tile0,tile1,...),(rest0,rest1,...)).
Layout zipped_divide(const Layout& l, const Tiler& tiler, const sym::Facts& facts = {});
// ((tile0,tile1,...),rest0,rest1,...)
Layout tiled_divide(const Layout& l, const Tiler& tiler, const sym::Facts& facts = {});
// (tile0,tile1,...,rest0,rest1,...)
Layout flat_divide(const Layout& l, const Tiler& tiler, const sym::Facts& facts = {});

} // namespace codetta::layout
