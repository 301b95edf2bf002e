#include "codetta/layout/composition.h"

#include "codetta/base/error.h"
#include "codetta/layout/coalesce.h"

#include <algorithm>

namespace codetta::layout {

using sym::Expr;

std::optional<Expr> divide_exactly(const Expr& a, const Expr& b, const sym::Facts& facts) {
    if (b.is(0)) return std::nullopt;
    if (auto quotient = sym::exact_div(a, b)) return quotient;
    if (facts.simplify(sym::mod(a, b)).is(0)) return facts.simplify(sym::floor_div(a, b));
    return std::nullopt;
}

namespace {

class Composer {
public:
    Composer(const Layout& a, const Layout& b, const sym::Facts& facts)
        : a_(a), b_(b), modes_(leaves(coalesce(a))), reach_(modes_.size(), Expr(0)), facts_(with_positive_symbols(facts, {a, b})) {}

    Layout compose() {
        Layout result = compose(b_);
        // Every coordinate inside a mode of `a` is a sum over leaves of b; past the mode's extent it would carry into the next mode.
        for (size_t i = 0; i + 1 < modes_.size(); ++i)
            if (!facts_.proves(sym::lt(reach_[i], modes_[i].extent)))
                refuse(fmt::format("coordinates up to {} in a mode of extent {}", to_string(reach_[i]), to_string(modes_[i].extent)));
        return result;
    }

private:
    const Layout& a_;
    const Layout& b_;
    std::vector<Leaf> modes_; // of a, coalesced
    std::vector<Expr> reach_; // the largest coordinate of each mode that b's leaves sum up to
    sym::Facts facts_;

    [[noreturn]] void refuse(const std::string& why) const {
        throw base::UserError(fmt::format("composition {} o {}: {}", to_string(a_), to_string(b_), why), {},
                              is_static(a_) && is_static(b_) ? "" : "state the divisibility or the range of the symbols");
    }

    Layout compose(const Layout& b) {
        if (b.shape.is_leaf()) return compose_leaf(b.shape.leaf(), b.stride.leaf());
        std::vector<Layout> modes;
        for (size_t i = 0; i < b.rank(); ++i) modes.push_back(compose(b.mode(i)));
        return make_layout(modes);
    }

    [[noreturn]] void refuse_leaf(const Expr& extent, const Expr& step) const {
        refuse(fmt::format("{} steps of {} neither stay inside a mode nor fill it evenly", to_string(extent), to_string(step)));
    }

    Layout compose_leaf(const Expr& extent, const Expr& step) {
        if (extent.is(1) || step.is(0)) return {extent, 0};
        bool all_static = extent.constant() && step.constant();
        for (size_t i = 0; i + 1 < modes_.size(); ++i) all_static = all_static && modes_[i].extent.constant();
        return make_flat(all_static ? walk_static(*extent.constant(), *step.constant()) : walk_symbolic(extent, step));
    }

    // A step is one digit per mode of a; steps add up without a carry for as long as every digit stays inside its mode.
    std::vector<Leaf> walk_static(int64_t extent, int64_t step) {
        std::vector<Leaf> parts;
        const int64_t whole_extent = extent, whole_step = step;
        if (step < 0) refuse_leaf(extent, step);
        while (extent > 1) {
            std::vector<int64_t> digits(modes_.size());
            int64_t rest = step, run = extent;
            Expr stride = 0;
            for (size_t i = 0; i < modes_.size(); ++i) {
                bool last = i + 1 == modes_.size();
                int64_t room = last ? 0 : *modes_[i].extent.constant();
                digits[i] = last ? rest : rest % room;
                rest = last ? 0 : rest / room;
                stride += digits[i] * modes_[i].stride;
                if (!last && digits[i] > 0) run = std::min(run, (room - 1) / digits[i] + 1);
            }
            if (extent % run != 0) refuse_leaf(whole_extent, whole_step);
            for (size_t i = 0; i < modes_.size(); ++i) reach_[i] += (run - 1) * digits[i];
            parts.push_back({run, stride});
            extent /= run;
            step *= run;
        }
        return parts;
    }

    // Mode after mode: a leaf stays inside one, steps over it, or fills it and goes on in the next.
    std::vector<Leaf> walk_symbolic(Expr extent, Expr step) {
        const Expr whole_extent = extent, whole_step = step;
        std::vector<Leaf> parts;
        auto take = [&](size_t mode, const Expr& count) {
            parts.push_back({count, step * modes_[mode].stride});
            reach_[mode] += (count - 1) * step;
        };
        for (size_t i = 0; i < modes_.size() && !extent.is(1); ++i) {
            const Expr& room = modes_[i].extent;
            if (i + 1 == modes_.size() || facts_.proves(sym::lt((extent - 1) * step, room))) {
                take(i, extent);
                extent = 1;
            } else if (auto over = divide_exactly(step, room, facts_)) {
                step = *over;
            } else {
                auto count = divide_exactly(room, step, facts_);
                auto rest = count ? divide_exactly(extent, *count, facts_) : std::nullopt;
                if (!rest) refuse_leaf(whole_extent, whole_step);
                take(i, *count);
                extent = *rest;
                step = 1;
            }
        }
        return parts;
    }
};

} // namespace

Layout composition(const Layout& a, const Layout& b, const sym::Facts& facts) { return Composer(a, b, facts).compose(); }

Layout composition(const Layout& a, const Tiler& tiler, const sym::Facts& facts) {
    CODETTA_USER_CHECK(tiler.size() <= a.rank(), "a tiler of {} modes for the layout {}", tiler.size(), to_string(a));
    std::vector<Layout> modes;
    for (size_t i = 0; i < a.rank(); ++i) modes.push_back(i < tiler.size() ? composition(a.mode(i), tiler[i], facts) : a.mode(i));
    return make_layout(modes);
}

} // namespace codetta::layout
