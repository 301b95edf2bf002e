// Facts::range: interval arithmetic, and three ways to see that the terms of a sum move together: n - d * (n // d) is n % d, a min or max
// is one of its operands, and a symbol below a symbolic bound may be replaced by that bound.
#include <algorithm>
#include <numeric>
#include <set>

#include "codetta/sym/interval.h"
#include "codetta/sym/node.h"

namespace codetta::sym {
namespace {

constexpr int kDepth = 4;              // how often one view may be taken inside another
constexpr int64_t kMaxScale = 1 << 20; // of a sum multiplied to make its divisions exact

class RangeFinder {
public:
    explicit RangeFinder(const Facts& facts) : facts_(facts) {}

    Range find(const Expr& e, int depth) const {
        if (auto value = e.constant()) return {saturate(*value), saturate(*value)};
        Range result;
        std::span<const Expr> operands = e.operands();
        switch (e.kind()) {
        case Kind::constant: break;
        case Kind::symbol: return find_symbol(e, depth);
        case Kind::add: result = find_sum(e, depth); break;
        case Kind::mul: result = find_product(view_term(e), depth); break;
        case Kind::floor_div: result = floor_div(find(operands[0], depth), find(operands[1], depth)); break;
        case Kind::mod: result = find_mod(e, depth); break;
        case Kind::min:
        case Kind::max:
            result = find(operands[0], depth);
            for (const Expr& operand : operands.subspan(1)) {
                Range next = find(operand, depth);
                result = e.kind() == Kind::min ? Range{std::min(result.lo, next.lo), std::min(result.hi, next.hi)}
                                               : Range{std::max(result.lo, next.lo), std::max(result.hi, next.hi)};
            }
            break;
        }
        return above_index(e, known_sum(e, result));
    }

private:
    const Facts& facts_;

    Range known_sum(const Expr& e, Range found) const {
        if (facts_.sums().empty()) return found;
        const auto v = view_linear(e);
        const auto known = v ? facts_.sums().find(v->sum) : facts_.sums().end();
        if (known == facts_.sums().end()) return found;
        return meet(found, known->second * Range{v->scale, v->scale} + Range{v->shift, v->shift});
    }

    // symbol < e and lo <= symbol: e > lo.
    Range above_index(const Expr& e, Range known) const {
        for (const auto& [name, bound] : facts_.bounds()) {
            if (!(bound == e)) continue;
            auto found = facts_.ranges().find(name);
            if (found != facts_.ranges().end() && found->second.lo > -kUnbounded) known.lo = std::max(known.lo, found->second.lo + 1);
        }
        return known;
    }

    Range find_symbol(const Expr& e, int depth) const {
        Range result;
        if (auto found = facts_.ranges().find(e.name()); found != facts_.ranges().end()) result = found->second;
        if (auto found = facts_.bounds().find(e.name()); found != facts_.bounds().end() && depth > 0) {
            int64_t hi = find(found->second, depth - 1).hi;
            if (hi < kUnbounded) result.hi = std::min(result.hi, hi - 1);
        }
        result = above_index(e, result);
        if (auto found = facts_.multiples().find(e.name()); found != facts_.multiples().end()) {
            int64_t step = found->second;
            if (result.lo > -kUnbounded) result.lo = -floor_div_int(-result.lo, step) * step;
            if (result.hi < kUnbounded) result.hi = floor_div_int(result.hi, step) * step;
        }
        return result;
    }

    Range find_product(const TermView& term, int depth) const {
        Range result{saturate(term.coefficient), saturate(term.coefficient)};
        for (size_t i = 0; i < term.factors.size(); ++i) {
            Range factor = find(term.factors[i], depth);
            if (i + 1 < term.factors.size() && term.factors[i] == term.factors[i + 1]) {
                factor = factor * factor;
                factor.lo = std::max<int64_t>(factor.lo, 0);
                ++i;
            }
            result = result * factor;
        }
        return result;
    }

    Range find_mod(const Expr& e, int depth) const {
        Range result = mod(find(e.operands()[0], depth), find(e.operands()[1], depth));
        if (auto divisor = e.operands()[1].constant(); divisor && result.hi == *divisor - 1) {
            int64_t step = std::gcd(facts_.divisor(e.operands()[0]), *divisor);
            result.hi = *divisor - std::max<int64_t>(step, 1);
        }
        return result;
    }

    Range find_sum(const Expr& e, int depth) const {
        Range result{0, 0};
        for (const Expr& term : e.operands()) result = result + find(term, depth);
        if (depth == 0 || result.lo == result.hi) return result;
        if (auto view = without_divisions(e)) {
            Range scaled = find(view->first, depth - 1);
            int64_t scale = view->second;
            if (scaled.lo > -kUnbounded) result.lo = std::max(result.lo, -floor_div_int(-scaled.lo, scale));
            if (scaled.hi < kUnbounded) result.hi = std::min(result.hi, floor_div_int(scaled.hi, scale));
        }
        if (auto view = without_mods(e)) {
            Range other{0, 0};
            for (const Expr& term : terms_of(*view)) other = other + find(term, depth - 1);
            result = meet(result, other);
        }
        result = meet(result, by_operands_of_extremum(e, depth));
        if (has_symbolic_bound(e)) {
            result.lo = std::max(result.lo, termwise(bound(e, false, depth - 1), depth - 1).lo);
            result.hi = std::min(result.hi, termwise(bound(e, true, depth - 1), depth - 1).hi);
        }
        return result;
    }

    Range termwise(const Expr& e, int depth) const {
        Range result{0, 0};
        for (const Expr& term : terms_of(e)) result = result + find(term, depth);
        return e.kind() == Kind::add ? above_index(e, known_sum(e, result)) : result;
    }

    // scale * e with every c * (n // d) where d divides scale * c written c/d * (n - n % d).
    static std::optional<std::pair<Expr, int64_t>> without_divisions(const Expr& e) {
        int64_t scale = 1;
        bool found = false;
        for (const Expr& term : terms_of(e)) {
            TermView t = view_term(term);
            for (const Expr& factor : t.factors) {
                if (factor.kind() != Kind::floor_div) continue;
                found = true;
                if (auto d = factor.operands()[1].constant()) {
                    int64_t next = std::lcm(scale, *d / std::gcd(*d, t.coefficient));
                    if (next > kMaxScale) return std::nullopt;
                    scale = next;
                }
                break;
            }
        }
        if (!found) return std::nullopt;
        Expr result = 0;
        bool changed = false;
        for (const Expr& term : terms_of(e)) {
            Expr rewritten = term * scale;
            TermView t = view_term(term);
            for (size_t i = 0; i < t.factors.size(); ++i) {
                if (t.factors[i].kind() != Kind::floor_div) continue;
                const Expr &n = t.factors[i].operands()[0], &d = t.factors[i].operands()[1];
                std::vector<Expr> others(t.factors.begin(), t.factors.end());
                others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
                if (auto q = exact_div(make_term(t.coefficient, others) * scale, d)) {
                    rewritten = *q * (n - mod(n, d));
                    changed = true;
                }
                break;
            }
            result = result + rewritten;
        }
        if (!changed) return std::nullopt;
        return std::pair(result, scale);
    }

    // e with every n % d written n - d * (n // d).
    static std::optional<Expr> without_mods(const Expr& e) {
        Expr result = 0;
        bool changed = false;
        for (const Expr& term : terms_of(e)) {
            TermView t = view_term(term);
            bool mod_alone = t.factors.size() == 1 && t.factors[0].kind() == Kind::mod;
            if (!mod_alone) {
                result = result + term;
                continue;
            }
            const Expr &n = t.factors[0].operands()[0], &d = t.factors[0].operands()[1];
            result = result + (n - d * floor_div(n, d)) * t.coefficient;
            changed = true;
        }
        if (!changed) return std::nullopt;
        return result;
    }

    Range by_operands_of_extremum(const Expr& e, int depth) const {
        for (const Expr& term : terms_of(e)) {
            TermView t = view_term(term);
            if (t.factors.size() != 1) continue;
            Kind kind = t.factors[0].kind();
            if (kind != Kind::min && kind != Kind::max) continue;
            bool below = (kind == Kind::min) == (t.coefficient > 0); // the term is at most each choice
            Range some{kUnbounded, -kUnbounded}, every;
            for (const Expr& operand : t.factors[0].operands()) {
                Range choice = find(e - term + operand * t.coefficient, depth - 1);
                some = join(some, choice);
                every = meet(every, choice);
            }
            return below ? Range{some.lo, every.hi} : Range{every.lo, some.hi};
        }
        return {};
    }

    bool bounded_atom(const Expr& atom) const {
        if (atom.kind() == Kind::symbol) return facts_.bounds().contains(atom.name());
        if (atom.kind() == Kind::mod) return !atom.operands()[1].constant();
        return atom.kind() == Kind::floor_div && mentions_bounded(atom.operands()[0]) && !mentions_bounded(atom.operands()[1]);
    }

    bool mentions_bounded(const Expr& e) const {
        if (e.kind() == Kind::symbol) return facts_.bounds().contains(e.name());
        for (const Expr& operand : e.operands())
            if (mentions_bounded(operand)) return true;
        return false;
    }

    bool has_symbolic_bound(const Expr& e) const {
        for (const Expr& term : terms_of(e)) {
            TermView t = view_term(term);
            if (t.factors.size() > 1) return true;
            if (t.factors.size() == 1 && bounded_atom(t.factors[0])) return true;
        }
        return false;
    }

    // The next atom to replace: one that no other atom's bound speaks of; last, a symbol with a known range out of a product.
    std::optional<Expr> next_atom(const Expr& e, const std::set<Expr>& done) const {
        std::set<Expr> atoms, in_products;
        for (const Expr& term : terms_of(e)) {
            TermView t = view_term(term);
            for (const Expr& factor : t.factors) {
                if (done.contains(factor)) continue;
                if (bounded_atom(factor))
                    atoms.insert(factor);
                else if (t.factors.size() > 1 && factor.kind() == Kind::symbol)
                    in_products.insert(factor);
            }
        }
        for (const Expr& atom : atoms) {
            if (atom.kind() != Kind::symbol) return atom;
            bool free = true;
            for (const Expr& other : atoms)
                if (other.kind() == Kind::symbol && depends_on(facts_.bounds().find(other.name())->second, atom.name())) free = false;
            if (free) return atom;
        }
        if (!atoms.empty()) return *atoms.begin();
        return in_products.empty() ? std::nullopt : std::optional(*in_products.begin());
    }

    // A bound so large that its product with the coefficient nears 64 bits tells nothing anyway.
    static bool product_fits(const Expr& a, const Expr& b) {
        const auto largest = [](const Expr& e) {
            int64_t most = 1;
            for (const Expr& term : terms_of(e))
                if (const int64_t c = view_term(term).coefficient; c != INT64_MIN)
                    most = std::max(most, std::abs(c));
                else
                    return INT64_MAX;
            return most;
        };
        return __int128{largest(a)} * largest(b) < kUnbounded;
    }

    // An expression that is >= e (upper) or <= e under the facts, with bounded atoms replaced by their bounds where the sign of their
    // coefficient is known.
    Expr bound(Expr e, bool upper, int depth) const {
        std::set<Expr> done;
        for (int round = 0; round < 16 && depth >= 0; ++round) {
            auto atom = next_atom(e, done);
            if (!atom) break;
            std::vector<Term> coefficient_terms;
            for (const Expr& term : terms_of(e)) {
                TermView t = view_term(term);
                if (auto others = divide_factors(t.factors, {&*atom, 1})) coefficient_terms.push_back({t.coefficient, std::move(*others)});
            }
            Expr coefficient = sum_of_terms(std::move(coefficient_terms));
            Range sign = termwise(coefficient, depth);
            auto replacement = sign.lo >= 0 || sign.hi <= 0 ? extreme(*atom, upper == (sign.lo >= 0), depth) : std::nullopt;
            if (replacement && product_fits(coefficient, *replacement - *atom))
                e = e + coefficient * (*replacement - *atom);
            else
                done.insert(*atom);
        }
        return e;
    }

    std::optional<Expr> extreme(const Expr& atom, bool upper, int depth) const {
        if (atom.kind() == Kind::symbol) {
            auto less = facts_.bounds().find(atom.name());
            if (upper && less != facts_.bounds().end()) return less->second - 1;
            Range known = find_symbol(atom, 0);
            int64_t end = upper ? known.hi : known.lo;
            return end >= kUnbounded || end <= -kUnbounded ? std::nullopt : std::optional<Expr>(end);
        }
        const Expr& divisor = atom.operands()[1];
        if (termwise(divisor, depth).lo < 1) return std::nullopt;
        if (atom.kind() == Kind::mod) return upper ? divisor - 1 : Expr(0);
        Expr numerator = bound(atom.operands()[0], upper, depth - 1);
        if (numerator == atom.operands()[0]) return std::nullopt;
        return floor_div(numerator, divisor);
    }
};

} // namespace

Range Facts::range(const Expr& e) const { return RangeFinder(*this).find(e, kDepth); }

int64_t Facts::divisor(const Expr& e) const {
    auto limit = [](__int128 value) { return value > kUnbounded ? int64_t{1} : static_cast<int64_t>(value); };
    if (auto value = e.constant()) return *value < -kUnbounded ? 1 : *value < 0 ? -*value : *value;
    std::span<const Expr> operands = e.operands();
    switch (e.kind()) {
    case Kind::constant: break;
    case Kind::symbol: {
        if (auto known = ranges_.find(e.name()); known != ranges_.end() && known->second.pinned()) return std::abs(known->second.lo);
        auto found = multiples_.find(e.name());
        return found == multiples_.end() ? 1 : found->second;
    }
    case Kind::mul: {
        int64_t result = 1;
        for (const Expr& operand : operands) {
            int64_t next = limit(__int128{result} * divisor(operand));
            if (next == 1 && result != 1) return result;
            result = next;
        }
        return result;
    }
    case Kind::floor_div: {
        auto by = operands[1].constant();
        int64_t of = divisor(operands[0]);
        return by && of % *by == 0 ? of / *by : 1;
    }
    case Kind::mod: // n % d == n - d * q
        return std::gcd(divisor(operands[0]), divisor(operands[1]));
    case Kind::add:
    case Kind::min:
    case Kind::max: {
        int64_t result = 0;
        for (const Expr& operand : operands) result = std::gcd(result, divisor(operand));
        return result;
    }
    }
    return 1;
}

} // namespace codetta::sym
