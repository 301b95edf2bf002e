// CuTe's layout: a function from coordinates to offsets, given by a nested shape and a congruent nested stride (in elements).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codetta/sym/expr.h"

namespace codetta::layout {

// An integer expression or a tuple of IntTuples.
class IntTuple {
 public:
  IntTuple(sym::Expr leaf = 0) : leaf_(std::move(leaf)) {}  // NOLINT
  IntTuple(int leaf) : leaf_(leaf) {}                       // NOLINT
  IntTuple(int64_t leaf) : leaf_(leaf) {}                   // NOLINT
  explicit IntTuple(std::vector<IntTuple> elements) : elements_(std::move(elements)), tuple_(true) {}
  IntTuple(std::initializer_list<IntTuple> elements) : elements_(elements), tuple_(true) {}
  bool is_leaf() const { return !tuple_; }
  const sym::Expr& leaf() const { return leaf_; }
  const std::vector<IntTuple>& elements() const { return elements_; }  // of a tuple
  size_t rank() const { return tuple_ ? elements_.size() : 1; }
  IntTuple mode(size_t i) const { return tuple_ ? elements_[i] : *this; }
  friend bool operator==(const IntTuple&, const IntTuple&) = default;

 private:
  sym::Expr leaf_ = 0;
  std::vector<IntTuple> elements_;
  bool tuple_ = false;
};

// Coordinates run colexicographically inside a mode (the first sub-mode fastest), as in CuTe.
// @post for a natural coordinate c: layout(c) == sum over leaves of c_leaf * stride_leaf
struct Layout {
  IntTuple shape, stride;
  size_t rank() const { return shape.rank(); }
  Layout mode(size_t i) const { return {shape.mode(i), stride.mode(i)}; }
  friend bool operator==(const Layout&, const Layout&) = default;
};

}  // namespace codetta::layout
