#include "codetta/layout/recast.h"

#include "codetta/base/error.h"
#include "codetta/layout/composition.h"

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
    std::vector<Expr> extents, strides;
    for (const Leaf& leaf : leaves(l)) {
        extents.push_back(leaf.stride.is(1) ? leaf.extent * factor : leaf.extent);
        strides.push_back(leaf.stride.is(1) ? leaf.stride : leaf.stride * factor);
    }
    return {unflatten(l.shape, extents), unflatten(l.stride, strides)};
}

} // namespace codetta::layout
