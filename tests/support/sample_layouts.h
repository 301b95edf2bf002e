// Layouts that the tests of this room try each law on, and their values by a loop of their own.
#pragma once

#include "codetta/base/error.h"
#include "codetta/layout/layout.h"

#include <ostream>
#include <random>
#include <set>

namespace codetta::layout {

inline void PrintTo(const Layout& l, std::ostream* out) { *out << to_string(l); } // for GoogleTest
inline void PrintTo(const IntTuple& t, std::ostream* out) { *out << to_string(t); }

} // namespace codetta::layout

namespace codetta::layout::testing {

inline std::vector<Layout> static_layouts() {
    std::vector<Layout> out;
    for (const char* text : {"1:0",
                             "1:1",
                             "4:1",
                             "4:2",
                             "4:0",
                             "(4):(1)",
                             "(2,4):(1,2)",
                             "(2,4):(4,1)",
                             "(2,4):(1,4)",
                             "(4,8):(8,1)",
                             "(8,8):(1,8)",
                             "(2,1,3):(2,5,4)",
                             "(1,1):(7,9)",
                             "((2,2),(2,2)):((1,4),(2,8))",
                             "((2,2),(2,2)):((8,2),(4,1))",
                             "(4,(2,3)):(6,(3,1))",
                             "((4,2),3):((3,12),1)",
                             "(2,(3,(2,2))):(12,(4,(2,1)))",
                             "(6,(16,4)):(64,(1,16))",
                             "((2,3),4):((0,1),3)",
                             "(8,(2,2)):(2,(1,32))",
                             "(4,4,4):(1,16,4)",
                             "(3,5):(5,1)",
                             "(4,6):(0,1)",
                             "((8,4),(2,2)):((2,64),(1,16))",
                             "(2,2,2,2):(8,4,2,1)"})
        out.push_back(parse_layout(text));
    return out;
}

// Symbolic layouts in the sizes s, t and the stride ld; every value of `bindings` fits them.
inline std::vector<Layout> symbolic_layouts() {
    std::vector<Layout> out;
    for (const char* text : {"s:1", "(s,t):(t,1)", "(s,t):(1,s)", "(s,(16,t)):(16*t,(t,1))", "((4,s),t):((1,4*t),4)", "(s,8):(ld,1)",
                             "(8,s):(1,ld)", "(s,t):(0,1)", "((s,2),(t,4)):((1,s),(2*s,2*s*t))"})
        out.push_back(parse_layout(text));
    return out;
}

inline std::vector<sym::Bindings> bindings() {
    return {{{"s", 1}, {"t", 1}, {"ld", 9}},
            {{"s", 2}, {"t", 3}, {"ld", 8}},
            {{"s", 5}, {"t", 4}, {"ld", 11}},
            {{"s", 4}, {"t", 2}, {"ld", 16}}};
}

inline Layout bind(const Layout& l, const sym::Bindings& values) {
    auto apply = [&](const IntTuple& t) {
        std::vector<sym::Expr> out;
        for (const sym::Expr& leaf : leaves(t)) out.emplace_back(sym::evaluate(leaf, values));
        return unflatten(t, out);
    };
    return {apply(l.shape), apply(l.stride)};
}

inline int64_t number(const sym::Expr& e) { return *e.constant(); }

// The offset of index i by counting digits; no call into the room but leaves().
inline int64_t offset(const Layout& l, int64_t i) {
    std::vector<Leaf> parts = leaves(l);
    int64_t result = 0;
    for (size_t k = 0; k < parts.size(); ++k) {
        bool last = k + 1 == parts.size();
        int64_t extent = number(parts[k].extent);
        result += (last ? i : i % extent) * number(parts[k].stride);
        if (!last) i /= extent;
    }
    return result;
}

inline int64_t count(const Layout& l) { return number(size(l)); }

inline std::vector<int64_t> offsets(const Layout& l) {
    std::vector<int64_t> out;
    for (int64_t i = 0; i < count(l); ++i) out.push_back(offset(l, i));
    return out;
}

inline bool injective(const Layout& l) {
    std::vector<int64_t> all = offsets(l);
    return std::set<int64_t>(all.begin(), all.end()).size() == all.size();
}

inline Layout random_layout(std::mt19937& random, int64_t largest_size) {
    auto pick = [&](int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random); };
    std::vector<IntTuple> shape, stride;
    int64_t total = 1;
    for (int64_t mode = pick(1, 3); mode > 0; --mode) {
        std::vector<IntTuple> extents, strides;
        for (int64_t leaf = pick(1, 2); leaf > 0; --leaf) {
            int64_t extent = pick(1, 6);
            if (total * extent > largest_size) extent = 1;
            total *= extent;
            extents.emplace_back(extent);
            strides.emplace_back(pick(0, 5) == 0 ? pick(0, 40) : int64_t{1} << pick(0, 5));
        }
        shape.push_back(make_tuple(extents));
        stride.push_back(make_tuple(strides));
    }
    return {make_tuple(shape), make_tuple(stride)};
}

template <class Action>
std::string user_error(Action action) {
    try {
        action();
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "no error";
}

} // namespace codetta::layout::testing
