#include "codetta/layout/inverse.h"

#include "codetta/base/error.h"
#include "codetta/layout/coalesce.h"
#include "codetta/layout/complement.h"
#include "codetta/layout/composition.h"

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

Layout max_common_layout(const Layout& a, const Layout& b, const sym::Facts& facts) {
    std::vector<Leaf> walk = leaves(right_inverse(b));
    // a read along ever shorter parts of b's walk, until it begins with 0, 1, 2, ...
    for (; !walk.empty(); walk.pop_back()) {
        Layout inverse = make_flat(walk);
        Layout read;
        try {
            read = coalesce(composition(a, inverse, facts));
        } catch (const base::UserError&) {
            continue;
        }
        Leaf first = leaves(read)[0];
        if (!first.stride.is(1)) return {1, 0};
        // the part of the walk of that length; a leaf may be cut in two
        std::vector<Leaf> common;
        Expr wanted = first.extent;
        for (const Leaf& leaf : walk) {
            if (wanted.is(1)) break;
            if (auto rest = divide_exactly(wanted, leaf.extent, facts)) {
                common.push_back(leaf);
                wanted = *rest;
            } else {
                common.push_back({wanted, leaf.stride});
                wanted = 1;
            }
        }
        return coalesce(make_flat(common));
    }
    return {1, 0};
}

Expr max_common_vector(const Layout& a, const Layout& b, const sym::Facts& facts) { return size(max_common_layout(a, b, facts)); }

Expr contiguous_run(const Layout& mode) {
    Leaf first = leaves(coalesce(mode))[0];
    return first.stride.is(1) ? first.extent : Expr(1);
}

} // namespace codetta::layout
