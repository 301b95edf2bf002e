// What can be done to a View without code: slices, tiles and regroupings of its layout. All return a new View of the same buffer.
#pragma once

#include <span>

#include "codetta/tile/program.h"

namespace codetta::tile {

inline constexpr SwizzleBits kSwizzle128{3, 4, 3};

// A layout with the given extents; strides default to the last mode fastest (row major).
layout::Layout row_major(std::span<const int64_t> extents);
layout::Layout make_layout(std::vector<layout::IntTuple> extents, std::vector<layout::IntTuple> strides);

using layout::Leaf;
using layout::leaves;

// Number of coordinates; InternalError when an extent is not a literal.
int64_t static_size(const layout::Layout& l);
int64_t static_size(const layout::IntTuple& shape);
// Offset of the coordinate number `index` (the first sub-mode fastest).
sym::Expr offset_of(const layout::Layout& l, const sym::Expr& index);
// The offsets of all coordinates in order, symbolic where strides are.
std::vector<sym::Expr> offsets(const layout::Layout& l);

// Mode `mode` fixed at `index` and dropped.
// @post at(v, i, x)(c without i) == v(c with x at i); the rank falls by one (a view of rank 1 becomes one element of shape 1)
View at(const View& v, size_t mode, const sym::Expr& index);
// Coordinates begin.. begin+extent-1 of a mode. A nested mode is cut at whole sub-modes: extent is a product of its first sub-extents
// (times a part of the next) and begin a multiple of it.
View slice(const View& v, size_t mode, const sym::Expr& begin, int64_t extent);
// The tile number `tile` of `extent` coordinates of a mode: slice(v, mode, tile * extent, extent).
View tile(const View& v, size_t mode, int64_t extent, const sym::Expr& tile);
// All modes in one: flat(v) has one mode, nested, the same offsets in the same order.
View flat(const View& v);
// The element number `index` (in the order of the coordinates) as a view of shape 1.
View element(const View& v, const sym::Expr& index);
// The view with another layout from the same first element.
View with_layout(const View& v, layout::Layout l);
// `extent` copies of the view along a new last mode of stride 0.
View broadcast(const View& v, int64_t extent);

// Coordinate of top-level mode `mode` < limit, for a copy of views of this layout's shape.
Limit limit_of_mode(const layout::Layout& copied, size_t mode, const sym::Expr& limit);
// The top-level mode that this limit speaks of, when it is of limit_of_mode's kind.
std::optional<size_t> limited_mode(const Limit& l);

} // namespace codetta::tile
