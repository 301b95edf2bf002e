#include "codetta/layout/product.h"

#include "codetta/base/error.h"
#include "codetta/layout/complement.h"
#include "codetta/layout/modes.h"

#include <algorithm>

namespace codetta::layout {

using sym::Expr;

Layout logical_product(const Layout& block, const Layout& tiles, const sym::Facts& facts) {
    return make_layout({block, composition(complement(block, size(block) * cosize(tiles), facts), tiles, facts)});
}

namespace {

struct Unzipped {
    std::vector<Layout> blocks, repeats;
};

Unzipped multiply_modes(const Layout& block, const Tiler& tiles, const sym::Facts& facts) {
    CODETTA_USER_CHECK(tiles.size() <= block.rank(), "{} repeats for the block {}", tiles.size(), to_string(block));
    Unzipped out;
    for (size_t i = 0; i < block.rank(); ++i) {
        out.blocks.push_back(block.mode(i));
        if (i < tiles.size()) out.repeats.push_back(logical_product(block.mode(i), tiles[i], facts).mode(1));
    }
    return out;
}

} // namespace

Layout zipped_product(const Layout& block, const Tiler& tiles, const sym::Facts& facts) {
    Unzipped parts = multiply_modes(block, tiles, facts);
    return make_layout({make_layout(parts.blocks), make_layout(parts.repeats)});
}

Layout tiled_product(const Layout& block, const Tiler& tiles, const sym::Facts& facts) {
    Unzipped parts = multiply_modes(block, tiles, facts);
    parts.repeats.insert(parts.repeats.begin(), make_layout(parts.blocks));
    return make_layout(parts.repeats);
}

Layout flat_product(const Layout& block, const Tiler& tiles, const sym::Facts& facts) {
    Unzipped parts = multiply_modes(block, tiles, facts);
    parts.blocks.insert(parts.blocks.end(), parts.repeats.begin(), parts.repeats.end());
    return make_layout(parts.blocks);
}

namespace {

Layout interleave(const Layout& block, const Layout& tiles, bool block_first, const sym::Facts& facts) {
    size_t rank = std::max(block.rank(), tiles.rank());
    Layout padded_block = append(block, rank), padded_tiles = append(tiles, rank);
    Layout product = logical_product(padded_block, padded_tiles, facts);
    std::vector<Layout> modes;
    for (size_t i = 0; i < rank; ++i) {
        Layout of_block = product.mode(0).mode(i), of_tiles = product.mode(1).mode(i);
        modes.push_back(block_first ? make_layout({of_block, of_tiles}) : make_layout({of_tiles, of_block}));
    }
    return make_layout(modes);
}

} // namespace

Layout blocked_product(const Layout& block, const Layout& tiles, const sym::Facts& facts) { return interleave(block, tiles, true, facts); }

Layout raked_product(const Layout& block, const Layout& tiles, const sym::Facts& facts) { return interleave(block, tiles, false, facts); }

Layout tile_to_shape(const Layout& block, const IntTuple& shape, std::span<const int> order, const sym::Facts& facts) {
    CODETTA_USER_CHECK(shape.rank() >= block.rank(), "a block {} for the shape {}", to_string(block), to_string(shape));
    Layout padded = append(block, shape.rank());
    std::vector<IntTuple> counts;
    for (size_t i = 0; i < shape.rank(); ++i) counts.emplace_back(facts.simplify(sym::ceil_div(size(shape.mode(i)), size(padded.mode(i)))));
    return blocked_product(padded, make_ordered(IntTuple(std::move(counts)), order), facts);
}

} // namespace codetta::layout
