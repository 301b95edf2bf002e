// Facts::simplify, proves and refutes. Rules that hold without facts are in the canonical form (division.cpp); these need a range, a sign
// or a divisor.
#include <numeric>
#include <set>

#include "codetta/sym/interval.h"
#include "codetta/sym/node.h"

namespace codetta::sym {
namespace {

constexpr int kDepth = 8;

class Simplifier {
public:
    explicit Simplifier(const Facts& facts) : facts_(facts) {}

    Expr simplify(const Expr& e, int depth) const {
        if (e.constant()) return e;
        if (e.kind() == Kind::symbol) {
            Range range = facts_.range(e);
            return range.pinned() ? Expr(range.lo) : e;
        }
        std::span<const Expr> operands = e.operands();
        switch (e.kind()) {
        case Kind::constant:
        case Kind::symbol: return e;
        case Kind::add: {
            Expr result = 0;
            for (const Expr& term : operands) result = result + simplify(term, depth);
            return recombine(result);
        }
        case Kind::mul: {
            Expr result = 1;
            for (const Expr& factor : operands) result = result * simplify(factor, depth);
            return cancel_exact_division(result);
        }
        case Kind::floor_div:
        case Kind::mod: {
            Expr n = simplify(operands[0], depth), d = simplify(operands[1], depth);
            if (d.is(0)) return e; // undefined; leave it to evaluation
            Expr whole = e.kind() == Kind::mod ? mod(n, d) : floor_div(n, d);
            Expr result = rewrite_atoms(whole, depth);
            return result == whole || depth == 0 ? result : simplify(result, depth - 1);
        }
        case Kind::min:
        case Kind::max: return simplify_extremum(e, depth);
        }
        return e;
    }

private:
    const Facts& facts_;

    // Applies the rules below to the division atoms of a sum whose parts are already simple.
    Expr rewrite_atoms(const Expr& e, int depth) const {
        Expr result = 0;
        for (const Expr& term : terms_of(e)) {
            TermView t = view_term(term);
            Expr rewritten = t.coefficient;
            for (const Expr& factor : t.factors) {
                std::optional<Expr> better;
                if (factor.kind() == Kind::floor_div) better = divide(factor.operands()[0], factor.operands()[1], depth);
                if (factor.kind() == Kind::mod) better = remainder(factor.operands()[0], factor.operands()[1]);
                rewritten = rewritten * (better ? *better : factor);
            }
            result = result + rewritten;
        }
        return result;
    }

    // q with q * d <= n < (q + 1) * d, a literal, d > 0.
    std::optional<int64_t> constant_quotient(const Expr& n, const Expr& d) const {
        Range range = facts_.range(n);
        if (auto divisor = d.constant()) {
            if (range.lo <= -kUnbounded || range.hi >= kUnbounded) return std::nullopt;
            int64_t q = floor_div_int(range.lo, *divisor);
            if (q == floor_div_int(range.hi, *divisor)) return q;
            return std::nullopt;
        }
        if (range.lo >= 0) return facts_.range(d - n).lo >= 1 ? std::optional<int64_t>(0) : std::nullopt;
        if (range.hi < 0 && facts_.range(d + n).lo >= 0) return -1;
        return std::nullopt;
    }

    struct Parts { // n == scale * high + low, 0 <= low < scale, d == scale * rest
        Expr scale, rest, high, low;
    };

    std::optional<Parts> split_low_part(const Expr& n, const Expr& d) const {
        if (n.kind() != Kind::add || d.kind() == Kind::add) return std::nullopt;
        TermView divisor = view_term(d);
        std::set<Expr> tried;
        for (const Expr& term : terms_of(n)) {
            TermView t = view_term(term);
            int64_t coefficient = std::gcd(t.coefficient, divisor.coefficient);
            Expr scale = make_term(coefficient, common_factors(t.factors, divisor.factors));
            if (scale.is(1) || !tried.insert(scale).second || !facts_.positive(scale)) continue;
            Expr high = 0, low = 0;
            for (const Expr& each : terms_of(n)) {
                auto quotient = each.constant() ? std::nullopt : exact_div(each, scale);
                if (quotient)
                    high = high + *quotient;
                else
                    low = low + each;
            }
            auto shift = constant_quotient(low, scale);
            if (!shift) continue;
            return Parts{scale, *exact_div(d, scale), high + *shift, low - scale * *shift};
        }
        return std::nullopt;
    }

    // The terms of n that the literal d divides under the facts.
    Expr divisible_part(const Expr& n, const Expr& d) const {
        Expr result = 0;
        auto divisor = d.constant();
        if (!divisor) return result;
        for (const Expr& term : terms_of(n))
            if (facts_.divisor(term) % *divisor == 0) result = result + term;
        return result;
    }

    std::optional<Expr> divide(const Expr& n, const Expr& d, int depth) const {
        if (!facts_.positive(d)) return std::nullopt;
        if (auto q = constant_quotient(n, d)) return Expr(*q);
        if (auto parts = split_low_part(n, d)) return floor_div(parts->high, parts->rest);
        Expr divisible = divisible_part(n, d);
        if (!divisible.is(0) && !(divisible == n)) {
            Expr rest = n - divisible;
            if (auto q = constant_quotient(rest, d)) return floor_div(divisible, d) + *q;
        }
        Expr inner = n;
        Expr shift = 0;
        if (auto terms = terms_of(n); terms.size() == 2 && terms[1].constant()) inner = terms[0], shift = terms[1];
        if (inner.kind() == Kind::floor_div && depth > 0) // (x // a + c) // b == (x + c * a) // (a * b) for b > 0
            return floor_div(inner.operands()[0] + shift * inner.operands()[1], inner.operands()[1] * d);
        if (n.kind() == Kind::mod) // (x % (a * b)) // b == (x // b) % a for a, b > 0
            if (auto a = exact_div(n.operands()[1], d); a && facts_.positive(*a)) return mod(floor_div(n.operands()[0], d), *a);
        return std::nullopt;
    }

    std::optional<Expr> remainder(const Expr& n, const Expr& d) const {
        if (!facts_.positive(d)) return std::nullopt;
        if (auto q = constant_quotient(n, d)) return n - d * *q;
        if (auto parts = split_low_part(n, d)) return parts->scale * mod(parts->high, parts->rest) + parts->low;
        Expr divisible = divisible_part(n, d);
        if (!divisible.is(0)) return mod(n - divisible, d);
        return std::nullopt;
    }

    // c * (n // d) == c/d * n where d divides n under the facts and c plainly.
    Expr cancel_exact_division(const Expr& term) const {
        TermView t = view_term(term);
        if (term.kind() != Kind::mul) return term;
        for (size_t i = 0; i < t.factors.size(); ++i) {
            if (t.factors[i].kind() != Kind::floor_div) continue;
            const Expr &n = t.factors[i].operands()[0], &d = t.factors[i].operands()[1];
            std::vector<Expr> others(t.factors.begin(), t.factors.end());
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
            auto quotient = exact_div(make_term(t.coefficient, others), d);
            if (quotient && d.constant() && facts_.divisor(n) % *d.constant() == 0) return *quotient * n;
        }
        return term;
    }

    // c * d * (n // d) + c * (n % d) == c * n, and c * b * ((x // b) % a) + c * (x % b) == c * (x % (a * b)).
    Expr recombine(Expr e) const {
        for (bool again = true; again && e.kind() == Kind::add;) {
            again = false;
            for (const Expr& term : terms_of(e)) {
                TermView t = view_term(term);
                for (size_t i = 0; i < t.factors.size() && !again; ++i) {
                    if (t.factors[i].kind() != Kind::mod) continue;
                    std::vector<Expr> others(t.factors.begin(), t.factors.end());
                    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
                    Expr scale = make_term(t.coefficient, others);
                    const Expr n = t.factors[i].operands()[0], d = t.factors[i].operands()[1];
                    Expr without = e - term;
                    if (Expr joined = without - scale * d * floor_div(n, d) + scale * n; node_count(joined) < node_count(e)) {
                        e = joined;
                        again = true;
                    } else if (auto wider = join_mod(without, scale, n, d)) {
                        e = *wider;
                        again = true;
                    }
                }
                if (again) break;
            }
        }
        return e;
    }

    // rest holds scale * d * ((n // d) % a): rest + scale * (n % d) with both joined to scale * (n % (a * d)), a, d > 0.
    std::optional<Expr> join_mod(const Expr& rest, const Expr& scale, const Expr& n, const Expr& d) const {
        Expr quotient = floor_div(n, d);
        for (const Expr& term : terms_of(rest)) {
            for (const Expr& factor : view_term(term).factors) {
                if (factor.kind() != Kind::mod || !(factor.operands()[0] == quotient)) continue;
                const Expr& a = factor.operands()[1];
                if (!(term == scale * d * factor) || !facts_.positive(a) || !facts_.positive(d)) continue;
                return rest - term + scale * mod(n, a * d);
            }
        }
        return std::nullopt;
    }

    Expr simplify_extremum(const Expr& e, int depth) const {
        bool is_min = e.kind() == Kind::min;
        std::vector<Expr> kept;
        for (const Expr& operand : e.operands()) {
            Expr candidate = simplify(operand, depth);
            bool needed = true;
            for (Expr& other : kept) {
                Range difference = facts_.range(candidate - other);
                if (is_min ? difference.lo >= 0 : difference.hi <= 0) {
                    needed = false;
                    break;
                }
                if (is_min ? difference.hi <= 0 : difference.lo >= 0) {
                    other = candidate;
                    needed = false;
                    break;
                }
            }
            if (needed) kept.push_back(candidate);
        }
        Expr result = kept[0];
        for (size_t i = 1; i < kept.size(); ++i) result = is_min ? min(result, kept[i]) : max(result, kept[i]);
        return result;
    }
};

enum class Truth : uint8_t { no, yes, unknown };

Truth decide(Relation relation, Range difference, bool never_zero) { // difference = rhs - lhs
    bool zero = difference.lo == 0 && difference.hi == 0;
    bool nonzero = difference.lo > 0 || difference.hi < 0 || never_zero;
    auto truth = [](bool yes, bool no) { return yes ? Truth::yes : no ? Truth::no : Truth::unknown; };
    switch (relation) {
    case Relation::eq: return truth(zero, nonzero);
    case Relation::ne: return truth(nonzero, zero);
    case Relation::lt: return truth(difference.lo >= 1, difference.hi <= 0);
    case Relation::le: return truth(difference.lo >= 0, difference.hi <= -1);
    }
    return Truth::unknown;
}

// e == c + terms that are all multiples of d, d does not divide c: e is never 0.
bool never_zero(const Facts& facts, const Expr& e) {
    if (e.kind() != Kind::add || !e.operands().back().constant()) return false;
    Expr literal = e.operands().back();
    int64_t step = facts.divisor(e - literal);
    return step > 1 && *literal.constant() % step != 0;
}

Truth decide(const Facts& facts, const Condition& c) {
    Expr difference = c.rhs - c.lhs;
    Truth first = decide(c.relation, facts.range(difference), never_zero(facts, difference));
    if (first != Truth::unknown) return first;
    Expr simple = facts.simplify(difference);
    if (simple == difference) return first;
    return decide(c.relation, facts.range(simple), never_zero(facts, simple));
}

} // namespace

Expr Facts::simplify(const Expr& e) const {
    if (e.constant()) return e;
    Simplifier simplifier(*this);
    Expr result = e;
    for (int round = 0; round < 3; ++round) {
        Expr next = simplifier.simplify(result, kDepth);
        if (next == result) break;
        result = next;
    }
    return node_count(result) <= node_count(e) ? result : e;
}

bool Facts::proves(const Condition& c) const { return decide(*this, c) == Truth::yes; }
bool Facts::refutes(const Condition& c) const { return decide(*this, c) == Truth::no; }

Condition Facts::simplify(const Condition& c) const {
    switch (decide(*this, c)) {
    case Truth::yes: return eq(0, 0);
    case Truth::no: return eq(0, 1);
    case Truth::unknown: break;
    }
    return {c.relation, simplify(c.lhs), simplify(c.rhs)};
}

} // namespace codetta::sym
