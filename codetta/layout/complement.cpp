#include "codetta/layout/complement.h"

#include "codetta/base/error.h"
#include "codetta/layout/coalesce.h"
#include "codetta/layout/composition.h"
#include "codetta/layout/modes.h"

#include <algorithm>

namespace codetta::layout {

using sym::Expr;

Layout complement(const Layout& l, const Expr& extent, const sym::Facts& given) {
    sym::Facts facts = with_positive_symbols(given, {l, {extent, 1}});
    std::vector<Leaf> left = leaves(filter(l));
    if (left.size() == 1 && left[0].extent.is(1)) left.clear();
    std::vector<Leaf> gaps;
    Expr filled = 1; // offsets below this are covered by l and the gaps so far
    while (!left.empty()) {
        auto before = [&](const Leaf& a, const Leaf& b) {
            return facts.proves(sym::le(a.stride, b.stride)) || sym::exact_div(b.stride, a.stride);
        };
        auto next = std::find_if(left.begin(), left.end(), [&](const Leaf& candidate) {
            return std::all_of(left.begin(), left.end(), [&](const Leaf& other) { return before(candidate, other); });
        });
        if (next == left.end())
            throw base::UserError(fmt::format("complement of {}: the order of its strides can not be proven", to_string(l)));
        auto gap = divide_exactly(next->stride, filled, facts);
        if (!gap && facts.proves(sym::le(filled, next->stride))) gap = facts.simplify(sym::floor_div(next->stride, filled));
        if (!gap || !facts.positive(*gap))
            throw base::UserError(fmt::format("complement of {}: it is not injective, stride {} inside {} offsets in use", to_string(l),
                                              to_string(next->stride), to_string(filled)),
                                  {}, is_static(l) ? "" : "or state facts that show it is");
        gaps.push_back({*gap, filled});
        filled = next->extent * next->stride;
        left.erase(next);
    }
    gaps.push_back({facts.simplify(sym::ceil_div(extent, filled)), filled});
    return coalesce(make_flat(gaps));
}

Layout complement(const Layout& l, const sym::Facts& facts) { return complement(l, cosize(l), facts); }

} // namespace codetta::layout
