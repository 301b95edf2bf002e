// The C++ user's API: values against plain loops, errors word for word.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "codetta/codetta.h"
#include "codetta/frontends/tensor/traced_node.h"
#include "codetta/graph/graph.h"

namespace codetta {
namespace {

using namespace codetta::tensor;

template <class Error, class Action>
std::string message(Action action) {
    try {
        action();
    } catch (const Error& e) {
        return e.what();
    }
    return "no error";
}

std::vector<float> ramp(size_t n, float step = 0.25f) {
    std::vector<float> v(n);
    for (size_t i = 0; i < n; ++i) v[i] = step * static_cast<float>(static_cast<int>(i % 13) - 6);
    return v;
}

TEST(Tensor, MatmulWithEpilogueOverDynamicRows) {
    const std::vector<float> weights = ramp(6 * 4), bias = ramp(4);
    Tensor x = input("x", {dim("rows"), 6});
    Tensor y = relu(matmul(x, parameter("w", {weights, {6, 4}})) * 0.5 + parameter("b", {bias, {4}})) - 1;
    const Compiled f = compile({x}, {y});
    for (const int64_t rows : {0, 1, 7, 33}) {
        const std::vector<float> data = ramp(static_cast<size_t>(rows * 6), 0.5f);
        const Array got = f({{data, {rows, 6}}})[0];
        ASSERT_EQ(got.shape(), (std::vector<int64_t>{rows, 4}));
        for (int64_t m = 0; m < rows; ++m)
            for (int64_t n = 0; n < 4; ++n) {
                double sum = 0;
                for (int64_t k = 0; k < 6; ++k) sum += data[static_cast<size_t>(m * 6 + k)] * weights[static_cast<size_t>(k * 4 + n)];
                EXPECT_NEAR(got.as<float>()[static_cast<size_t>(m * 4 + n)], std::max(0.0, sum * 0.5 + bias[static_cast<size_t>(n)]) - 1,
                            1e-5);
            }
    }
}

TEST(Tensor, WeightsAreReadAtEachCallUnlessFrozen) {
    std::vector<float> weights = {1, 2, 3, 4, 5, 6, 7, 8}, data = {1, 1};
    Tensor x = input("x", {1, 2});
    Compiled live = compile({x}, {linear(x, parameter("w", {weights, {4, 2}}))});
    Compiled frozen = compile({x}, {linear(x, parameter("w", {weights, {4, 2}}, true))});
    const auto first = [&](const Compiled& f) { return f({{data, {1, 2}}})[0].as<float>()[0]; };
    EXPECT_EQ(first(live), 3);
    EXPECT_EQ(first(frozen), 3);
    weights[0] = 10;
    EXPECT_EQ(first(live), 12);
    frozen.refresh();
    EXPECT_EQ(first(frozen), 12);
}

TEST(Tensor, WritesWhereTheCallerSays) {
    std::vector<float> data = {1, 2, 3, 4, 5, 6}, out(6), wide(12, -1);
    Tensor x = input("x", {2, 3});
    const Compiled f = compile({x}, {x * 2.0, sum(x, {1})});
    std::vector<float> sums(2);
    f({{data, {2, 3}}}, {{out, {2, 3}}, {sums, {2}}});
    EXPECT_EQ(out, (std::vector<float>{2, 4, 6, 8, 10, 12}));
    EXPECT_EQ(sums, (std::vector<float>{6, 15}));
    f({{data, {2, 3}}}, {{wide.data(), {2, 3}, {6, 2}}, {sums, {2}}}); // every other element
    EXPECT_EQ(wide, (std::vector<float>{2, -1, 4, -1, 6, -1, 8, -1, 10, -1, 12, -1}));
}

TEST(Tensor, OutputsMayBeInputsOrTheSameValueTwice) {
    std::vector<float> data = {1, -2};
    Tensor x = input("x", {2}), y = abs(x);
    const std::vector<Array> r = compile({x}, {y, x, y})({{data, {2}}});
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(r[i].as<float>()[1], i == 1 ? -2 : 2);
    EXPECT_NE(r[1].data(), data.data()); // results are the caller's own
}

TEST(Tensor, AnInputMayHaveOtherStrides) {
    std::vector<float> data = {1, 2, 3, 4, 5, 6};
    Tensor x = input("x", {3, 2}, f32, {1, 3});
    const Array y = compile({x}, {x + 0.0})({{data.data(), {3, 2}, {1, 3}}})[0];
    const std::vector<float> wanted = {1, 4, 2, 5, 3, 6};
    EXPECT_EQ(std::memcmp(y.data(), wanted.data(), sizeof(float) * 6), 0);
}

TEST(Tensor, EmbeddingNormAndAttention) {
    const std::vector<float> table = ramp(5 * 8), gain = ramp(8);
    const std::vector<int64_t> ids = {0, 3, 4};
    Tensor i = input("ids", {dim("length")}, i64);
    Tensor h = layer_norm(embedding(parameter("table", {table, {5, 8}}), i), {8}, parameter("gain", {gain, {8}}));
    Tensor heads = transpose(reshape(h, {h.size(0), 2, 4}), 0, 1);
    Tensor y = attention(heads, heads, heads, {.causal = true});
    const Array a = compile({i}, {y})({{ids, {3}}})[0], b = compile({i}, {y}, {{"interpreter", "true"}})({{ids, {3}}})[0];
    ASSERT_EQ(a.shape(), (std::vector<int64_t>{2, 3, 4}));
    for (size_t e = 0; e < 24; ++e) EXPECT_NEAR(a.as<float>()[e], b.as<float>()[e], 1e-5);
    // The first row of a causal attention is the first value itself.
    const Array first = compile({i}, {h})({{ids, {3}}})[0];
    for (size_t e = 0; e < 4; ++e) EXPECT_NEAR(a.as<float>()[e], first.as<float>()[e], 1e-5);
}

TEST(Tensor, EveryFunctionRecordsItsOp) {
    Dim n = dim("n").at_least(2).multiple_of(2);
    Tensor x = input("x", {n, 4}), m = input("m", {n, 4}, boolean);
    Tensor both = cat({x, pad(slice(x, 1, 0, 3), {0, 1})}, 0);
    const graph::Graph g = trace({x, m}, {where(logical_not(cat({m, m}, 0)), both, full({2 * n, 4}, 1.5)) / 2.0, argmax(x, 1)}, "all");
    std::string text = graph::to_string(g);
    for (size_t at; (at = text.find("  # ")) != std::string::npos;) text.erase(at, text.find('\n', at) - at);
    EXPECT_EQ(text, R"(graph all(%x: f32[n, 4], %m: bool[n, 4]) where n >= 2, n % 2 == 0 {
  %0: bool[2*n, 4] = cat(%m, %m, dim=0)
  %1: bool[2*n, 4] = logical_not(%0)
  %2: f32[n, 3] = slice(%x, dim=1, end=3, start=0, step=1)
  %3: f32[n, 4] = constant_pad(%2, pads=[0, 1], value=0.0)
  %4: f32[2*n, 4] = cat(%x, %3, dim=0)
  %5: f32[2*n, 4] = full(dtype=f32, shape=[2*n, 4], value=1.5)
  %6: f32[2*n, 4] = where(%1, %4, %5)
  %7: f32[2*n, 4] = div(%6, scalar=2.0)
  %8: i64[n] = argmax(%x, dim=1, keepdim=false)
  return %7, %8
}
)");
}

// Compiled against interpreted, for all functions at once and two numbers of rows.
TEST(Tensor, EveryFunctionComputesWhatItSays) {
    Tensor x = input("x", {dim("n").at_least(1), 4}), i = input("i", {dim("n").at_least(1), 4}, i64);
    Tensor p = abs(x) + 0.5, r = p / 4.0; // positive; in (0, 1)
    Tensor row = select(x, 1, 2), cube = unsqueeze(x, 1), table = exp(arange(5, f32) / 8);
    std::vector<Tensor> y = {x + x,
                             1.0 - x,
                             x * p,
                             x / p,
                             -x,
                             pow(p, 2.5),
                             minimum(x, p),
                             maximum(x, 0.25),
                             remainder(x, 0.75),
                             floor_divide(x, p),
                             clamp(x, -0.5, 0.5),
                             clamp(x, std::nullopt, 0.0),
                             equal(i, 1),
                             not_equal(i, 2),
                             less(x, p),
                             less_equal(x, 0),
                             greater(x, r),
                             greater_equal(i, i),
                             logical_and(less(x, 0), equal(i, 1)),
                             logical_or(isnan(x), greater(x, 0)),
                             where(less(x, 0), p, x),
                             exp(r),
                             log(p),
                             sqrt(p),
                             rsqrt(p),
                             reciprocal(p),
                             square(x),
                             sin(x),
                             cos(x),
                             tanh(x),
                             erf(x),
                             floor(x),
                             ceil(x),
                             round(x),
                             cast(x, bf16),
                             cast(i, f32),
                             gelu(x),
                             gelu(x, "tanh"),
                             silu(x),
                             sigmoid(x),
                             softplus(x),
                             reshape(x, {-1}),
                             permute(x, {1, 0}),
                             transpose(cube, 0, -1),
                             expand(cube, {x.size(0), 3, 4}),
                             squeeze(cube),
                             slice(x, 1, 1, 4, 2),
                             stack({x, p}, 1),
                             flip(x, {1}),
                             sum(x),
                             sum(x, {0}, true),
                             mean(x, {1}),
                             amax(x, {1}),
                             amin(x),
                             argmax(x, -1),
                             var(x, {1}),
                             cumsum(x, 0),
                             softmax(x),
                             log_softmax(x, 1),
                             rms_norm(x, {4}),
                             layer_norm(x, {4}),
                             gather(x, remainder(i, 4), 1),
                             index_select(table, select(i, 1, 0), 0),
                             embedding(unsqueeze(table, 1), i),
                             row * 2,
                             matmul(x, permute(p, {1, 0})),
                             linear(x, constant({std::vector<float>{1, 2, 3, 4}, {1, 4}}))};
    for (const Tensor& part : split(x, {1, 3}, 1)) y.push_back(part);
    const Compiled f = compile({x, i}, y), judge = compile({x, i}, y, {{"interpreter", "true"}});
    for (const int64_t n : {1, 6}) {
        const std::vector<float> data = ramp(static_cast<size_t>(n * 4), 0.3f);
        std::vector<int64_t> indices(static_cast<size_t>(n * 4));
        for (size_t e = 0; e < indices.size(); ++e) indices[e] = static_cast<int64_t>(e * 7 % 5);
        const std::vector<Buffer> inputs = {{data, {n, 4}}, {indices, {n, 4}}};
        const std::vector<Array> got = f(inputs), wanted = judge(inputs);
        ASSERT_EQ(got.size(), y.size());
        for (size_t o = 0; o < y.size(); ++o) {
            SCOPED_TRACE(y[o].node()->op + " is output " + std::to_string(o));
            ASSERT_EQ(got[o].shape(), wanted[o].shape());
            if (got[o].dtype() == f32) {
                for (size_t e = 0; e < got[o].as<float>().size(); ++e)
                    EXPECT_NEAR(got[o].as<float>()[e], wanted[o].as<float>()[e], 2e-6 * (1 + std::fabs(wanted[o].as<float>()[e])));
            } else {
                EXPECT_EQ(std::memcmp(got[o].data(), wanted[o].data(), static_cast<size_t>(got[o].size() * scalar::bytes(got[o].dtype()))),
                          0);
            }
        }
    }
}

TEST(Tensor, BuiltWithoutTensorsOfOtherKinds) {
    std::vector<float> data = {3, 4};
    Tensor x = input("x", {2});
    EXPECT_EQ(compile({x}, {x + constant({data, {2}})})({{data, {2}}})[0].as<float>()[1], 8);
    EXPECT_EQ(compile({x}, {cast(arange(2), f32) * x})({{data, {2}}})[0].as<float>()[1], 4);
}

TEST(TensorErrors, NameTheOpAndTheLine) {
    Tensor x = input("x", {dim("rows"), 6}), w = input("w", {5, 4});
    const int line = __LINE__ + 1;
    EXPECT_EQ(message<UserError>([&] { matmul(x, w); }),
              "op 'matmul' at tensor_test.cpp:" + std::to_string(line) + ": inner sizes differ: 6 against 5");
    const int sum_line = __LINE__ + 1;
    EXPECT_EQ(message<UserError>([&] { x + cast(x, bf16); }),
              "op 'add' at tensor_test.cpp:" + std::to_string(sum_line) + ": operands are f32 and bf16; cast one of them first");
    const int gelu_line = __LINE__ + 1;
    EXPECT_EQ(message<UserError>([&] { gelu(x, "tan"); }),
              "op 'gelu' at tensor_test.cpp:" + std::to_string(gelu_line) + ": approximate is \"tan\"; it must be \"none\" or \"tanh\"");
    EXPECT_EQ(message<UserError>([] { dim("r1"); }), "a size can't be called 'r1': the compiler names its loops so");
    EXPECT_EQ(message<UserError>([] { input("2x", {1}); }), "'2x' is no name for a tensor; use letters, digits and '_'");
    const int dim_line = __LINE__ + 1;
    EXPECT_EQ(message<UserError>([&] { x + input("y", {dim("rows").at_least(3), 6}); }),
              "op 'add' at tensor_test.cpp:" + std::to_string(dim_line) +
                  ": size 'rows' is described in two ways: rows >= 0 and rows >= 3");
}

TEST(TensorErrors, OfCompile) {
    Tensor x = input("x", {2}), y = input("y", {2});
    EXPECT_EQ(message<UserError>([&] { compile({x}, {x + y}); }), "input 'y' is needed, but it is not in the list of inputs");
    EXPECT_EQ(message<UserError>([&] { compile({x, x}, {x + x}); }), "input 'x' is listed twice");
    EXPECT_EQ(message<UserError>([&] { compile({x, input("x", {2})}, {x}); }), "two tensors are called 'x'");
    EXPECT_EQ(message<UserError>([&] { compile({x}, {}); }), "a program without outputs computes nothing");
    EXPECT_EQ(message<UserError>([&] { compile({x}, {x}, {{"freze", "true"}}); }), "unknown option 'freze'; did you mean 'freeze'?");
    EXPECT_EQ(message<UserError>([&] { compile({x}, {x}, {{"target", "x86_avx"}}); }),
              "option 'target': unknown value 'x86_avx'; did you mean 'x86_avx2'?");
}

TEST(TensorErrors, OfACallLeaveTheFunctionUsable) {
    std::vector<float> data(12, 1), out(8);
    std::vector<double> doubles(12);
    Tensor x = input("x", {dim("rows").at_least(2), 4});
    const Compiled f = compile({x}, {x + 1.0});
    EXPECT_EQ(message<UserError>([&] { f({}); }), "'program' takes 1 inputs, got 0");
    EXPECT_EQ(message<UserError>([&] { f({{doubles, {3, 4}}}); }),
              "argument 0 ('x'): has dtype f64 where f32 is expected; convert it, or compile again for this dtype");
    EXPECT_EQ(message<UserError>([&] { f({{data, {4, 3}}}); }), "argument 0 ('x'): has shape [4, 3] where [rows, 4] = [4, 4] is expected");
    EXPECT_EQ(message<UserError>([&] { f({{data.data(), {1, 4}}}); }), "'program' needs 2 <= rows, but rows = 1 (dimension 0 of 'x')");
    EXPECT_EQ(message<UserError>([&] { f({{data.data(), {2, 4}, {1, 2}}}); }),
              "argument 0 ('x'): has strides [1, 2] where [4, 1] are expected; copy it into an array with these strides");
    EXPECT_EQ(message<UserError>([&] { f({{data, {3, 4}}}, {{out, {2, 4}}}); }), "output 0 has shape [2, 4] where [3, 4] is computed");
    EXPECT_EQ(message<UserError>([&] { f({{data.data(), {2, 4}}}, {{data.data() + 4, {2, 4}}}); }),
              "output 0 overlaps argument 0; give it memory of its own");
    EXPECT_EQ(message<UserError>([&] { f({{data.data(), {2, 4}}}, {{static_cast<const float*>(out.data()), {2, 4}}}); }),
              "output 0 can't be written: its pointer is const");
    EXPECT_EQ(message<UserError>([&] { Buffer(data, {5, 5}); }), "a vector of 12 elements can't have shape [5, 5]");
    EXPECT_EQ(message<UserError>([&] { f({{data, {3, 4}}})[0].as<double>(); }), "the array holds f32, not f64");
    EXPECT_EQ(f({{data, {3, 4}}})[0].as<float>()[11], 2);
}

TEST(TensorErrors, NoMemoryIsAnErrorAndNotTheEnd) {
    Tensor x = input("x", {dim("rows"), 0});
    const Compiled f = compile({x}, {full({x.size(0), 1 << 20}, 1.0)});
    EXPECT_EQ(message<UserError>([&] { f({{static_cast<float*>(nullptr), {1 << 24, 0}}}); }),
              "no memory: cannot get 70368744177664 bytes for a result; use smaller inputs or a machine with more memory");
    EXPECT_EQ(f({{static_cast<float*>(nullptr), {1, 0}}})[0].as<float>()[9], 1);
}

TEST(TensorErrors, AnIndexOutOfRangeIsAnIndexError) {
    std::vector<float> table = ramp(10);
    std::vector<int64_t> bad = {1, 7}, good = {1, 3};
    Tensor i = input("ids", {2}, i64);
    const int line = __LINE__ + 1;
    const Compiled f = compile({i}, {embedding(parameter("table", {table, {5, 2}}), i)});
    EXPECT_EQ(message<IndexError>([&] { f({{bad, {2}}}); }),
              "op 'embedding' at tensor_test.cpp:" + std::to_string(line) + ": index out of range [0, 5) of weight");
    EXPECT_EQ(f({{good, {2}}})[0].as<float>()[2], table[6]);
}

} // namespace
} // namespace codetta
