#include "codetta/problem/interpret.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codetta/base/error.h"
#include "codetta/problem/cost.h"
#include "codetta/problem/test_data.h"

namespace codetta::problem {
namespace {

using scalar::DType;
using scalar::HostArray;

HostArray array(DType t, std::vector<int64_t> extents, std::vector<double> values) {
    HostArray a(t, std::move(extents));
    size_t at = 0;
    scalar::for_each_coordinate(a.extents(), [&](auto c) { a.store(c, {DType::f64, values[at++], 0}); });
    return a;
}

std::vector<double> values(const HostArray& a) {
    std::vector<double> list;
    scalar::for_each_coordinate(a.extents(), [&](auto c) { list.push_back(scalar::as_double(a.load(c))); });
    return list;
}

std::string message_of(auto&& f) {
    try {
        f();
    } catch (const base::Error& e) {
        return e.what();
    }
    return "no error";
}

TEST(Interpret, a_stage_reads_everything_before_it_writes) {
    // A reversal in place.
    Problem p = parse_problem("problem p(i = 4)\n  x: f32[i] in\n  y: f32[i] out aliases x\n  r: f32[i] = x[-i + 3] -> y[i]\n");
    HostArray x = array(DType::f32, {4}, {1, 2, 3, 4});
    std::vector<HostArray> arrays = {x, x};
    interpret(p, arrays, {});
    EXPECT_EQ(values(x), (std::vector<double>{4, 3, 2, 1}));
}

TEST(Interpret, strided_broadcast_and_overlapping_operands) {
    Problem p = parse_problem("problem p(i = 2, j = 3)\n  x: f32[i, j] strides [0, 2] in\n  w: f32[i, j] strides [1, 1] in\n  y: f32[i, j] "
                              "strides [1, 2] out\n  r: f32[i, j] = x[i, j] * w[i, j] -> y[i, j]\n");
    HostArray x = array(DType::f32, {6}, {1, 0, 2, 0, 3, 0}), w = array(DType::f32, {4}, {1, 10, 100, 1000}), y(DType::f32, {6});
    std::vector<HostArray> arrays = {x.view({2, 3}, {0, 2}, 0), w.view({2, 3}, {1, 1}, 0), y.view({2, 3}, {1, 2}, 0)};
    interpret(p, arrays, {});
    EXPECT_EQ(values(y), (std::vector<double>{1, 10, 20, 200, 300, 3000}));
}

TEST(Interpret, each_op_rounds_and_exact_does_not) {
    Problem p = parse_problem("problem p(i = 1, k = 3)\n  x: bf16[i, k] in\n  y: bf16[i] out\n  s: f32[i] = sum(k) f32(x[i, k])\n  r: "
                              "bf16[i] = narrow.bf16(s[i]) / bf16(3.0) -> y[i]\n");
    HostArray x = array(DType::bf16, {1, 3}, {1, 1, 0.0078125}), y(DType::bf16, {1}), wide(DType::f64, {1});
    std::vector<HostArray> arrays = {x, y};
    interpret(p, arrays, {});
    EXPECT_EQ(values(y)[0], 0.66796875);
    arrays[1] = wide;
    interpret(p, arrays, {}, true);
    EXPECT_EQ(values(wide)[0], 2.0078125 / 3);
}

TEST(Interpret, long_sums_do_not_drift) {
    Problem p = parse_problem("problem p(k = 100000)\n  x: f32[k] in\n  y: f32[] out\n  s: f32[] = sum(k) x[k] -> y[]\n");
    HostArray x(DType::f32, {100000}), y(DType::f32, {});
    for (int64_t i = 0; i < 100000; ++i) x.as<float>()[i] = 0.1F;
    std::vector<HostArray> arrays = {x, y};
    interpret(p, arrays, {});
    EXPECT_EQ(values(y)[0], static_cast<float>(100000 * static_cast<double>(0.1F)));
}

TEST(Interpret, accumulation_rounds_in_the_operands_type_in_index_order) {
    Problem p = parse_problem("problem p(j = 3)\n  v: bf16[j] in\n  g: bf16[1] inout\n  a: bf16[j] = v[j] -> += g[0]\n");
    std::vector<HostArray> arrays = {array(DType::bf16, {3}, {256, 1, 1}), array(DType::bf16, {1}, {0})};
    interpret(p, arrays, {});
    EXPECT_EQ(values(arrays[1])[0], 256); // 257 rounds to 256 twice
}

TEST(Interpret, misfits_are_named) {
    Problem p = parse_problem("problem p(i = s0) where s0 >= 0\n  x: f32[i] in\n  y: f32[i] out\n  r: f32[i] = x[i + 1] -> y[i]\n");
    std::vector<HostArray> arrays = {HostArray(DType::f32, {2}), HostArray(DType::f32, {2})};
    EXPECT_NE(message_of([&] { interpret(p, arrays, {{"s0", 3}}); }).find("size 0 of operand 'x' is 3, its array's 2"), std::string::npos);
    EXPECT_NE(
        message_of([&] { interpret(p, arrays, {{"s0", 2}}); }).find("coordinate 0 of operand 'x' of stage 'r' is 2, outside its extent 2"),
        std::string::npos);
    arrays[0] = HostArray(DType::i64, {2});
    EXPECT_NE(message_of([&] { interpret(p, arrays, {{"s0", 2}}); }).find("operand 'x' is f32, its array i64"), std::string::npos);
}

TEST(TestData, indices_lie_in_range_and_sums_stay_small) {
    Problem p = parse_problem(R"(problem p(m = s0, n = 5, k = 1024) where s0 >= 1
  t: f32[7, k] in
  i: i64[m] in
  w: f32[n, k] in
  p: i32[m] in
  out: f32[m, n] out
  z: f32[9, n] out
  acc: f32[m, n] = sum(k) t[checked(i[m], -7, 7) % 7, k] * w[n, k] -> out[m, n]
  y: f32[m, n] = acc[m, n] -> z[p[m], n]
)");
    auto a = test_data(p, {{"s0", 200}}, {.seed = 5}), b = test_data(p, {{"s0", 200}}, {.seed = 5}),
         c = test_data(p, {{"s0", 200}}, {.seed = 6});
    EXPECT_EQ(values(a[0]), values(b[0]));
    EXPECT_NE(values(a[0]), values(c[0]));
    bool negative = false;
    for (double v : values(a[1])) {
        EXPECT_TRUE(v >= -7 && v < 7);
        negative = negative || v < 0;
    }
    EXPECT_TRUE(negative);
    for (double v : values(a[3])) EXPECT_TRUE(v >= 0 && v < 9);
    EXPECT_EQ(values(a[4])[0], 777);
    interpret(p, a, {{"s0", 200}});
    double square = 0;
    for (double v : values(a[4])) square += v * v;
    EXPECT_NEAR(std::sqrt(square / 1000), 1, 0.3);
    auto special = test_data(p, {{"s0", 200}}, {.seed = 5, .special = true});
    size_t nan = 0;
    for (double v : values(special[0])) nan += std::isnan(v);
    EXPECT_GT(nan, 10U);
}

TEST(Cost, counts_work_and_each_element_once) {
    Problem p = parse_problem(R"(problem p(m = s0, n = 8, k = 4) where s0 >= 1
  x: bf16[m, k] in
  w: bf16[n, k] in
  b: f32[n] in
  t: f32[100, n] in
  i: i64[m] in
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: f32[m, n] = acc[m, n] + b[n] + t[i[m], n] -> out[m, n]
)");
    Cost c = cost(p);
    sym::Bindings at = {{"s0", 10}};
    EXPECT_EQ(sym::evaluate(c.flops, at), 10 * 8 * (4 * 2 + 2));
    EXPECT_EQ(sym::evaluate(c.bytes_read, at), 10 * 4 * 2 + 8 * 4 * 2 + 8 * 4 + 10 * 8 * 4 + 10 * 8);
    EXPECT_EQ(sym::evaluate(c.bytes_written, at), 10 * 8 * 4);
}

} // namespace
} // namespace codetta::problem
