// An Access made ready for fixed sizes: what the interpreter evaluates per element. Inside problem/.
#pragma once

#include "codetta/problem/problem.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/program.h"

namespace codetta::problem {

// Values at one point of a loop nest, in one frame of integers: first the index of every axis of the problem, then `$0`, `$1` ...
class IndexFrame {
public:
    IndexFrame(const Problem& p, size_t reads);
    const std::vector<std::string>& names() const { return names_; }
    std::vector<int64_t> values;
    size_t read_slot(size_t read) const { return axes_ + read; }

private:
    size_t axes_;
    std::vector<std::string> names_;
};

// An expression over the frame, as a sum of products where that is enough.
class IndexProgram {
public:
    IndexProgram(const sym::Expr& e, const IndexFrame& frame, const sym::Bindings& sizes);
    int64_t evaluate(const std::vector<int64_t>& values);
    // Least and greatest value over the box 0 <= axis < extents; nullopt when not affine or when it speaks of data.
    std::optional<std::pair<int64_t, int64_t>> range(const std::vector<int64_t>& extents) const;
    bool affine() const { return !general_; }
    int64_t constant() const { return constant_; }
    const std::vector<std::pair<size_t, int64_t>>& terms() const { return terms_; } // slot, factor

private:
    int64_t constant_ = 0;
    std::vector<std::pair<size_t, int64_t>> terms_;
    std::optional<sym::FlatProgram> general_;
    std::vector<int64_t> scratch_;
};

// Where an access of an array with these extents and strides lies.
class AccessProgram {
public:
    // `extents`: of all axes of the problem under `sizes`; `what`: for messages.
    AccessProgram(const Access& a, const IndexFrame& frame, const sym::Bindings& sizes, const std::vector<int64_t>& axis_extents,
                  std::vector<int64_t> extents, std::vector<int64_t> strides, std::string what);
    // The offset in elements; nullopt outside the guard. IndexError when a check fails; InternalError when a coordinate leaves the array
    // otherwise.
    std::optional<int64_t> offset(const std::vector<int64_t>& values);

private:
    struct GuardProgram {
        sym::Relation relation;
        IndexProgram lhs, rhs;
    };
    struct CheckProgram {
        IndexProgram index, lo, hi;
    };
    std::vector<IndexProgram> coordinates_;
    std::vector<GuardProgram> guard_;
    std::vector<CheckProgram> checks_;
    std::vector<int64_t> extents_, strides_;
    std::string what_;
    bool direct_ = false; // no guard, no check, affine and proven to stay inside: base_ and terms_ say all
    int64_t base_ = 0;
    std::vector<std::pair<size_t, int64_t>> terms_;
};

} // namespace codetta::problem
