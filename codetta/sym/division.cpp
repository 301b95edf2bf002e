// floor_div and mod: numerators are reduced by whole multiples of the divisor, common factors cancelled, nested divisions joined.
// Every rule here holds for all integers wherever the original is defined; rules that need ranges are in simplify.cpp.
#include <cstdlib>
#include <numeric>

#include "codetta/base/error.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/node.h"

namespace codetta::sym {
namespace {

struct Split {
    Expr quotient, rest;
};

// numerator == quotient * divisor + rest for a divisor of one term: coefficients are reduced towards zero, the literal term into [0,
// divisor).
Split split_by_term(const Expr& numerator, TermView divisor) {
    std::vector<Term> quotient;
    std::vector<Term> rest;
    for (const Expr& term : terms_of(numerator)) {
        TermView t = view_term(term);
        auto factors = divide_factors(t.factors, divisor.factors);
        bool literal = t.factors.empty() && divisor.factors.empty();
        int64_t q = !factors ? 0 : literal ? floor_div_int(t.coefficient, divisor.coefficient) : t.coefficient / divisor.coefficient;
        int64_t r = t.coefficient - q * divisor.coefficient;
        if (q != 0) quotient.push_back({q, std::move(*factors)});
        if (r != 0) rest.push_back({r, {t.factors.begin(), t.factors.end()}});
    }
    if (quotient.empty()) return {0, numerator};
    return {sum_of_terms(std::move(quotient)), sum_of_terms(std::move(rest))};
}

// The same for a divisor that is a sum: takes out q * divisor where all of its terms are present in the numerator.
Split split_by_sum(Expr numerator, const Expr& divisor) {
    size_t width = terms_of(divisor).size();
    Expr lead = terms_of(divisor)[0]; // the literal term comes last, so the lead has factors
    Expr quotient = 0;
    for (bool again = true; again;) {
        again = false;
        Expr current = numerator; // keeps the terms alive
        for (const Expr& term : terms_of(current)) {
            TermView t = view_term(term), l = view_term(lead);
            auto factors = divide_factors(t.factors, l.factors);
            if (!factors || t.coefficient % l.coefficient != 0) continue;
            Expr q = make_term(t.coefficient / l.coefficient, *factors);
            Expr rest = current - q * divisor;
            if (terms_of(rest).size() + width != terms_of(current).size()) continue;
            quotient = quotient + q;
            numerator = rest;
            again = true;
            break;
        }
    }
    return {quotient, numerator};
}

Split split(const Expr& numerator, const Expr& divisor) {
    return divisor.kind() == Kind::add ? split_by_sum(numerator, divisor) : split_by_term(numerator, view_term(divisor));
}

// The largest monomial that divides every term of both; `literals`: whether the literal term of a counts.
Term common_content(const Expr& a, const Expr& b, bool literals) {
    Term content{0, {}};
    bool first = true;
    auto visit = [&](const Expr& e, bool with_literal) {
        for (const Expr& term : terms_of(e)) {
            TermView t = view_term(term);
            if (t.factors.empty() && !with_literal) continue;
            content.coefficient = std::gcd(content.coefficient, t.coefficient);
            content.factors = first ? std::vector<Expr>(t.factors.begin(), t.factors.end()) : common_factors(content.factors, t.factors);
            first = false;
        }
    };
    visit(b, true);
    visit(a, literals);
    return content;
}

Expr divide_content(const Expr& e, const Term& content) {
    std::vector<Term> terms;
    for (const Expr& term : terms_of(e)) {
        TermView t = view_term(term);
        terms.push_back({t.coefficient / content.coefficient, *divide_factors(t.factors, content.factors)});
    }
    return sum_of_terms(std::move(terms));
}

Expr literal_term(const Expr& e) {
    std::span<const Expr> terms = terms_of(e);
    return !terms.empty() && terms.back().constant() ? terms.back() : Expr(0);
}

bool negative_lead(const Expr& divisor) { return view_term(terms_of(divisor)[0]).coefficient < 0; }

// Joins (x // a + c) // b to (x + c * a) // (a * b) and (x % (a * b)) // b to (x // b) % a, b a positive literal.
std::optional<Expr> join_nested_division(const Expr& numerator, int64_t divisor) {
    Expr shift = literal_term(numerator);
    Expr inner = numerator - shift;
    int64_t joined = 0;
    if (inner.kind() == Kind::floor_div) {
        const Expr& a = inner.operands()[1];
        if (a.constant() && __builtin_mul_overflow(*a.constant(), divisor, &joined)) return std::nullopt;
        return floor_div(inner.operands()[0] + shift * a, a * divisor);
    }
    if (inner.kind() == Kind::mod && shift.is(0)) {
        auto modulus = inner.operands()[1].constant();
        if (modulus && *modulus % divisor == 0) return mod(floor_div(inner.operands()[0], divisor), *modulus / divisor);
    }
    return std::nullopt;
}

// (c * (x % m) + y) % d == (c * x + y) % d where d divides c * m.
Expr drop_inner_mods(const Expr& numerator, const Expr& divisor) {
    for (const Expr& term : terms_of(numerator)) {
        TermView t = view_term(term);
        for (size_t i = 0; i < t.factors.size(); ++i) {
            if (t.factors[i].kind() != Kind::mod) continue;
            std::vector<Expr> others(t.factors.begin(), t.factors.end());
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
            Expr scale = make_term(t.coefficient, others);
            if (!exact_div(scale * t.factors[i].operands()[1], divisor)) continue;
            return drop_inner_mods(numerator - term + scale * t.factors[i].operands()[0], divisor);
        }
    }
    return numerator;
}

} // namespace

std::optional<Expr> exact_div(const Expr& a, const Expr& b) {
    if (b.is(0)) return std::nullopt;
    Split s = split(a, b);
    if (!s.rest.is(0)) return std::nullopt;
    return s.quotient;
}

Expr floor_div(const Expr& a, const Expr& b) {
    if (b.is(1)) return a;
    if (a.constant() && b.constant()) return floor_div_int(*a.constant(), *b.constant());
    CODETTA_CHECK(!b.is(0), "({}) // 0", to_string(a));
    if (negative_lead(b)) return floor_div(-a, -b);
    Split s = split(a, b);
    if (!s.quotient.is(0)) return s.quotient + floor_div(s.rest, b);
    if (a.is(0)) return 0;
    if (auto divisor = b.constant()) {
        // floor((g*y + r) / (g*h)) == floor(y / h) for 0 <= r < g, h > 0
        Term content = common_content(a, b, false);
        if (content.coefficient > 1) {
            Expr literal = literal_term(a);
            Expr rest = floor_div_int(*literal.constant(), content.coefficient);
            return floor_div(divide_content(a - literal, content) + rest, *divisor / content.coefficient);
        }
        if (auto joined = join_nested_division(a, *divisor)) return *joined;
    } else {
        Term content = common_content(a, b, true);
        if (content.coefficient > 1 || !content.factors.empty()) return floor_div(divide_content(a, content), divide_content(b, content));
    }
    return ExprFactory::make(Kind::floor_div, {a, b});
}

Expr ceil_div(const Expr& a, const Expr& b) { return floor_div(a + b - 1, b); }

Expr mod(const Expr& a, const Expr& b) {
    if (a.constant() && b.constant()) return mod_int(*a.constant(), *b.constant());
    CODETTA_CHECK(!b.is(0), "({}) % 0", to_string(a));
    if (b.is(1)) return 0;
    if (negative_lead(b)) return -mod(-a, -b);
    Expr reduced = drop_inner_mods(a, b);
    Split s = split(reduced, b);
    if (!s.quotient.is(0) || !(reduced == a)) return mod(s.rest, b);
    if (a.is(0)) return 0;
    if (auto divisor = b.constant()) {
        // (g*y + r) % (g*h) == g*(y % h) + r for 0 <= r < g
        Term content = common_content(a, b, false);
        if (content.coefficient > 1) {
            Expr literal = literal_term(a);
            Expr rest = mod_int(*literal.constant(), content.coefficient);
            Expr whole = floor_div_int(*literal.constant(), content.coefficient);
            return mod(divide_content(a - literal, content) + whole, *divisor / content.coefficient) * content.coefficient + rest;
        }
    } else {
        Term content = common_content(a, b, true);
        if (content.coefficient > 1 || !content.factors.empty())
            return mod(divide_content(a, content), divide_content(b, content)) * make_term(content.coefficient, content.factors);
    }
    return ExprFactory::make(Kind::mod, {a, b});
}

} // namespace codetta::sym
