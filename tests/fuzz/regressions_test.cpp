// What random graphs found, each with the right values.
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
