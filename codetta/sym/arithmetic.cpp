// Sums and products: the polynomial part of the canonical form.
#include <algorithm>

#include "codetta/base/error.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/node.h"

namespace codetta::sym {

static constexpr size_t kMostTerms = 1 << 16;

std::span<const Expr> terms_of(const Expr& e) {
    if (e.kind() == Kind::add) return e.operands();
    if (e.is(0)) return {};
    return {&e, 1};
}

TermView view_term(const Expr& term) {
    if (auto value = term.constant()) return {*value, {}};
    if (term.kind() != Kind::mul) return {1, {&term, 1}};
    std::span<const Expr> factors = term.operands();
    if (auto value = factors.back().constant()) return {*value, factors.first(factors.size() - 1)};
    return {1, factors};
}

Expr make_term(int64_t coefficient, std::span<const Expr> factors) {
    if (factors.empty() || coefficient == 0) return coefficient;
    if (coefficient == 1 && factors.size() == 1) return factors[0];
    std::vector<Expr> operands;
    operands.reserve(factors.size() + 1);
    operands.assign(factors.begin(), factors.end());
    if (coefficient != 1) operands.emplace_back(coefficient);
    return ExprFactory::make(Kind::mul, std::move(operands));
}

namespace {

Expr sum_node(std::vector<Expr> terms) {
    if (terms.empty()) return 0;
    if (terms.size() == 1) return terms[0];
    return ExprFactory::make(Kind::add, std::move(terms));
}

// a + scale * b, merging two sorted sums.
Expr add_scaled(const Expr& a, const Expr& b, int64_t scale) {
    std::span<const Expr> left = terms_of(a), right = terms_of(b);
    std::vector<Expr> result;
    result.reserve(left.size() + right.size());
    size_t i = 0, j = 0;
    while (i < left.size() || j < right.size()) {
        TermView x = i < left.size() ? view_term(left[i]) : TermView{0, {}};
        TermView y = j < right.size() ? view_term(right[j]) : TermView{0, {}};
        std::strong_ordering order = i == left.size()    ? std::strong_ordering::greater
                                     : j == right.size() ? std::strong_ordering::less
                                                         : compare_factors(x.factors, y.factors);
        if (order < 0) {
            result.push_back(left[i++]);
        } else if (order > 0) {
            result.push_back(scale == 1 ? right[j] : make_term(checked_mul(scale, y.coefficient), y.factors));
            ++j;
        } else {
            int64_t coefficient = checked_add(x.coefficient, checked_mul(scale, y.coefficient));
            if (coefficient != 0) result.push_back(make_term(coefficient, x.factors));
            ++i, ++j;
        }
    }
    return sum_node(std::move(result));
}

} // namespace

Expr sum_of_terms(std::vector<Term> terms) {
    std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return compare_factors(a.factors, b.factors) < 0; });
    std::vector<Expr> result;
    for (size_t i = 0; i < terms.size();) {
        int64_t coefficient = terms[i].coefficient;
        size_t next = i + 1;
        while (next < terms.size() && compare_factors(terms[i].factors, terms[next].factors) == 0)
            coefficient = checked_add(coefficient, terms[next++].coefficient);
        if (coefficient != 0) result.push_back(make_term(coefficient, terms[i].factors));
        i = next;
    }
    return sum_node(std::move(result));
}

Expr operator+(const Expr& a, const Expr& b) {
    if (a.is(0)) return b;
    if (b.is(0)) return a;
    if (a.constant() && b.constant()) return checked_add(*a.constant(), *b.constant());
    return add_scaled(a, b, 1);
}

Expr operator-(const Expr& a, const Expr& b) {
    if (b.is(0)) return a;
    return add_scaled(a, b, -1);
}

Expr operator-(const Expr& a) { return add_scaled(0, a, -1); }

Expr operator*(const Expr& a, const Expr& b) {
    if (a.constant() && b.constant()) return checked_mul(*a.constant(), *b.constant());
    if (auto scale = b.constant()) return *scale == 1 ? a : *scale == 0 ? Expr(0) : add_scaled(0, a, *scale);
    if (auto scale = a.constant()) return *scale == 1 ? b : *scale == 0 ? Expr(0) : add_scaled(0, b, *scale);
    size_t count = terms_of(a).size() * terms_of(b).size();
    CODETTA_CHECK(count <= kMostTerms, "a product of {} and {} terms is not written out", terms_of(a).size(), terms_of(b).size());
    std::vector<Term> terms;
    terms.reserve(count);
    for (const Expr& left : terms_of(a)) {
        TermView x = view_term(left);
        for (const Expr& right : terms_of(b)) {
            TermView y = view_term(right);
            Term term{checked_mul(x.coefficient, y.coefficient), {}};
            term.factors.resize(x.factors.size() + y.factors.size());
            std::merge(x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(), term.factors.begin(),
                       [](const Expr& p, const Expr& q) { return compare(p, q) < 0; });
            terms.push_back(std::move(term));
        }
    }
    return sum_of_terms(std::move(terms));
}

Expr sum(std::span<const Expr> terms) {
    Expr result = 0;
    for (const Expr& term : terms) result = result + term;
    return result;
}

Expr product(std::span<const Expr> factors) {
    Expr result = 1;
    for (const Expr& factor : factors) result = result * factor;
    return result;
}

std::optional<std::vector<Expr>> divide_factors(std::span<const Expr> a, std::span<const Expr> b) {
    std::vector<Expr> rest;
    size_t j = 0;
    for (const Expr& factor : a) {
        if (j < b.size() && factor == b[j])
            ++j;
        else
            rest.push_back(factor);
    }
    if (j < b.size()) return std::nullopt;
    return rest;
}

std::vector<Expr> common_factors(std::span<const Expr> a, std::span<const Expr> b) {
    std::vector<Expr> common;
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        std::strong_ordering order = compare(a[i], b[j]);
        if (order < 0) ++i;
        if (order > 0) ++j;
        if (order == 0) common.push_back(a[i]), ++i, ++j;
    }
    return common;
}

} // namespace codetta::sym
