// Swizzles: offsets with some of their bits exchanged, so that columns of a tile in shared memory fall into different banks.
#pragma once

#include "codetta/layout/layout.h"

namespace codetta::layout {

// XORs `bits` bits that start at bit base + shift onto those that start at base (the other way round for a negative shift).
// @pre bits <= |shift|, else UserError from verify
// @post s(s(x)) == x; s(x) == x for x < 2^(base + |shift|) when shift >= 0; runs of 2^base aligned offsets stay together
struct Swizzle {
    int bits = 0, base = 0, shift = 3;
    int64_t operator()(int64_t offset) const;
    friend bool operator==(const Swizzle&, const Swizzle&) = default;
};

void verify(const Swizzle& s);
std::string to_string(const Swizzle& s); // `Sw<3,4,3>`, as in CuTe
Swizzle parse_swizzle_prefix(std::string_view text, size_t& position);

// The same exchange when offsets count units `factor` (a power of two) times as large (`upcast`) or as small.
// @post upcast(s, n)(x) * n == s(x * n); UserError when the exchanged bits lie below the unit
Swizzle upcast(const Swizzle& s, int64_t factor);
// @post downcast(s, n)(x * n) == s(x) * n
Swizzle downcast(const Swizzle& s, int64_t factor);

// swizzle o offset o layout: c -> swizzle(offset + layout(c)).
struct ComposedLayout {
    Swizzle swizzle;
    sym::Expr offset;
    Layout layout;

    int64_t operator()(int64_t index, const sym::Bindings& values = {}) const;
    friend bool operator==(const ComposedLayout&, const ComposedLayout&) = default;
};

ComposedLayout composition(const Swizzle& s, const Layout& l);
// @post composition(c, b)(i) == c(b(i))
ComposedLayout composition(const ComposedLayout& c, const Layout& b, const sym::Facts& facts = {});
sym::Expr size(const ComposedLayout& c);
// How many elements stay together at each aligned place: the run of the layout's mode, at most 2^base.
sym::Expr contiguous_run(const ComposedLayout& c, size_t mode);

// @post parse_composed_layout(to_string(c)) == c
std::string to_string(const ComposedLayout& c); // `Sw<3,4,3> o 0 o (8,64):(64,1)`
ComposedLayout parse_composed_layout(std::string_view text);

} // namespace codetta::layout
