// IntTuple: an integer expression or a tuple of IntTuples. Shapes, strides and coordinates of layouts are IntTuples.
#pragma once

#include "codetta/sym/facts.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace codetta::layout {

// (4,(2,m)) has rank 2, depth 2 and the leaves 4, 2, m. A tuple of one, (4), is not the leaf 4.
class IntTuple {
public:
    IntTuple(sym::Expr leaf = 0) : leaf_(std::move(leaf)) {} // NOLINT: an expression is a tuple's leaf
    IntTuple(int leaf) : leaf_(leaf) {}                      // NOLINT
    IntTuple(int64_t leaf) : leaf_(leaf) {}                  // NOLINT
    explicit IntTuple(std::vector<IntTuple> elements) : elements_(std::move(elements)), tuple_(true) {}
    IntTuple(std::initializer_list<IntTuple> elements) : elements_(elements), tuple_(true) {}

    bool is_leaf() const { return !tuple_; }
    const sym::Expr& leaf() const { return leaf_; }
    const std::vector<IntTuple>& elements() const { return elements_; } // of a tuple
    size_t rank() const { return tuple_ ? elements_.size() : 1; }
    IntTuple mode(size_t i) const { return tuple_ ? elements_[i] : *this; }
    friend bool operator==(const IntTuple&, const IntTuple&) = default;

private:
    sym::Expr leaf_ = 0;
    std::vector<IntTuple> elements_;
    bool tuple_ = false;
};

size_t depth(const IntTuple& t);                  // 0 for a leaf
sym::Expr size(const IntTuple& t);                // the product of the leaves
std::vector<sym::Expr> leaves(const IntTuple& t); // left to right
// @post flatten(t) is a leaf or a tuple of leaves; leaves(flatten(t)) == leaves(t)
IntTuple flatten(const IntTuple& t);
// The leaf itself for one element, else the tuple.
IntTuple make_tuple(std::vector<IntTuple> elements);
// The nesting of `profile` with these leaves, left to right.
// @pre leaves.size() == leaves(profile).size()
IntTuple unflatten(const IntTuple& profile, std::span<const sym::Expr> leaves);

// Same nesting.
bool congruent(const IntTuple& a, const IntTuple& b);
// Every coordinate of a is a coordinate of b: b refines the leaves of a, each leaf of a being the size of its part of b.
bool compatible(const IntTuple& a, const IntTuple& b);
// @pre congruent(a, b)
sym::Expr inner_product(const IntTuple& a, const IntTuple& b);

// @post parse_int_tuple(to_string(t)) == t
std::string to_string(const IntTuple& t); // `(4,(2,m))`
IntTuple parse_int_tuple(std::string_view text);
IntTuple parse_int_tuple_prefix(std::string_view text, size_t& position); // as sym::parse_expr_prefix

} // namespace codetta::layout
