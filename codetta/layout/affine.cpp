#include "codetta/layout/affine.h"

#include "codetta/base/error.h"
#include "codetta/layout/composition.h"

#include <algorithm>

namespace codetta::layout {

using sym::Expr;

Layout from_affine(std::span<const Expr> extents, std::span<const Expr> coefficients) {
    CODETTA_CHECK(extents.size() == coefficients.size(), "{} extents and {} coefficients", extents.size(), coefficients.size());
    std::vector<Leaf> parts;
    for (size_t i = 0; i < extents.size(); ++i) parts.push_back({extents[i], coefficients[i]});
    return make_flat(parts);
}

namespace {

// coefficient * ((axis // from) % (to / from)); no `to`: without the mod.
struct DigitTerm {
    Expr coefficient, from;
    std::optional<Expr> to;
};

std::optional<DigitTerm> as_digits(const Expr& factor, const std::string& axis, const Expr& coefficient) {
    auto is_axis = [&](const Expr& e) { return e.kind() == sym::Kind::symbol && e.name() == axis; };
    if (is_axis(factor)) return DigitTerm{coefficient, 1, std::nullopt};
    if (factor.kind() != sym::Kind::floor_div && factor.kind() != sym::Kind::mod) return std::nullopt;
    const Expr &inner = factor.operands()[0], &by = factor.operands()[1];
    if (sym::depends_on(by, axis)) return std::nullopt;
    if (is_axis(inner)) return factor.kind() == sym::Kind::mod ? DigitTerm{coefficient, 1, by} : DigitTerm{coefficient, by, std::nullopt};
    if (factor.kind() == sym::Kind::mod && inner.kind() == sym::Kind::floor_div && is_axis(inner.operands()[0]) &&
        !sym::depends_on(inner.operands()[1], axis))
        return DigitTerm{coefficient, inner.operands()[1], inner.operands()[1] * by};
    return std::nullopt;
}

// Cuts the axis at all `from` and `to` and gives each digit its stride.
std::optional<Layout> layout_of_axis(const AxisExtent& axis, const std::vector<DigitTerm>& terms, const sym::Facts& facts) {
    std::vector<Expr> cuts = {1};
    auto add_cut = [&](const Expr& cut) {
        if (std::find(cuts.begin(), cuts.end(), cut) == cuts.end()) cuts.push_back(cut);
    };
    for (const DigitTerm& term : terms) {
        add_cut(term.from);
        if (term.to) add_cut(*term.to);
    }
    auto below = [&](const Expr& a, const Expr& b) { return divide_exactly(b, a, facts).has_value(); };
    for (size_t i = 0; i < cuts.size(); ++i) { // selection sort by divisibility
        size_t least = i;
        for (size_t j = i + 1; j < cuts.size(); ++j)
            if (below(cuts[j], cuts[least])) least = j;
        std::swap(cuts[i], cuts[least]);
        for (size_t j = i + 1; j < cuts.size(); ++j)
            if (!below(cuts[i], cuts[j])) return std::nullopt;
    }
    if (cuts.back() == axis.extent && cuts.size() > 1) cuts.pop_back();
    std::vector<Leaf> digits;
    for (size_t i = 0; i < cuts.size(); ++i) {
        Expr next = i + 1 < cuts.size() ? cuts[i + 1] : axis.extent;
        auto extent = divide_exactly(next, cuts[i], facts);
        if (!extent) return std::nullopt;
        Expr stride = 0;
        for (const DigitTerm& term : terms) {
            bool inside =
                below(term.from, cuts[i]) && (!term.to || (below(cuts[i], *term.to) && !(cuts[i] == *term.to) && below(next, *term.to)));
            if (inside) stride += term.coefficient * *divide_exactly(cuts[i], term.from, facts);
        }
        digits.push_back({*extent, stride});
    }
    return make_flat(digits);
}

} // namespace

std::optional<OffsetLayout> from_offset(const Expr& offset, std::span<const AxisExtent> axes, const sym::Facts& given) {
    sym::Facts facts = given;
    for (const AxisExtent& axis : axes) facts.set_index(axis.name, axis.extent);
    std::vector<std::vector<DigitTerm>> terms(axes.size());
    Expr base = 0;
    Expr simple = facts.simplify(offset);
    auto all_terms = simple.kind() == sym::Kind::add ? simple.operands() : std::span<const Expr>(&simple, 1);
    for (const Expr& term : all_terms) {
        auto factors = term.kind() == sym::Kind::mul ? term.operands() : std::span<const Expr>(&term, 1);
        std::optional<size_t> axis;
        Expr coefficient = 1;
        const Expr* digit = nullptr;
        for (const Expr& factor : factors) {
            bool free = true;
            for (size_t i = 0; i < axes.size(); ++i) {
                if (!sym::depends_on(factor, axes[i].name)) continue;
                if (axis) return std::nullopt; // two axes in one term
                axis = i;
                digit = &factor;
                free = false;
            }
            if (free) coefficient *= factor;
        }
        if (!axis) {
            base += term;
            continue;
        }
        auto digits = as_digits(*digit, axes[*axis].name, coefficient);
        if (!digits) return std::nullopt;
        terms[*axis].push_back(std::move(*digits));
    }
    std::vector<Layout> modes;
    for (size_t i = 0; i < axes.size(); ++i) {
        auto mode = layout_of_axis(axes[i], terms[i], facts);
        if (!mode) return std::nullopt;
        modes.push_back(std::move(*mode));
    }
    return OffsetLayout{make_layout(modes), base};
}

} // namespace codetta::layout
