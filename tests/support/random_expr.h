// Random expressions for the tests of this room: a tree whose value is computed on its own, and the Expr built from it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "codetta/sym/expr.h"

namespace codetta::sym::testing {

struct Tree {
    Kind kind = Kind::constant;
    int64_t value = 0;
    std::string name;
    std::vector<Tree> operands;
};

struct TreeOptions {
    std::vector<std::string> symbols = {"a", "b", "s", "t"};
    int64_t largest_literal = 12;
    int depth = 4;
    bool positive_divisors = false; // divisors are positive literals or symbols
};

inline Tree random_tree(std::mt19937& random, const TreeOptions& options, int depth) {
    auto pick = [&](int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random); };
    auto symbol = [&] {
        return Tree{Kind::symbol, 0, options.symbols[static_cast<size_t>(pick(0, static_cast<int64_t>(options.symbols.size()) - 1))], {}};
    };
    int64_t choice = depth == 0 ? pick(0, 2) : pick(0, 11);
    if (choice <= 1) return symbol();
    if (choice == 2) return {Kind::constant, pick(-options.largest_literal, options.largest_literal), {}, {}};
    Kind kind = std::vector<Kind>{Kind::add,       Kind::add, Kind::mul, Kind::mul, Kind::floor_div,
                                  Kind::floor_div, Kind::mod, Kind::mod, Kind::min}[static_cast<size_t>(choice - 3)];
    if (kind == Kind::min && pick(0, 1) == 1) kind = Kind::max;
    Tree tree{kind, 0, {}, {random_tree(random, options, depth - 1)}};
    bool divides = kind == Kind::floor_div || kind == Kind::mod;
    if (divides && (options.positive_divisors || pick(0, 1) == 0))
        tree.operands.push_back(pick(0, 2) == 0 ? symbol() : Tree{Kind::constant, pick(1, options.largest_literal), {}, {}});
    else
        tree.operands.push_back(random_tree(random, options, depth - 1));
    return tree;
}

inline Expr build(const Tree& tree) {
    if (tree.kind == Kind::constant) return tree.value;
    if (tree.kind == Kind::symbol) return Expr::symbol(tree.name);
    Expr a = build(tree.operands[0]), b = build(tree.operands[1]);
    switch (tree.kind) {
    case Kind::add: return a + b;
    case Kind::mul: return a * b;
    case Kind::floor_div: return floor_div(a, b);
    case Kind::mod: return mod(a, b);
    case Kind::min: return min(a, b);
    default: return max(a, b);
    }
}

// The value by Python's rules; nullopt on a division by zero.
inline std::optional<int64_t> value_of(const Tree& tree, const Bindings& values) {
    if (tree.kind == Kind::constant) return tree.value;
    if (tree.kind == Kind::symbol) return values.find(tree.name)->second;
    auto a = value_of(tree.operands[0], values), b = value_of(tree.operands[1], values);
    if (!a || !b) return std::nullopt;
    switch (tree.kind) {
    case Kind::add: return *a + *b;
    case Kind::mul: return *a * *b;
    case Kind::min: return std::min(*a, *b);
    case Kind::max: return std::max(*a, *b);
    default: break;
    }
    if (*b == 0) return std::nullopt;
    int64_t quotient = *a / *b;
    if (quotient * *b != *a && ((*a < 0) != (*b < 0))) --quotient;
    return tree.kind == Kind::mod ? *a - quotient * *b : quotient;
}

// The Expr of a random tree, or nullopt when it divides by a literal zero.
inline std::optional<std::pair<Tree, Expr>> random_expr(std::mt19937& random, const TreeOptions& options = {}) {
    Tree tree = random_tree(random, options, options.depth);
    try {
        return std::pair(tree, build(tree));
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

} // namespace codetta::sym::testing
