#include "codetta/layout/coordinates.h"

#include "codetta/base/error.h"
#include "codetta/layout/layout.h"

namespace codetta::layout {

using sym::Expr;

Expr crd2idx(const IntTuple& coordinate, const IntTuple& shape, const IntTuple& stride) {
    if (coordinate.is_leaf() && shape.is_leaf()) return coordinate.leaf() * stride.leaf();
    CODETTA_CHECK(coordinate.is_leaf() || (!shape.is_leaf() && coordinate.rank() == shape.rank()), "coordinate {} in the shape {}",
                  to_string(coordinate), to_string(shape));
    Expr offset = 0;
    Expr rest = coordinate.leaf();
    for (size_t i = 0; i < shape.rank(); ++i) {
        if (!coordinate.is_leaf()) {
            offset += crd2idx(coordinate.mode(i), shape.mode(i), stride.mode(i));
            continue;
        }
        bool last = i + 1 == shape.rank();
        Expr extent = size(shape.mode(i));
        offset += crd2idx(last ? rest : sym::mod(rest, extent), shape.mode(i), stride.mode(i));
        if (!last) rest = sym::floor_div(rest, extent);
    }
    return offset;
}

IntTuple idx2crd(const Expr& index, const IntTuple& shape) {
    if (shape.is_leaf()) return index;
    std::vector<IntTuple> elements;
    Expr rest = index;
    for (size_t i = 0; i < shape.rank(); ++i) {
        bool last = i + 1 == shape.rank();
        Expr extent = size(shape.mode(i));
        elements.push_back(idx2crd(last ? rest : sym::mod(rest, extent), shape.mode(i)));
        if (!last) rest = sym::floor_div(rest, extent);
    }
    return IntTuple(std::move(elements));
}

IntTuple crd2crd(const IntTuple& coordinate, const IntTuple& from, const IntTuple& to) {
    return idx2crd(crd2idx(coordinate, from, make_column_major(from).stride), to);
}

} // namespace codetta::layout
