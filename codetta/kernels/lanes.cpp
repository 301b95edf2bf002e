#include "codetta/kernels/lanes.h"

#include <algorithm>

#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels {

using base::Verdict;
using problem::Access;
using problem::AxisId;
using problem::Problem;
using problem::Read;
using problem::Stage;
using sym::Expr;

namespace {

bool depends(const Problem& p, const Stage& s, const Expr& e, AxisId a);

bool depends(const Problem& p, const Stage& s, const Access& access, AxisId a) {
    const auto any = [&](const Expr& e) { return depends(p, s, e, a); };
    return std::any_of(access.coordinates.begin(), access.coordinates.end(), any) ||
           std::any_of(access.guard.begin(), access.guard.end(), [&](const sym::Condition& c) { return any(c.lhs) || any(c.rhs); }) ||
           std::any_of(access.checks.begin(), access.checks.end(),
                       [&](const problem::Check& c) { return any(c.index) || any(c.lo) || any(c.hi); });
}

// Whether the value changes along the axis, by itself or through a `$i`.
bool depends(const Problem& p, const Stage& s, const Expr& e, AxisId a) {
    for (const std::string& name : sym::symbols(e)) {
        if (name == p.axis(a).name) return true;
        const auto read = problem::read_index(name);
        if (!read) continue;
        const Read& r = s.reads[*read];
        if (r.from == Read::From::index ? depends(p, s, r.expression, a) : depends(p, s, r.access, a)) return true;
    }
    return false;
}

// Through a `$i` alone.
bool is_indexed_along(const Problem& p, const Stage& s, const Expr& e, AxisId a) {
    for (const std::string& name : sym::symbols(e))
        if (problem::read_index(name) && depends(p, s, Expr::symbol(name), a)) return true;
    return false;
}

Verdict fits(const Problem& p, const Stage& s, const Access& access, AxisId a, const std::string& what) {
    const std::string& axis = p.axis(a).name;
    for (const Expr& e : access.coordinates)
        if (is_indexed_along(p, s, e, a)) return Verdict::no("an index of {} from data changes along {}", what, axis);
    for (const problem::Check& c : access.checks)
        for (const Expr* e : {&c.index, &c.lo, &c.hi})
            if (depends(p, s, *e, a)) return Verdict::no("a check of {} changes along {}", what, axis);
    for (const sym::Condition& c : access.guard) {
        const Expr left = c.lhs - c.rhs;
        if (is_indexed_along(p, s, left, a)) return Verdict::no("a guard of {} from data changes along {}", what, axis);
        if (!sym::depends_on(left, axis)) continue;
        const auto along = sym::as_affine(left, axis);
        if (!along || sym::depends_on(along->coefficient, axis) || c.relation == sym::Relation::eq || c.relation == sym::Relation::ne)
            return Verdict::no("the guard {} of {} can't run across lanes", sym::to_string(c), what);
    }
    return Verdict::yes();
}

} // namespace

std::optional<sym::Affine> address_along(const Problem& p, const Access& access, const std::vector<Expr>& strides, AxisId axis) {
    return sym::as_affine(address(access, strides), p.axis(axis).name);
}

Verdict can_lie_across_lanes(const Problem& p, const Stage& s, AxisId a) {
    const std::string& axis = p.axis(a).name;
    for (const Read& r : s.reads) {
        if (r.from == Read::From::index) {
            if (is_indexed_along(p, s, r.expression, a)) return Verdict::no("an index from data changes along {}", axis);
            if (sym::depends_on(r.expression, axis) && !sym::as_affine(r.expression, axis))
                return Verdict::no("the index {} is not affine along {}", sym::to_string(r.expression), axis);
            continue;
        }
        const std::string& name = r.from == Read::From::operand ? p.operands[r.source].name : p.stages[r.source].name;
        if (const Verdict fit = fits(p, s, r.access, a, name); !fit) return fit;
        if (r.from == Read::From::operand && !address_along(p, r.access, p.operands[r.source].strides, a))
            return Verdict::no("{} is no strided array along {}", name, axis);
    }
    if (std::find(s.axes.begin(), s.axes.end(), a) == s.axes.end()) return Verdict::yes(); // what is reduced is written when it is over
    for (const problem::Write& w : s.writes) {
        const problem::Operand& o = p.operand(w.operand);
        if (const Verdict fit = fits(p, s, w.access, a, o.name); !fit) return fit;
        const auto along = address_along(p, w.access, o.strides, a);
        if (!along) return Verdict::no("{} is no strided array along {}", o.name, axis);
        if (along->coefficient.is(0)) return Verdict::no("{} is one element for all of {}", o.name, axis);
        if (w.accumulate) return Verdict::no("{} is summed in memory", o.name);
    }
    return Verdict::yes();
}

bool is_sequential(const Problem& p, AxisId a) {
    for (const Stage& s : p.stages)
        for (const problem::Write& w : s.writes) {
            const auto& c = w.access.coordinates;
            if (std::any_of(c.begin(), c.end(), [&](const Expr& e) { return is_indexed_along(p, s, e, a); })) return true;
            if (!w.accumulate) continue;
            const auto along = address_along(p, w.access, p.operand(w.operand).strides, a);
            if (!along || along->coefficient.is(0)) return true; // several steps may add to one element
        }
    return false;
}

} // namespace codetta::kernels
