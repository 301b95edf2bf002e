#include "codetta/layout/inverse.h"

#include "codetta/base/error.h"
#include "codetta/layout/coalesce.h"
#include "codetta/layout/complement.h"

namespace codetta::layout {

using sym::Expr;

Layout right_inverse(const Layout& l) {
    std::vector<Leaf> parts = leaves(coalesce(l)), result;
    Expr reached = 1;
    for (bool found = true; found;) {
        found = false;
        Expr position = 1;
        for (Leaf& part : parts) {
            if (part.stride == reached && !part.extent.is(1)) {
                result.push_back({part.extent, position});
                reached *= part.extent;
                part.stride = 0; // taken
                found = true;
                break;
            }
            position *= part.extent;
        }
    }
    return coalesce(make_flat(result));
}

Layout left_inverse(const Layout& l, const sym::Facts& facts) {
    Layout whole = make_layout({l, complement(l, facts)});
    Layout inverse = right_inverse(whole);
    sym::Facts known = with_positive_symbols(facts, {l});
    if (!known.proves(sym::le(cosize(l), size(inverse))))
        throw base::UserError(fmt::format("{} has no inverse that is a layout: {} fills only {} of {} offsets", to_string(l),
                                          to_string(whole), to_string(size(inverse)), to_string(cosize(l))));
    return inverse;
}

Layout max_common_layout(const Layout& a, const Layout& b) {
    std::vector<Leaf> x = leaves(right_inverse(a)), y = leaves(right_inverse(b)), common;
    for (size_t i = 0; i < x.size() && i < y.size() && x[i].stride == y[i].stride; ++i) {
        bool same = x[i].extent == y[i].extent;
        if (!same && !(x[i].extent.constant() && y[i].extent.constant())) break;
        common.push_back({sym::min(x[i].extent, y[i].extent), x[i].stride});
        if (!same) break;
    }
    return coalesce(make_flat(common));
}

Expr max_common_vector(const Layout& a, const Layout& b) { return size(max_common_layout(a, b)); }

Expr contiguous_run(const Layout& mode) {
    Leaf first = leaves(coalesce(mode))[0];
    return first.stride.is(1) ? first.extent : Expr(1);
}

} // namespace codetta::layout
