#include "codetta/fusion/rules.h"

#include <algorithm>
#include <optional>

#include "codetta/fusion/group.h"
#include "codetta/problem/address.h"
#include "codetta/problem/contraction.h"
#include "codetta/problem/normalise.h"
#include "codetta/scalar/function.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"

namespace codetta::fusion {

using problem::Problem;
using problem::Read;
using scalar::Prim;

namespace {

constexpr size_t kMostOperands = 24;
constexpr size_t kMostStages = 32;

bool is_transcendental(Prim p) { return p >= Prim::pow && p <= Prim::sigmoid && p != Prim::fma && p != Prim::sqrt; }

sym::Expr domain(const Problem& p, const problem::Stage& s) {
    sym::Expr elements = 1;
    for (const auto a : s.axes) elements = elements * p.axis(a).extent;
    for (const auto a : s.reduce) elements = elements * p.axis(a).extent;
    return elements;
}

// The most elements whose indices from data some stage checks; nullopt: no such stage.
std::optional<sym::Expr> checked_elements(const Problem& p) {
    std::optional<sym::Expr> most;
    for (const problem::Stage& s : p.stages)
        for (const Read& r : s.reads) {
            const auto from_data = [](const problem::Check& c) {
                const auto names = sym::symbols(c.index);
                return std::any_of(names.begin(), names.end(), [](const std::string& n) { return problem::read_index(n).has_value(); });
            };
            if (std::none_of(r.access.checks.begin(), r.access.checks.end(), from_data)) continue;
            most = most ? sym::max(*most, domain(p, s)) : domain(p, s);
        }
    return most;
}

bool computes_dearly(const Problem& p) {
    return std::any_of(p.stages.begin(), p.stages.end(), [](const problem::Stage& s) {
        return std::any_of(s.body.ops.begin(), s.body.ops.end(), [](const scalar::Op& o) { return is_transcendental(o.prim); });
    });
}

// Operands of products that are computed by a stage, as attention's weights are.
size_t computed_operands(const Problem& p) {
    size_t found = 0;
    for (const problem::Contraction& c : problem::contractions(p))
        for (const Read& r : p.stage(c.stage).reads) found += r.from != Read::From::operand;
    return found;
}

// A product's operands must be plain strided arrays: no arithmetic, no guard, no gather on the way.
base::Verdict products_read_plainly(const Problem& p) {
    for (const problem::Contraction& c : problem::contractions(p))
        for (const Read& r : p.stage(c.stage).reads) {
            if (r.from != Read::From::operand) continue;
            if (!r.access.guard.empty() || !problem::as_affine_address(p, r))
                return base::Verdict::no("a product's operand {} would not be a strided array", p.operands[r.source].name);
        }
    return base::Verdict::yes();
}

base::Verdict products_stay_plain(const Problem& producer, const Problem& consumer, const Problem& composed) {
    if (computed_operands(composed) > computed_operands(producer) + computed_operands(consumer))
        return base::Verdict::no("a product's operand would be computed inside its loop");
    if (products_read_plainly(composed)) return base::Verdict::yes();
    return products_read_plainly(problem::split_axes(composed)); // heads that share keys: head // group and head % group are axes
}

// Whether a product's rows, columns and reduced dimension each lie in one axis once the problem is normalised.
bool products_are_matrices(const Problem& p) {
    const Problem normal = problem::merge_axes(problem::drop_unit_axes(problem::split_axes(p)));
    const auto products = problem::contractions(normal);
    return std::all_of(products.begin(), products.end(),
                       [](const problem::Contraction& c) { return c.m.size() <= 1 && c.n.size() <= 1 && c.k.size() <= 1; });
}

} // namespace

bool is_cheap(const Problem& p) {
    if (p.stages.size() != 1 || computes_dearly(p)) return false;
    size_t loads = 0;
    for (const Read& r : p.stages[0].reads) {
        loads += r.from == Read::From::operand;
        for (const sym::Expr& e : r.access.coordinates)
            for (const std::string& name : sym::symbols(e))
                if (name[0] == '$') return false;
    }
    return loads <= 1 && p.stages[0].body.ops.size() <= 12;
}

base::Verdict may_merge(const Problem& producer, const Problem& consumer) {
    const Shape p = shape_of(producer), c = shape_of(consumer);
    if (producer.operands.size() + consumer.operands.size() > kMostOperands ||
        producer.stages.size() + consumer.stages.size() > kMostStages)
        return base::Verdict::no("the region would be too large");
    if (p == Shape::fixed && c != Shape::view) return base::Verdict::no("only a view of its result can join it");
    if (p == Shape::view) return base::Verdict::yes();
    if (c == Shape::product || c == Shape::fixed) return base::Verdict::no("its result is read many times by a {}", to_string(c));
    if (p == Shape::product && c == Shape::rows) return base::Verdict::no("a row of the product would have to be whole");
    return base::Verdict::yes();
}

base::Verdict accept(const Problem& producer, const Problem& consumer, const Problem& composed) {
    if (const base::Verdict plain = products_stay_plain(producer, consumer, composed); !plain) return plain;
    if (const auto before = checked_elements(producer)) {
        const auto now = checked_elements(composed);
        if (!now || !composed.facts.proves(sym::le(*before, *now)))
            return base::Verdict::no("indices that it does not read would not be checked");
    }
    const Shape p = shape_of(producer), c = shape_of(consumer), whole = shape_of(composed);
    if (c == Shape::fixed || p == Shape::fixed)
        return composed.stages.size() <= std::max(producer.stages.size(), consumer.stages.size())
                   ? base::Verdict::yes()
                   : base::Verdict::no("the view is not a plain place of the result");
    if (whole == Shape::fixed) return base::Verdict::no("its elements are read elsewhere than they are made");
    if (p == Shape::product && whole != Shape::product) return base::Verdict::no("the product would not stay one");
    if (whole == Shape::product && !products_are_matrices(composed) && products_are_matrices(p == Shape::product ? producer : consumer))
        return base::Verdict::no("the product's rows or columns would lie in several axes");
    if (p == Shape::map && computes_dearly(producer)) {
        const sym::Expr once = domain(producer, producer.stages.back());
        for (const problem::Stage& s : composed.stages)
            if (std::any_of(s.body.ops.begin(), s.body.ops.end(), [](const scalar::Op& o) { return is_transcendental(o.prim); }) &&
                !composed.facts.proves(sym::le(domain(composed, s), once)))
                return base::Verdict::no("it would be computed again for many elements");
    }
    return base::Verdict::yes();
}

} // namespace codetta::fusion
