// Product: a layout repeated as another one says.
#pragma once

#include "codetta/layout/composition.h"

namespace codetta::layout {

// (block, repeats): mode 0 is the block, mode 1 places copies of it where the block leaves room, in the order of `tiles`.
// @post logical_product(b, t).mode(0) == b, compatible(t.shape, logical_product(b, t).mode(1).shape)
// @post for all i < size(t): logical_product(b, t).mode(1)(i) == complement(b, size(b) * cosize(t))(t(i))
Layout logical_product(const Layout& block, const Layout& tiles, const sym::Facts& facts = {});
// Mode by mode, gathered: ((block0,block1,...),(repeats0,repeats1,...)).
Layout zipped_product(const Layout& block, const Tiler& tiles, const sym::Facts& facts = {});
// ((block0,block1,...),repeats0,repeats1,...)
Layout tiled_product(const Layout& block, const Tiler& tiles, const sym::Facts& facts = {});
// (block0,block1,...,repeats0,repeats1,...)
Layout flat_product(const Layout& block, const Tiler& tiles, const sym::Facts& facts = {});

// The product with mode k of the block beside mode k of the tiles: the block stays whole, ((b0,t0),(b1,t1),...).
// @post size of mode k == size(block.mode(k)) * size(tiles.mode(k))
Layout blocked_product(const Layout& block, const Layout& tiles, const sym::Facts& facts = {});
// The other way round: elements of different copies lie side by side, ((t0,b0),(t1,b1),...).
Layout raked_product(const Layout& block, const Layout& tiles, const sym::Facts& facts = {});
// The block repeated until it covers the shape; the copies follow each other with the mode of the smallest order first.
// @pre the extents of the block's modes divide the shape's, else the last copies reach past it
Layout tile_to_shape(const Layout& block, const IntTuple& shape, std::span<const int> order, const sym::Facts& facts = {});

} // namespace codetta::layout
