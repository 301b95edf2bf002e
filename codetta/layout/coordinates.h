// Coordinates and indices of a shape.
#pragma once

#include "codetta/layout/int_tuple.h"

namespace codetta::layout {

// The offset of a coordinate. Where the coordinate is coarser than the shape, an integer stands for the coordinates of its part, first mode
// fastest; in the last mode it is not wrapped around.
// @pre the coordinate is weakly congruent with the shape: equal ranks where both are tuples
// @post crd2idx(idx2crd(i, shape), shape, column major stride) == i
sym::Expr crd2idx(const IntTuple& coordinate, const IntTuple& shape, const IntTuple& stride);
// The natural coordinate of an index.
// @post congruent(idx2crd(i, shape), shape); every leaf but the last lies inside its extent
IntTuple idx2crd(const sym::Expr& index, const IntTuple& shape);
// The coordinate in another shape of the same size with the same index.
// @post crd2crd(c, a, b) == idx2crd(index of c in a, b)
IntTuple crd2crd(const IntTuple& coordinate, const IntTuple& from, const IntTuple& to);

} // namespace codetta::layout
