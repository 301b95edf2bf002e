#include "codetta/frontends/tensor/dim.h"

#include <algorithm>
#include <cctype>

#include "codetta/base/error.h"

namespace codetta::frontends::tensor {

namespace {

bool is_name(std::string_view name) {
    const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) && std::ranges::all_of(name, word);
}

bool is_axis_name(std::string_view name) {
    return name.size() > 1 && (name[0] == 'i' || name[0] == 'r') &&
           std::ranges::all_of(name.substr(1), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

/// The dim with its one symbol's range narrowed.
Dim narrowed(const Dim& d, int64_t lo, int64_t hi) {
    CODETTA_USER_CHECK(d.expr.kind() == sym::Kind::symbol, "only a named size can be bounded, not {}", sym::to_string(d.expr));
    const sym::Range range = d.facts.range(d.expr);
    Dim result = d;
    lo = std::max(lo, range.lo), hi = std::min(hi, range.hi);
    CODETTA_USER_CHECK(lo <= hi, "size '{}' can have no value: at least {} and at most {}", d.expr.name(), lo, hi);
    result.facts.set_range(d.expr.name(), {lo, hi});
    return result;
}

} // namespace

Dim Dim::at_least(int64_t lo) const { return narrowed(*this, lo, sym::kUnbounded); }
Dim Dim::at_most(int64_t hi) const { return narrowed(*this, -sym::kUnbounded, hi); }

Dim Dim::multiple_of(int64_t divisor) const {
    CODETTA_USER_CHECK(expr.kind() == sym::Kind::symbol && divisor >= 1, "only a named size can be a multiple of a positive number");
    Dim result = *this;
    result.facts.set_multiple(expr.name(), divisor);
    return result;
}

Dim dim(const std::string& name) {
    CODETTA_USER_CHECK(is_name(name), "'{}' is no name for a size; use letters, digits and '_'", name);
    CODETTA_USER_CHECK(!is_axis_name(name), "a size can't be called '{}': the compiler names its loops so", name);
    Dim d(sym::Expr::symbol(name), {});
    d.facts.set_range(name, {0, sym::kUnbounded});
    return d;
}

Dim operator+(const Dim& a, const Dim& b) { return {a.expr + b.expr, merge_facts(a.facts, b.facts)}; }
Dim operator-(const Dim& a, const Dim& b) { return {a.expr - b.expr, merge_facts(a.facts, b.facts)}; }
Dim operator*(const Dim& a, const Dim& b) { return {a.expr * b.expr, merge_facts(a.facts, b.facts)}; }
Dim floor_div(const Dim& a, const Dim& b) { return {sym::floor_div(a.expr, b.expr), merge_facts(a.facts, b.facts)}; }

std::vector<sym::Expr> exprs(const Shape& shape) {
    std::vector<sym::Expr> result;
    for (const Dim& d : shape) result.push_back(d.expr);
    return result;
}

sym::Facts merge_facts(const sym::Facts& a, const sym::Facts& b) {
    sym::Facts result = a;
    const auto described_as = [](const sym::Facts& f, const std::string& name) {
        sym::Facts alone;
        if (const auto range = f.ranges().find(name); range != f.ranges().end()) alone.set_range(name, range->second);
        if (const auto multiple = f.multiples().find(name); multiple != f.multiples().end()) alone.set_multiple(name, multiple->second);
        return sym::to_string(alone);
    };
    for (const auto& [name, range] : b.ranges()) {
        if (a.ranges().contains(name)) {
            const std::string here = described_as(a, name), there = described_as(b, name);
            CODETTA_USER_CHECK(here == there, "size '{}' is described in two ways: {} and {}", name, here, there);
        }
        result.set_range(name, range);
    }
    for (const auto& [name, multiple] : b.multiples()) result.set_multiple(name, multiple);
    return result;
}

sym::Facts facts_of(const Shape& shape) {
    sym::Facts facts;
    for (const Dim& d : shape) facts = merge_facts(facts, d.facts);
    return facts;
}

} // namespace codetta::frontends::tensor
