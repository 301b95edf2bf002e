// Walks over an expression: its value, its symbols, other symbols in their place, its coefficients.
#include <algorithm>

#include "codetta/base/error.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/node.h"

namespace codetta::sym {
namespace {

// The canonical expression of `kind` over new operands.
Expr rebuild(Kind kind, std::span<const Expr> operands) {
    switch (kind) {
    case Kind::add: return sum(operands);
    case Kind::mul: return product(operands);
    case Kind::floor_div: return floor_div(operands[0], operands[1]);
    case Kind::mod: return mod(operands[0], operands[1]);
    case Kind::constant:
    case Kind::symbol: break;
    case Kind::min:
    case Kind::max: {
        Expr result = operands[0];
        for (const Expr& operand : operands.subspan(1)) result = kind == Kind::min ? min(result, operand) : max(result, operand);
        return result;
    }
    }
    CODETTA_CHECK(false, "a literal or a symbol has no operands");
}

template <class Lookup> // const std::string& -> const Expr* or null
Expr substitute_by(const Expr& e, const Lookup& lookup) {
    if (e.constant()) return e;
    if (e.kind() == Kind::symbol) {
        const Expr* found = lookup(e.name());
        return found ? *found : e;
    }
    std::vector<Expr> operands;
    operands.reserve(e.operands().size());
    bool changed = false;
    for (const Expr& operand : e.operands()) {
        operands.push_back(substitute_by(operand, lookup));
        changed = changed || ExprFactory::node(operands.back()) != ExprFactory::node(operand);
    }
    return changed ? rebuild(e.kind(), operands) : e;
}

} // namespace

int64_t evaluate(const Expr& e, const Bindings& values) {
    if (auto value = e.constant()) return *value;
    if (e.kind() == Kind::symbol) {
        auto found = values.find(e.name());
        CODETTA_CHECK(found != values.end(), "symbol {} has no value", e.name());
        return found->second;
    }
    std::span<const Expr> operands = e.operands();
    int64_t result = evaluate(operands[0], values);
    for (const Expr& operand : operands.subspan(1)) {
        int64_t value = evaluate(operand, values);
        switch (e.kind()) {
        case Kind::add: result = checked_add(result, value); break;
        case Kind::mul: result = checked_mul(result, value); break;
        case Kind::floor_div: result = floor_div_int(result, value); break;
        case Kind::mod: result = mod_int(result, value); break;
        case Kind::min: result = std::min(result, value); break;
        case Kind::max: result = std::max(result, value); break;
        case Kind::constant:
        case Kind::symbol: break;
        }
    }
    return result;
}

Expr substitute(const Expr& e, const Substitution& by) {
    if (by.empty()) return e;
    return substitute_by(e, [&](const std::string& name) {
        auto found = by.find(name);
        return found == by.end() ? nullptr : &found->second;
    });
}

Expr substitute(const Expr& e, std::string_view symbol, const Expr& by) {
    return substitute_by(e, [&](const std::string& name) { return name == symbol ? &by : nullptr; });
}

void collect_symbols(const Expr& e, std::set<std::string>& out) {
    if (e.kind() == Kind::symbol) out.insert(e.name());
    for (const Expr& operand : e.operands()) collect_symbols(operand, out);
}

std::set<std::string> symbols(const Expr& e) {
    std::set<std::string> result;
    collect_symbols(e, result);
    return result;
}

bool depends_on(const Expr& e, std::string_view symbol) {
    if (e.kind() == Kind::symbol) return e.name() == symbol;
    return std::any_of(e.operands().begin(), e.operands().end(), [&](const Expr& operand) { return depends_on(operand, symbol); });
}

size_t node_count(const Expr& e) {
    size_t count = 1;
    for (const Expr& operand : e.operands()) count += node_count(operand);
    return count;
}

std::optional<Affine> as_affine(const Expr& e, std::string_view symbol) {
    std::vector<Term> coefficient, rest;
    for (const Expr& term : terms_of(e)) {
        TermView t = view_term(term);
        std::vector<Expr> others;
        size_t times = 0;
        for (const Expr& factor : t.factors) {
            if (factor.kind() == Kind::symbol && factor.name() == symbol)
                ++times;
            else if (depends_on(factor, symbol))
                return std::nullopt;
            else
                others.push_back(factor);
        }
        if (times > 1) return std::nullopt;
        (times == 1 ? coefficient : rest).push_back({t.coefficient, std::move(others)});
    }
    return Affine{sum_of_terms(std::move(coefficient)), sum_of_terms(std::move(rest))};
}

} // namespace codetta::sym
