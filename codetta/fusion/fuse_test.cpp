// Regions compute what the graph computes, in their order, on the graph's own memory; and look as the goldens say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>

#include "codetta/base/atomic_file.h"
#include "codetta/fusion/regions.h"
#include "codetta/ops/list.h"
#include "codetta/problem/interpret.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/expr.h"

namespace codetta::fusion {
namespace {

using scalar::DType;
using scalar::HostArray;

std::vector<int64_t> evaluated(const std::vector<sym::Expr>& list, const sym::Bindings& sizes) {
    std::vector<int64_t> values;
    for (const sym::Expr& e : list) values.push_back(sym::evaluate(e, sizes));
    return values;
}

HostArray allocate(DType dtype, const std::vector<sym::Expr>& shape, const std::vector<sym::Expr>& strides, const sym::Bindings& sizes) {
    const std::vector<int64_t> extents = evaluated(shape, sizes), steps = evaluated(strides, sizes);
    int64_t elements = 1;
    for (size_t d = 0; d < extents.size(); ++d) elements += std::max<int64_t>(extents[d] - 1, 0) * steps[d];
    return HostArray(dtype, {elements}).view(extents, steps, 0);
}

std::vector<HostArray> random_inputs(const graph::Graph& g, const sym::Bindings& sizes) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal(0, 0.3);
    std::vector<HostArray> arrays;
    for (const graph::Input& input : g.inputs) {
        if (input.data) continue;
        const graph::TensorType& t = g.type(input.value);
        arrays.push_back(allocate(t.dtype, t.shape, t.strides, sizes));
        scalar::for_each_coordinate(arrays.back().extents(), [&](auto at) {
            const double v =
                scalar::is_float(t.dtype) ? normal(random) : static_cast<double>(random() % 2); // indices stay small, masks are 0 and 1
            arrays.back().store(at, {DType::f64, v, 0});
        });
    }
    return arrays;
}

void expect_near(const HostArray& got, const HostArray& want, const std::string& what) {
    ASSERT_EQ(got.extents(), want.extents());
    scalar::for_each_coordinate(want.extents(), [&](auto at) {
        const double a = scalar::as_double(got.load(at)), b = scalar::as_double(want.load(at));
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-5 * (1 + std::abs(b)))
            << what << ": " << a << " instead of " << b;
    });
}

// Runs the regions one after the other on one array per value.
void expect_regions_compute(const graph::Graph& g, const Regions& r, const graph::OpSet& ops, const sym::Bindings& sizes) {
    std::vector<int64_t> size_arguments;
    for (const std::string& s : g.size_arguments) size_arguments.push_back(sizes.at(s));
    std::vector<HostArray> inputs = random_inputs(g, sizes), mine = random_inputs(g, sizes);
    const std::vector<HostArray> wanted = graph::interpret(g, ops, inputs, size_arguments);
    std::map<uint32_t, HostArray> memory;
    size_t next = 0;
    for (const graph::Input& input : g.inputs) memory[input.value.value] = input.data ? *input.data : mine[next++];
    for (const problem::Region& region : r.regions) {
        const problem::Problem& p = region.problem;
        problem::verify(p);
        EXPECT_EQ(problem::parse_problem(problem::to_string(p)), p);
        std::vector<HostArray> arrays;
        for (size_t o = 0; o < p.operands.size(); ++o) {
            const uint32_t v = region.values[o].value;
            if (!memory.contains(v)) {
                ASSERT_NE(p.operands[o].role, problem::Role::in) << "value %" << g.values[v].name << " is read before it is made";
                const graph::TensorType& t = g.type(graph::ValueId(v));
                const auto into =
                    std::find_if(g.nodes.begin(), g.nodes.end(), [&](const graph::Node& n) { return n.into && n.outputs[0].value == v; });
                memory[v] = into != g.nodes.end() ? memory.at(into->into->value) : allocate(t.dtype, t.shape, t.strides, sizes);
            }
            arrays.push_back(memory[v].view(evaluated(p.operands[o].shape, sizes), evaluated(p.operands[o].strides, sizes), 0));
        }
        problem::interpret(p, arrays, sizes);
    }
    for (size_t i = 0; i < g.outputs.size(); ++i) {
        const graph::Output& o = g.outputs[i];
        if (o.kind == graph::Output::Kind::size) continue;
        HostArray got = memory.at(o.value.value);
        if (o.kind == graph::Output::Kind::view)
            got = got.view(evaluated(o.view_type.shape, sizes), evaluated(o.view_type.strides, sizes), sym::evaluate(o.offset, sizes));
        expect_near(got, wanted[i], "output " + std::to_string(i));
    }
    for (size_t i = 0; i < inputs.size(); ++i) expect_near(mine[i], inputs[i], "input " + std::to_string(i)); // written in place alike
}

Regions fuse(const graph::Graph& g, const graph::OpSet& ops, base::Numerics numerics = base::Numerics::contract) {
    base::Options options;
    options.numerics = numerics;
    return fusion::fuse(g, ops, base::make_target("x86_avx512"), options);
}

TEST(FusionGoldens, regions_look_and_compute_as_written) {
    const graph::OpSet ops = ops::list();
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(CODETTA_SOURCE_DIR "/tests/goldens/fusion")) {
        SCOPED_TRACE(entry.path().filename().string());
        const std::string all = base::read_file(entry.path());
        const size_t first = all.find('\n') + 1, rule = all.find("---\n");
        const graph::Graph g = graph::parse_graph(all.substr(first, rule - first));
        const Regions r = fuse(g, ops);
        const std::string text = to_string(r);
        std::istringstream lines(all.substr(rule + 4));
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with("regions "))
                EXPECT_EQ(r.regions.size(), std::stoul(line.substr(8))) << text;
            else
                EXPECT_NE(text.find(line), std::string::npos) << line << "\nis not in\n" << text;
        }
        expect_regions_compute(g, r, ops, {{"s27", 3}, {"s52", 2}});
        expect_regions_compute(g, fuse(g, ops, base::Numerics::eager), ops, {{"s27", 2}, {"s52", 3}});
        ++count;
    }
    EXPECT_GE(count, 3);
}

void expect_fused(const std::string& text, size_t regions, const std::vector<sym::Bindings>& all_sizes) {
    const graph::OpSet ops = ops::list();
    const graph::Graph g = graph::parse_graph(text);
    const Regions r = fuse(g, ops);
    EXPECT_EQ(r.regions.size(), regions) << to_string(r);
    for (const sym::Bindings& sizes : all_sizes) expect_regions_compute(g, r, ops, sizes);
}

const std::vector<sym::Bindings> kSizes = {{{"s0", 1}}, {{"s0", 4}}};

TEST(Fuse, a_chain_is_one_region) {
    expect_fused(R"(graph g(%x: f32[s0, 6], %y: f32[6]) sizes s0 where s0 >= 0 {
  %0: f32[s0, 6] = add(%x, %y)
  %1: f32[s0, 6] = tanh(%0)
  %2: f32[6, s0] = permute(%1, dims=[1, 0])
  %3: f32[6, s0] = mul(%2, %2)
  return %3
})",
                 1, {{{"s0", 1}}, {{"s0", 4}}, {{"s0", 0}}});
}

TEST(Fuse, what_the_caller_sees_is_written_beside) {
    expect_fused(R"(graph g(%x: f32[s0, 6]) sizes s0 where s0 >= 1 {
  %0: f32[s0, 6] = exp(%x)
  %1: f32[s0, 6] = relu(%0)
  %2: f32[s0] = sum(%1, dims=[1])
  return %0, %1, %2, %x
})",
                 1, kSizes);
}

TEST(Fuse, a_product_takes_its_epilogue_and_leaves_rows_alone) {
    expect_fused(R"(graph g(%x: f32[s0, 2, 8], %w: f32[6, 8], %b: f32[6], %r: f32[s0, 2, 6]) sizes s0 where s0 >= 1 {
  %0: f32[s0, 2, 6] = linear(%x, %w, %b)
  %1: f32[s0, 2, 6] = add(%0, %r)
  %2: f32[s0, 2, 6] = softmax(%1, dim=-1)
  return %2
})",
                 2, kSizes);
}

TEST(Fuse, a_region_and_its_checks_say_which_ops_they_come_from) {
    const graph::OpSet ops = ops::list();
    const graph::Graph g = graph::parse_graph(R"(graph g(%w: f32[5, 6], %i: i64[s0], %j: i64[s0]) sizes s0 where s0 >= 1 {
  %0: f32[s0, 6] = embedding(%w, %i)  # model.py:3
  %1: f32[s0, 6] = index_select(%w, %j, dim=0)  # my "model".py:4
  %2: f32[6, s0] = permute(%1, dims=[1, 0])
  %3: f32[6, s0] = permute(%0, dims=[1, 0])
  %4: f32[6, s0] = add(%2, %3)
  return %4
})");
    const Regions r = fuse(g, ops);
    ASSERT_EQ(r.regions.size(), 1u) << to_string(r);
    const std::string text = problem::to_string(r.regions[0].problem);
    EXPECT_NE(text.find("checked(indices_1[i1], 0, 5, \"op 'embedding' at model.py:3\")"), std::string::npos) << text;
    EXPECT_NE(text.find("\"op 'index_select' at my 'model'.py:4\")"), std::string::npos) << text;
    EXPECT_EQ(r.regions[0].origins.size(), 4u); // the permutes are alike
    EXPECT_EQ(problem::summary(r.regions[0].origins), "index_select+embedding+add my \"model\".py:4");
}

TEST(Fuse, a_summary_names_views_only_when_nothing_computes) {
    using problem::summary;
    EXPECT_EQ(summary({}), "");
    EXPECT_EQ(summary({{"permute", "m.py:1", true}}), "permute m.py:1");
    EXPECT_EQ(summary({{"permute", "m.py:1", true}, {"mm", "m.py:2"}, {"mm", "m.py:3"}}), "mm m.py:2");
    EXPECT_EQ(summary({{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}, {"f", ""}}), "a+b+c+d+2 more");
}

} // namespace
} // namespace codetta::fusion
