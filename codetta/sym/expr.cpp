#include "codetta/sym/expr.h"

#include <limits>

#include "codetta/base/error.h"
#include "codetta/sym/node.h"

namespace codetta::sym {
namespace {

size_t mix(size_t seed, size_t value) {
    uint64_t x = (seed ^ value) * 0x9E3779B97F4A7C15ull;
    return x ^ (x >> 29);
}

bool is_symbol_start(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '$'; }
bool is_symbol_rest(char c) { return is_symbol_start(c) || (c >= '0' && c <= '9') || c == '.'; }

// Atoms first in the order of the enum, sums behind them, so that a monomial never starts with a sum.
int rank(Kind kind) {
    switch (kind) {
    case Kind::symbol: return 0;
    case Kind::floor_div: return 1;
    case Kind::mod: return 2;
    case Kind::min: return 3;
    case Kind::max: return 4;
    case Kind::mul: return 5;
    case Kind::add: return 6;
    case Kind::constant: return 7;
    }
    return 8;
}

} // namespace

Expr ExprFactory::make(Kind kind, std::vector<Expr> operands, std::string name) {
    size_t hash = mix(static_cast<size_t>(kind) + 1, std::hash<std::string>{}(name));
    for (const Expr& operand : operands) hash = mix(hash, operand.hash());
    return Expr(std::make_shared<const Expr::Node>(Expr::Node{kind, hash, std::move(name), std::move(operands)}));
}

Expr Expr::symbol(std::string name) {
    bool good = !name.empty() && is_symbol_start(name[0]);
    for (char c : name) good = good && is_symbol_rest(c);
    CODETTA_CHECK(good, "'{}' is not a symbol name", name);
    return ExprFactory::make(Kind::symbol, {}, std::move(name));
}

Kind Expr::kind() const { return node_ ? node_->kind : Kind::constant; }

const std::string& Expr::name() const {
    CODETTA_CHECK(kind() == Kind::symbol, "{} has no name", to_string(*this));
    return node_->name;
}

std::span<const Expr> Expr::operands() const { return node_ ? std::span<const Expr>(node_->operands) : std::span<const Expr>(); }

size_t Expr::hash() const { return node_ ? node_->hash : mix(0, static_cast<size_t>(value_)); }

bool operator==(const Expr& a, const Expr& b) {
    if (a.node_ == b.node_) return a.node_ || a.value_ == b.value_;
    if (!a.node_ || !b.node_ || a.node_->hash != b.node_->hash || a.node_->kind != b.node_->kind) return false;
    return a.node_->name == b.node_->name && a.node_->operands == b.node_->operands;
}

bool operator<(const Expr& a, const Expr& b) { return compare(a, b) < 0; }

std::strong_ordering compare(const Expr& a, const Expr& b) {
    const Expr::Node* x = ExprFactory::node(a);
    const Expr::Node* y = ExprFactory::node(b);
    if (x == y && x) return std::strong_ordering::equal;
    if (!x && !y) return *a.constant() <=> *b.constant();
    if (auto order = rank(a.kind()) <=> rank(b.kind()); order != 0) return order;
    if (auto order = x->name.compare(y->name) <=> 0; order != 0) return order;
    for (size_t i = 0; i < x->operands.size() && i < y->operands.size(); ++i)
        if (auto order = compare(x->operands[i], y->operands[i]); order != 0) return order;
    return x->operands.size() <=> y->operands.size();
}

std::strong_ordering compare_factors(std::span<const Expr> a, std::span<const Expr> b) {
    if (a.empty() || b.empty()) return a.empty() <=> b.empty();
    for (size_t i = 0; i < a.size() && i < b.size(); ++i)
        if (auto order = compare(a[i], b[i]); order != 0) return order;
    return a.size() <=> b.size();
}

int64_t checked_add(int64_t a, int64_t b) {
    int64_t result = 0;
    CODETTA_CHECK(!__builtin_add_overflow(a, b, &result), "{} + {} does not fit 64 bits", a, b);
    return result;
}

int64_t checked_mul(int64_t a, int64_t b) {
    int64_t result = 0;
    CODETTA_CHECK(!__builtin_mul_overflow(a, b, &result), "{} * {} does not fit 64 bits", a, b);
    return result;
}

int64_t floor_div_int(int64_t a, int64_t b) {
    CODETTA_CHECK(b != 0, "{} // 0", a);
    CODETTA_CHECK(a != std::numeric_limits<int64_t>::min() || b != -1, "{} // -1 does not fit 64 bits", a);
    int64_t quotient = a / b;
    return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t mod_int(int64_t a, int64_t b) {
    CODETTA_CHECK(b != 0, "{} % 0", a);
    if (b == -1) return 0;
    int64_t rest = a % b;
    return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

} // namespace codetta::sym
