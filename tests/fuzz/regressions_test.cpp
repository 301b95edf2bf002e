// What random graphs found, each with the right values.
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "codetta/ops/list.h"
#include "tests/support/run_graph.h"

namespace codetta::test {
namespace {

using scalar::DType;
using scalar::HostArray;

// Floats of the first output, on every target; they must be the same on all.
std::vector<double> run(const std::string& text, const std::vector<HostArray>& inputs, const std::vector<int64_t>& sizes = {}) {
    std::vector<double> first;
    for (const base::Target& target : runnable_targets()) {
        const runtime::Executable executable = compile::compile(graph::parse_graph(text), target, {});
        HostOutputs memory;
        const HostArray out = call(executable, inputs, sizes, memory)[0];
        std::vector<double> values;
        scalar::for_each_coordinate(out.extents(), [&](std::span<const int64_t> at) { values.push_back(scalar::as_double(out.load(at))); });
        if (!first.empty()) {
            EXPECT_EQ(values, first) << target.name;
        }
        first = values;
    }
    return first;
}

HostArray floats(std::vector<int64_t> extents, const std::vector<float>& values) {
    HostArray a(DType::f32, std::move(extents));
    std::copy(values.begin(), values.end(), a.as<float>());
    return a;
}

HostArray integers(const std::vector<int64_t>& values) {
    HostArray a(DType::i64, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), a.as<int64_t>());
    return a;
}

TEST(FoundByRandomGraphs, IndexThatOnlyACheckSpeaksOf) {
    const std::string text = "graph g(%x: f32[1], %i: i64[3]) {\n  %0: f32[2, 5] = expand(%x, shape=[2, 5])\n"
                             "  %1: f32[2, 3] = index_select(%0, %i, dim=1)\n  return %1\n}\n";
    EXPECT_EQ(run(text, {floats({1}, {7}), integers({4, 0, 2})}), std::vector<double>(6, 7));
    for (const int64_t wrong : {5, -6}) EXPECT_THROW(run(text, {floats({1}, {7}), integers({0, 1, wrong})}), base::IndexError) << wrong;
}

TEST(FoundByRandomGraphs, StrideOfSingleElementsUnderALimit) {
    // Products of a whole matrix with strided columns: every size has a tail.
    const std::string text = "graph g(%x: f32[1, 1, s0], %y: f32[1, s0, s1] strides [2*s0*s1, 2*s1, 2]) where s0 >= 1, s1 >= 1 {\n"
                             "  %0: f32[1, 1, s1] = bmm(%x, %y)\n  return %0\n}\n";
    std::vector<float> y(12);
    for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i);
    const HostArray strided = floats({12}, y).view({1, 2, 3}, {12, 6, 2}, 0);
    EXPECT_EQ(run(text, {floats({1, 1, 2}, {1, 10}), strided}), (std::vector<double>{60, 82, 104}));
}

TEST(FoundByRandomGraphs, GuardOfAStageInRegisters) {
    const std::string text =
        "graph g(%x: f32[4]) {\n  %0: f32[1] = sum(%x, dims=[0], keepdim=true)\n  %1: f32[3, 4] = expand(%0, shape=[3, 4])\n"
        "  %2: f32[3, 4] = tril(%1)\n  return %2\n}\n";
    EXPECT_EQ(run(text, {floats({4}, {1, 2, 3, 4})}), (std::vector<double>{10, 0, 0, 0, 10, 10, 0, 0, 10, 10, 10, 0}));
}

// What the interpreter and every target say, as one text: "index: ..." or "user: ..."; they must agree on the kind.
std::string refusal(const std::string& text, const std::vector<HostArray>& inputs, const std::vector<int64_t>& sizes = {}) {
    const auto kind = [](const std::function<void()>& f) -> std::string {
        try {
            f();
        } catch (const base::IndexError&) {
            return "index";
        } catch (const base::UserError&) {
            return "user";
        }
        return "none";
    };
    const std::string expected = kind([&] { graph::interpret(graph::parse_graph(text), ops::list(), inputs, sizes, true); });
    EXPECT_EQ(kind([&] { run(text, inputs, sizes); }), expected) << text;
    return expected;
}

TEST(FoundByRandomGraphs, ConstantIndexIntoASymbolicSize) {
    const std::string at4 = "graph g(%x: f32[s0]) where s0 >= 1 {\n  %0: f32[] = select(%x, dim=0, index=4)\n  return %0\n}\n";
    EXPECT_EQ(refusal(at4, {floats({2}, {1, 2})}), "index");
    EXPECT_EQ(run(at4, {floats({5}, {1, 2, 3, 4, 5})}), std::vector<double>{5});
    const std::string back = "graph g(%x: f32[2, s0]) where s0 >= 1 {\n  %0: f32[2] = select(%x, dim=1, index=-2)\n  return %0\n}\n";
    EXPECT_EQ(refusal(back, {floats({2, 1}, {1, 2})}), "index");
    EXPECT_EQ(run(back, {floats({2, 3}, {1, 2, 3, 4, 5, 6})}), (std::vector<double>{2, 5}));
    const std::string write = "graph g(%x: f32[s0], %y: f32[]) where s0 >= 1 {\n"
                              "  %0: f32[s0] = select_scatter(%x, %y, dim=0, index=1)\n  return %0\n}\n";
    EXPECT_EQ(refusal(write, {floats({1}, {1}), floats({}, {7})}), "index");
    EXPECT_EQ(run(write, {floats({3}, {1, 2, 3}), floats({}, {7})}), (std::vector<double>{1, 7, 3}));
    // A product does not read past the end either.
    const std::string product = "graph g(%x: f32[s0, 8, 3], %w: f32[4, 3]) where s0 >= 1 {\n"
                                "  %0: f32[8, 3] = select(%x, dim=0, index=2)\n  %1: f32[8, 4] = linear(%0, %w)\n  return %1\n}\n";
    EXPECT_EQ(refusal(product, {floats({1, 8, 3}, std::vector<float>(24, 1)), floats({4, 3}, std::vector<float>(12, 1))}), "index");
    EXPECT_EQ(run(product, {floats({3, 8, 3}, std::vector<float>(72, 1)), floats({4, 3}, std::vector<float>(12, 1))}),
              std::vector<double>(32, 3));
}

TEST(FoundByRandomGraphs, IndexThatIsLongerThanWhatItWalks) {
    const std::string text = "graph g(%x: f32[3, s0], %i: i64[2, s1]) where s0 >= 1, s1 >= 1 {\n"
                             "  %0: f32[2, s1] = gather(%x, %i, dim=0)\n  return %0\n}\n";
    const auto index = [](int64_t n) {
        HostArray a(DType::i64, {2, n});
        for (int64_t i = 0; i < 2 * n; ++i) a.as<int64_t>()[i] = 2;
        return a;
    };
    EXPECT_EQ(refusal(text, {floats({3, 1}, {1, 2, 3}), index(2)}), "index");
    EXPECT_EQ(run(text, {floats({3, 2}, {1, 2, 3, 4, 5, 6}), index(2)}), (std::vector<double>{5, 6, 5, 6}));
    EXPECT_THROW(graph::verify(graph::parse_graph("graph g(%x: f32[5], %i: i64[8], %y: f32[4]) {\n"
                                                  "  %0: f32[5] = scatter(%x, %i, %y, dim=0)\n  return %0\n}\n"),
                               ops::list()),
                 base::UserError);
}

TEST(FoundByRandomGraphs, IndexThatNoResultNeedsIsCheckedToo) {
    const std::string text = "graph g(%x: f32[3], %i: i64[3]) {\n  %0: f32[3] = index_select(%x, %i, dim=0)\n"
                             "  %1: f32[1] = slice(%0, dim=0, end=1)\n  %2: f32[1] = neg(%1)\n  return %2\n}\n";
    EXPECT_EQ(refusal(text, {floats({3}, {1, 2, 3}), integers({1, 0, 4})}), "index");
    EXPECT_EQ(run(text, {floats({3}, {1, 2, 3}), integers({1, 0, 2})}), std::vector<double>{-2});
}

TEST(FoundByRandomGraphs, SizesBelowZero) {
    const std::string text = "graph g(%x: f32[s0]) where s0 >= 0 {\n  %0: f32[(s0 + 1) // 2 - 1, 3] = unfold(%x, dim=0, size=3, step=2)\n"
                             "  return %0\n}\n";
    EXPECT_EQ(refusal(text, {floats({0}, {})}), "user");
    EXPECT_EQ(run(text, {floats({1}, {1})}), std::vector<double>{});
    EXPECT_EQ(run(text, {floats({5}, {1, 2, 3, 4, 5})}), (std::vector<double>{1, 2, 3, 3, 4, 5}));
}

TEST(FoundByRandomGraphs, NothingToDivideBy) {
    const std::string repeated =
        "graph g(%x: f32[0, 2]) {\n  %0: f32[0, 4] = repeat(%x, repeats=[3, 2])\n  %1: f32[4] = sum(%0, dims=[0])\n  return %1\n}\n";
    EXPECT_EQ(run(repeated, {floats({0, 2}, {})}), std::vector<double>(4, 0));
    const std::string table =
        "graph g(%x: f32[s0, 2], %i: i64[s1]) where s0 >= 0, s1 >= 0 {\n  %0: f32[s1, 2] = index(%x, %i)\n  return %0\n}\n";
    EXPECT_EQ(refusal(table, {floats({0, 2}, {}), integers({0})}), "index");
    EXPECT_EQ(run(table, {floats({0, 2}, {}), integers({})}), std::vector<double>{});
    const std::string heads = "graph g(%q: f32[1, 4, 5, 4], %k: f32[1, s0, s1, 4], %v: f32[1, s0, s1, 4]) where s0 >= 0, s1 >= 0 {\n"
                              "  %0: f32[1, 4, 5, 4], %1: f32[1, 4, 5] = attention(%q, %k, %v)\n  return %0\n}\n";
    const HostArray q = floats({1, 4, 5, 4}, std::vector<float>(80, 1));
    EXPECT_EQ(refusal(heads, {q, floats({1, 0, 3, 4}, {}), floats({1, 0, 3, 4}, {})}), "index");
    EXPECT_EQ(refusal(heads, {q, floats({1, 3, 1, 4}, std::vector<float>(12, 1)), floats({1, 3, 1, 4}, std::vector<float>(12, 1))}),
              "index");
    EXPECT_EQ(run(heads, {q, floats({1, 2, 1, 4}, std::vector<float>(8, 1)), floats({1, 2, 1, 4}, std::vector<float>(8, 3))}),
              std::vector<double>(80, 3));
}

TEST(FoundByRandomGraphs, EpilogueThatIsNoStridedArray) {
    const std::string text = "graph g(%x: f32[16, 3], %w: f32[16, 3], %b: f32[9]) {\n  %0: f32[18] = repeat(%b, repeats=[2])\n"
                             "  %1: f32[16] = slice(%0, dim=0, end=16)\n  %2: f32[16, 16] = linear(%x, %w, %1)\n  return %2\n}\n";
    std::vector<double> want;
    for (int i = 0; i < 256; ++i) want.push_back(3 + (i % 16) % 9);
    EXPECT_EQ(run(text, {floats({16, 3}, std::vector<float>(48, 1)), floats({16, 3}, std::vector<float>(48, 1)),
                         floats({9}, {0, 1, 2, 3, 4, 5, 6, 7, 8})}),
              want);
}

TEST(FoundByRandomGraphs, IndexUnderAGuard) {
    // The gather is read at 3*m + n - 1, which the padding keeps inside.
    const std::string text = "graph g(%x: f32[4], %i: i64[6], %w: f32[1, 1, 2]) {\n  %0: f32[6] = gather(%x, %i, dim=0)\n"
                             "  %1: f32[1, 1, 6] = view(%0, shape=[1, 1, 6])\n"
                             "  %2: f32[1, 1, 7] = convolution(%1, %w, stride=[1], padding=[1], dilation=[1])\n  return %2\n}\n";
    EXPECT_EQ(run(text, {floats({4}, {1, 2, 3, 4}), integers({3, 2, 1, 0, 0, 3}), floats({1, 1, 2}, {10, 1})}),
              (std::vector<double>{4, 43, 32, 21, 11, 14, 40}));
}

TEST(FoundByRandomGraphs, BoolAsIndex) {
    const std::string text = "graph g(%x: f32[2], %m: bool[3]) {\n  %0: i64[3] = cast(%m, dtype=i64)\n"
                             "  %1: f32[3] = index_select(%x, %0, dim=0)\n  return %1\n}\n";
    HostArray mask(DType::boolean, {3});
    for (int64_t i = 0; i < 3; ++i) mask.as<uint8_t>()[i] = i != 1;
    EXPECT_EQ(run(text, {floats({2}, {5, 6}), mask}), (std::vector<double>{6, 5, 6}));
}

TEST(FoundByRandomGraphs, ScanWhoseRowsLieAcrossLanesWhereItIsRead) {
    const std::string text = "graph g(%x: f32[4]) {\n  %0: f32[16] = repeat(%x, repeats=[4])\n  %1: f32[15] = slice(%0, dim=0, end=15)\n"
                             "  %2: f32[15, 1] = view(%1, shape=[15, 1])\n  %3: f32[15, 1] = cumsum(%2, dim=1)\n  return %3\n}\n";
    std::vector<double> want;
    for (int i = 0; i < 15; ++i) want.push_back(1 + i % 4);
    EXPECT_EQ(run(text, {floats({4}, {1, 2, 3, 4})}), want);
}

TEST(FoundByRandomGraphs, ScanOfNothing) {
    const std::string text =
        "graph g(%x: f32[0, 3]) {\n  %0: f32[0, 3] = cumsum(%x, dim=-1)\n  %1: f32[0, 1, 3] = view(%0, shape=[0, 1, 3])\n"
        "  return %1\n}\n";
    EXPECT_EQ(run(text, {floats({0, 3}, {})}), std::vector<double>{});
}

TEST(FoundByRandomGraphs, BackwardsOfNormsTakeOperandsOfSeveralDtypes) {
    const auto text = [](const char* t) {
        return fmt::format(
            "graph g(%g: {0}[1, 2], %x: f32[1, 2], %m: f32[1, 1], %r: {0}[1, 1], %w: f32[2]) {{\n"
            "  %0: f32[1, 2], %1: f32[2], %2: f32[2] = native_layer_norm_backward(%g, %x, %m, %r, %w, normalized_shape=[2])\n"
            "  return %0\n}}\n",
            t);
    };
    const auto doubles = [](std::vector<int64_t> extents, std::vector<double> values) {
        HostArray a(DType::f64, std::move(extents));
        std::copy(values.begin(), values.end(), a.as<double>());
        return a;
    };
    const HostArray x = floats({1, 2}, {1, 3}), m = floats({1, 1}, {2}), w = floats({2}, {1, 1});
    const std::vector<double> want = run(text("f32"), {floats({1, 2}, {1, 2}), x, m, floats({1, 1}, {0.5}), w});
    // g = (1, 2), xhat = (-0.5, 0.5): dx = 0.5 * (g - 1.5 - xhat * 0.25)
    EXPECT_EQ(want, (std::vector<double>{-0.1875, 0.1875}));
    EXPECT_EQ(run(text("f64"), {doubles({1, 2}, {1, 2}), x, m, doubles({1, 1}, {0.5}), w}), want);
}

// The first output, which is the input itself after the call.
std::vector<double> in_place(const std::string& step, const std::vector<float>& x, const std::vector<HostArray>& more = {}) {
    const std::string more_types = more.empty() ? "" : ", %i: i64[3]";
    const std::string text = fmt::format("graph g(%x: f32[3]{}) {{\n  %0: f32[3] = {} into %x\n  return %x\n}}\n", more_types, step);
    std::vector<double> first;
    for (const base::Target& target : runnable_targets()) {
        std::vector<HostArray> inputs = {floats({3}, x)};
        inputs.insert(inputs.end(), more.begin(), more.end());
        HostOutputs memory;
        call(compile::compile(graph::parse_graph(text), target, {}), inputs, {}, memory);
        first.assign(inputs[0].as<float>(), inputs[0].as<float>() + 3);
    }
    return first;
}

TEST(FoundByRandomGraphs, WrittenOverWhatIsStillRead) {
    EXPECT_EQ(in_place("index_copy(%x, %i, %x, dim=0)", {1, 2, 3}, {integers({1, 2, 0})}), (std::vector<double>{3, 1, 2}));
    EXPECT_EQ(in_place("index_add(%x, %i, %x, dim=0)", {1, 2, 3}, {integers({1, 2, 0})}), (std::vector<double>{4, 3, 5}));
    EXPECT_EQ(in_place("flip(%x, dims=[0])", {1, 2, 3}), (std::vector<double>{3, 2, 1}));
    EXPECT_EQ(in_place("roll(%x, shifts=[1], dims=[0])", {1, 2, 3}), (std::vector<double>{3, 1, 2}));
    EXPECT_EQ(in_place("cumsum(%x, dim=0)", {1, 2, 3}), (std::vector<double>{1, 3, 6}));
    EXPECT_EQ(in_place("add(%x, %x)", {1, 2, 3}), (std::vector<double>{2, 4, 6}));
}

TEST(FoundByRandomGraphs, LongSumsStayNearTheirValue) {
    // One accumulator that takes every term would be off by some 1e-5.
    const auto error = [](int64_t rows, int64_t columns, int64_t dim) {
        const std::string text = fmt::format("graph g(%x: f32[{}, {}]) {{\n  %0: f32[{}] = sum(%x, dims=[{}])\n  return %0\n}}\n", rows,
                                             columns, dim ? rows : columns, dim);
        std::vector<float> x(static_cast<size_t>(rows * columns));
        for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1f + static_cast<float>(i % 7) * 0.3f;
        std::vector<double> want(static_cast<size_t>(dim ? rows : columns), 0);
        for (size_t i = 0; i < x.size(); ++i)
            want[i / static_cast<size_t>(columns) * static_cast<size_t>(dim) +
                 i % static_cast<size_t>(columns) * static_cast<size_t>(1 - dim)] += x[i];
        const std::vector<double> got = run(text, {floats({rows, columns}, x)});
        double worst = 0;
        for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::fabs(got[i] / want[i] - 1));
        return worst;
    };
    EXPECT_LT(error(100000, 3, 0), 3e-7);
    EXPECT_LT(error(50000, 16, 0), 3e-7);
    EXPECT_LT(error(1, 300000, 1), 3e-7);
}

TEST(FoundByRandomGraphs, AConstantIsReturnedAsATensorOfItsOwn) {
    const std::string constant = "graph g(%x: f32[1]) {\n  %c: f32[2] = data([1.0, 2.0])\n";
    const std::vector<HostArray> x = {floats({1}, {0})};
    EXPECT_EQ(run(constant + "  return %c\n}\n", x), (std::vector<double>{1, 2}));
    EXPECT_EQ(run(constant + "  return view(%c, f32[1], offset 1), %c\n}\n", x), (std::vector<double>{2}));
    EXPECT_EQ(run(constant + "  %0: f32[2, 1] = view(%c, shape=[2, 1])\n  return %0\n}\n", x), (std::vector<double>{1, 2}));
    EXPECT_EQ(run(constant + "  %0: f32[2] = neg(%c)\n  return %0, %0\n}\n", x), (std::vector<double>{-1, -2}));
}

TEST(FoundByRandomGraphs, ZeroDimensions) {
    for (const char* op : {"flip(%x, dims=[0])", "roll(%x, shifts=[3], dims=[-1])", "softmax(%x, dim=0)", "neg(%x)"}) {
        const std::string text = fmt::format("graph g(%x: f32[]) {{\n  %0: f32[] = {}\n  return %0\n}}\n", op);
        EXPECT_EQ(run(text, {floats({}, {5})}), std::vector<double>{op[0] == 's' ? 1.0 : op[0] == 'n' ? -5.0 : 5.0}) << op;
    }
    for (const char* op : {"select(%x, dim=0, index=0)", "select_scatter(%x, %x, dim=0, index=0)", "slice(%x, dim=0)",
                           "select_backward(%x, sizes=[], dim=0, index=0)", "unfold(%x, dim=0, size=1, step=1)", "cat(%x, %x)",
                           "dot_general(%x, %x, a_batch=[], b_batch=[], a_contract=[0], b_contract=[0])"}) {
        const std::string text = fmt::format("graph g(%x: f32[]) {{\n  %0: f32[] = {}\n  return %0\n}}\n", op);
        EXPECT_THROW(graph::verify(graph::parse_graph(text), ops::list()), base::UserError) << op;
    }
}

TEST(FoundByRandomGraphs, NumbersThatAnOpDoesNotTake) {
    const auto is_refused = [](const std::string& node) {
        try {
            graph::verify(graph::parse_graph("graph g(%b: bool[2], %k: i64[2], %i: i64[2]) {\n  " + node + "\n  return %0\n}\n"),
                          ops::list());
        } catch (const base::UserError&) {
            return true;
        }
        return false;
    };
    EXPECT_TRUE(is_refused("%0: bool[2] = bitwise_left_shift(%b, %b)"));
    EXPECT_TRUE(is_refused("%0: bool[2] = index_add(%b, %i, %b, dim=0, alpha=2)"));
    EXPECT_TRUE(is_refused("%0: i64[2] = index_add(%k, %i, %k, dim=0, alpha=0.5)"));
    EXPECT_TRUE(is_refused("%0: i64[2] = pow(%k, scalar=0.5)"));
    const std::string power = "graph g(%k: i64[2]) {\n  %0: i64[2] = pow(%k, scalar=3.0)\n  return %0\n}\n";
    EXPECT_EQ(run(power, {integers({2, -3})}), (std::vector<double>{8, -27}));
    HostArray bits(DType::boolean, {2});
    bits.as<uint8_t>()[1] = 1;
    const std::string sum = "graph g(%b: bool[2], %i: i64[2]) {\n  %0: bool[2] = scatter_add(%b, %i, %b, dim=0)\n  return %0\n}\n";
    EXPECT_EQ(run(sum, {bits, integers({1, 0})}), (std::vector<double>{1, 1}));
}

TEST(Codegen, ATargetThatWouldEndTheProcessIsAnInternalError) {
    base::Target target = base::make_target("x86_avx2");
    const auto message = [&] {
        try {
            compile::compile(graph::parse_graph("graph g(%x: f32[4]) {\n  %0: f32[4] = neg(%x)\n  return %0\n}\n"), target, {});
        } catch (const base::InternalError& e) {
            return e.message();
        }
        return std::string();
    };
    target.llvm_features = "+fma";
    EXPECT_NE(message().find("the target 'x86_avx2' has vectors of 256 bits without avx2"), std::string::npos) << message();
    target.llvm_features.clear();
    EXPECT_NE(message().find("the target 'x86_avx2' does not say what LLVM is told"), std::string::npos) << message();
}

} // namespace
} // namespace codetta::test
