#include "codetta/problem/block_range.h"

#include <gtest/gtest.h>

#include <limits>

#include "codetta/problem/interpret.h"
#include "codetta/problem/test_data.h"

namespace codetta::problem {
namespace {

// lo and hi as texts, and the law at every point of a small size.
void expect_range(const std::string& body, const std::string& lo, const std::string& hi) {
    Problem p = parse_problem("problem p(q = s0, k = s1) where s0 >= 1, s1 >= 1\n  x: f32[q, k] in\n  out: f32[q, k] out\n  score: f32[q, "
                              "k] = x[q, k] * 2.0\n  y: f32[q, k] = " +
                              body + " -> out[q, k]\n");
    BlockRange r = block_range(p, StageId(1), AxisId(1));
    EXPECT_EQ(sym::to_string(r.lo), lo) << body;
    EXPECT_EQ(sym::to_string(r.hi), hi) << body;
    sym::Bindings sizes = {{"s0", 5}, {"s1", 7}};
    auto arrays = test_data(p, sizes);
    interpret(p, arrays, sizes);
    scalar::for_each_coordinate(arrays[1].extents(), [&](auto at) {
        sym::Bindings here = sizes;
        here["q"] = at[0];
        bool inside = at[1] >= sym::evaluate(r.lo, here) && at[1] < sym::evaluate(r.hi, here);
        EXPECT_TRUE(inside || arrays[1].load(at).f == -std::numeric_limits<double>::infinity()) << body;
    });
}

TEST(BlockRange, follows_masks_of_indices) {
    expect_range("score[q, k]", "0", "s1");
    expect_range("select(index(k) <= index(q), score[q, k], -inf)", "0", "min(s1, q + 1)");
    expect_range("select(index(q - k) < 0, -inf, score[q, k])", "0", "min(s1, q + 1)");
    expect_range("select(index(k) <= index(q + s1 - s0), score[q, k], -inf)", "0", "q - s0 + s1 + 1");
    expect_range("select((index(k) <= index(q)) & (index(k) > index(q - 3)), score[q, k], -inf)", "max(q - 2, 0)",
                 "min(s1, q + 1)"); // a sliding window
    expect_range("select(~(index(k) > index(q)), score[q, k], -inf)", "0", "min(s1, q + 1)");
    expect_range("select(index(2*k) < index(q), score[q, k], -inf)", "0", "min(s1, (q + 1) // 2)");
    expect_range("x[q, k] if 0 <= q - k else -inf", "0", "min(s1, q + 1)");
    expect_range("select(x[q, k] < 0.0, score[q, k], -inf)", "0", "s1");              // data
    expect_range("score[q, k] + select(index(k) <= index(q), 0.0, -inf)", "0", "s1"); // NaN - inf is NaN
    expect_range("select((index(k) <= index(q)) | (index(k) == 0), score[q, k], -inf)", "0", "s1");
}

} // namespace
} // namespace codetta::problem
