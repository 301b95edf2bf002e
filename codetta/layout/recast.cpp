#include "codetta/layout/recast.h"

#include "codetta/base/error.h"
#include "codetta/layout/composition.h"

#include <algorithm>

namespace codetta::layout {

using sym::Expr;

Layout upcast(const Layout& l, int64_t factor, const sym::Facts& facts) {
    std::vector<Expr> extents, strides;
    for (const Leaf& leaf : leaves(l)) {
        auto smaller = leaf.stride.is(1) ? divide_exactly(leaf.extent, factor, facts) : divide_exactly(leaf.stride, factor, facts);
        bool one = leaf.extent.is(1);
        if (!smaller && !one)
            throw base::UserError(fmt::format("upcast of {} by {}: {}:{} does not hold whole units", to_string(l), factor,
                                              to_string(leaf.extent), to_string(leaf.stride)));
        extents.push_back(leaf.stride.is(1) && !one ? *smaller : leaf.extent);
        strides.push_back(leaf.stride.is(1) ? leaf.stride : one && !smaller ? Expr(0) : *smaller);
    }
    return {unflatten(l.shape, extents), unflatten(l.stride, strides)};
}

Layout downcast(const Layout& l, int64_t factor) {
    std::vector<Leaf> parts = leaves(l);
    auto unit = std::find_if(parts.begin(), parts.end(), [](const Leaf& leaf) { return leaf.stride.is(1) && !leaf.extent.is(1); });
    if (unit == parts.end()) unit = std::find_if(parts.begin(), parts.end(), [](const Leaf& leaf) { return leaf.extent.is(1); });
    if (unit == parts.end())
        throw base::UserError(fmt::format("downcast of {} by {}: no leaf of stride 1 can hold the parts", to_string(l), factor));
    std::vector<Expr> extents, strides;
    for (auto leaf = parts.begin(); leaf != parts.end(); ++leaf) {
        extents.push_back(leaf == unit ? leaf->extent * factor : leaf->extent);
        strides.push_back(leaf == unit ? Expr(1) : leaf->stride * factor);
    }
    return {unflatten(l.shape, extents), unflatten(l.stride, strides)};
}

} // namespace codetta::layout
