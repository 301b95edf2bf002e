// The coordinates that a data statement walks over: the common refinement of its views' shapes, as flat dims with one stride per view.
#pragma once

#include "codetta/layout/layout.h"
#include "codetta/sym/expr.h"

#include <cstdint>
#include <span>
#include <vector>

namespace codetta::codegen {

struct Dim {
    int64_t extent = 1;
    std::vector<sym::Expr> strides; ///< per view, in elements
};

struct Iteration {
    std::vector<Dim> dims; ///< extents > 1; dims that move all views as one dim would are one dim
    int64_t size() const;
};

/// Coordinates correspond by their number (the first sub-mode fastest), as everywhere in layouts.
/// @pre the layouts have static shapes of one size; InternalError when they have no common refinement
/// Coordinates that somebody asks for (limits, `c0` of a map) are views like any other: of stride 1 in their mode and 0 elsewhere.
Iteration iterate(std::span<const layout::Layout> layouts);

/// An element offset split into what the code computes and what it knows.
struct Offset {
    sym::Expr symbolic = 0;
    int64_t constant = 0;
    void add(const sym::Expr& elements);
    void add(const sym::Expr& stride, int64_t times);
};

} // namespace codetta::codegen
