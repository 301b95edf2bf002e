// CuTe's layout: a function from coordinates to offsets, given by a nested shape and a congruent nested stride (in elements).
// Each law of the algebra has a header of its own beside this one: coalesce, composition, complement, inverse, divide, product, swizzle.
//
// Extents and strides may be symbolic. The laws take sym::Facts about the symbols; a symbol without a range is taken to be at least 1.
// Where a step needs a divisibility or an order that can't be proven, the law throws a UserError that names both sides.
#pragma once

#include "codetta/layout/int_tuple.h"

namespace codetta::layout {

// Coordinates run colexicographically: the first mode, and inside a mode the first sub-mode, is the fastest, as in CuTe. A single integer
// is a coordinate of any layout; beyond size(l) it goes on in the last mode.
// @post for a natural coordinate c: layout(c) == sum over leaves of c_leaf * stride_leaf
// @post layout(i) == layout(idx2crd(i, shape)) for 0 <= i < size
struct Layout {
    IntTuple shape, stride;

    size_t rank() const { return shape.rank(); }
    Layout mode(size_t i) const { return {shape.mode(i), stride.mode(i)}; }
    sym::Expr operator()(const IntTuple& coordinate) const;
    friend bool operator==(const Layout&, const Layout&) = default;
};

// One leaf of a layout.
struct Leaf {
    sym::Expr extent, stride;
    friend bool operator==(const Leaf&, const Leaf&) = default;
};

sym::Expr size(const Layout& l); // number of coordinates
size_t depth(const Layout& l);
// 1 + the largest offset, strides counted by magnitude 0 or more; size 0 is not foreseen.
// @post for all i < size(l): l(i) < cosize(l)
sym::Expr cosize(const Layout& l);
std::vector<Leaf> leaves(const Layout& l);
bool is_static(const Layout& l);
void verify(const Layout& l); // shape and stride congruent, else UserError

// The first mode fastest, without gaps.
// @post for all i < size: make_column_major(s)(i) == i
Layout make_column_major(IntTuple shape);
// The last leaf fastest, without gaps.
Layout make_row_major(IntTuple shape);
// The mode with the smallest order fastest, without gaps; one number per top-level mode, equal numbers left to right.
Layout make_ordered(IntTuple shape, std::span<const int> order);
// A layout whose modes are these.
Layout make_layout(std::span<const Layout> modes);
Layout make_layout(std::initializer_list<Layout> modes);
// A flat layout of these leaves; 1:0 when there is none, a leaf when there is one.
Layout make_flat(std::span<const Leaf> leaves);

// @post parse_layout(to_string(l)) == l
std::string to_string(const Layout& l);     // `(6,(16,4)):(64,(1,16))`
Layout parse_layout(std::string_view text); // a shape alone is column-major
Layout parse_layout_prefix(std::string_view text, size_t& position);

// The facts that the laws reason with: every symbol of these layouts that has no range is at least 1.
sym::Facts with_positive_symbols(sym::Facts facts, std::initializer_list<Layout> layouts);

} // namespace codetta::layout
