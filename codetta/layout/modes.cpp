#include "codetta/layout/modes.h"

#include "codetta/base/error.h"
#include "codetta/layout/coalesce.h"

namespace codetta::layout {

using sym::Expr;

Layout flatten(const Layout& l) { return {flatten(l.shape), flatten(l.stride)}; }

Layout group(const Layout& l, size_t begin, size_t end) {
    CODETTA_CHECK(begin < end && end <= l.rank(), "modes {}..{} of {}", begin, end, to_string(l));
    std::vector<Layout> modes, grouped;
    for (size_t i = 0; i < l.rank(); ++i) {
        bool inside = begin <= i && i < end;
        (inside ? grouped : modes).push_back(l.mode(i));
        if (i + 1 == end) modes.push_back(make_layout(grouped));
    }
    return make_layout(modes);
}

Layout select(const Layout& l, std::span<const size_t> chosen) {
    std::vector<Layout> modes;
    for (size_t i : chosen) {
        CODETTA_CHECK(i < l.rank(), "mode {} of {}", i, to_string(l));
        modes.push_back(l.mode(i));
    }
    return make_layout(modes);
}

Layout append(const Layout& l, size_t rank) {
    if (l.rank() >= rank) return l;
    std::vector<Layout> modes;
    for (size_t i = 0; i < rank; ++i) modes.push_back(i < l.rank() ? l.mode(i) : Layout{1, 0});
    return make_layout(modes);
}

Layout filter_zeros(const Layout& l) {
    std::vector<Expr> extents;
    for (const Leaf& leaf : leaves(l)) extents.push_back(leaf.stride.is(0) ? Expr(1) : leaf.extent);
    return {unflatten(l.shape, extents), l.stride};
}

Layout filter(const Layout& l) { return coalesce(filter_zeros(l)); }

Slice slice(const Layout& l, std::span<const std::optional<IntTuple>> coordinate) {
    CODETTA_CHECK(coordinate.size() == l.rank(), "{} coordinates for {}", coordinate.size(), to_string(l));
    std::vector<Layout> kept;
    Expr offset = 0;
    for (size_t i = 0; i < l.rank(); ++i) {
        if (coordinate[i])
            offset += l.mode(i)(*coordinate[i]);
        else
            kept.push_back(l.mode(i));
    }
    if (kept.empty()) return {{1, 0}, offset};
    return {kept.size() == 1 ? kept[0] : make_layout(kept), offset};
}

} // namespace codetta::layout
