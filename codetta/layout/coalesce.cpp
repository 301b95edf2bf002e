#include "codetta/layout/coalesce.h"

namespace codetta::layout {

Layout coalesce(const Layout& l) {
    std::vector<Leaf> merged;
    for (const Leaf& leaf : leaves(l)) {
        if (leaf.extent.is(1)) continue;
        if (!merged.empty() && leaf.stride == merged.back().extent * merged.back().stride)
            merged.back().extent *= leaf.extent;
        else
            merged.push_back(leaf);
    }
    return make_flat(merged);
}

Layout coalesce_modes(const Layout& l) {
    if (l.shape.is_leaf()) return coalesce(l);
    std::vector<Layout> modes;
    for (size_t i = 0; i < l.rank(); ++i) modes.push_back(coalesce(l.mode(i)));
    return make_layout(modes);
}

} // namespace codetta::layout
