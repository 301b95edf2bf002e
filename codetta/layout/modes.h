// Taking layouts apart and putting them together by modes: slices, groups, orders.
#pragma once

#include "codetta/layout/layout.h"

#include <optional>

namespace codetta::layout {

// @post leaves(flatten(l)) == leaves(l), depth <= 1
Layout flatten(const Layout& l);
// Modes begin..end become one mode.
// @post group(l, b, e)(i) == l(i)
Layout group(const Layout& l, size_t begin, size_t end);
// The modes named, in that order.
Layout select(const Layout& l, std::span<const size_t> modes);
// Pads the rank with 1:0 behind.
Layout append(const Layout& l, size_t rank);

// Leaves of stride 0 get extent 1.
// @post size(filter_zeros(l)) is the size of l without broadcasts; the nesting stays
Layout filter_zeros(const Layout& l);
// Without leaves of stride 0 and of extent 1, coalesced.
// @post the set of offsets stays
Layout filter(const Layout& l);

// A coordinate fixes a top-level mode; nullopt keeps it.
struct Slice {
    Layout layout;    // the modes kept; 1:0 when none is, the mode itself when one is
    sym::Expr offset; // of its first element
    friend bool operator==(const Slice&, const Slice&) = default;
};
// @post l(c) == s.offset + s.layout(c's coordinates in the kept modes)
Slice slice(const Layout& l, std::span<const std::optional<IntTuple>> coordinate);

} // namespace codetta::layout
