// What docs/howto tells, done: an op, a pass and a kernel template of this test's own; and every block of the pages that names a file.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "codetta/codegen/compile.h"
#include "codetta/compile/compile.h"
#include "codetta/kernels/template.h"
#include "codetta/ops/list.h"
#include "codetta/ops/pointwise.h"
#include "codetta/passes/rewrite.h"
#include "codetta/problem/interpret.h"
#include "codetta/problem/test_data.h"
#include "codetta/runtime/code_loader.h"
#include "codetta/targets/list.h"
#include "codetta/tile/builder.h"
#include "codetta/tile/interpret.h"
#include "tests/support/documents.h"
#include "tests/support/run_graph.h"

namespace codetta {
namespace {

using scalar::DType;
using scalar::HostArray;

// The op of add_an_op.md: one entry, nothing else.
graph::OpSet vocabulary_with(graph::OpDef op) {
    const graph::OpSet known = ops::list();
    std::vector<graph::OpDef> all(known.all().begin(), known.all().end());
    all.push_back(std::move(op));
    return graph::OpSet(std::move(all));
}

graph::OpDef snake() {
    using namespace ops;
    return pointwise({.name = "snake",
                      .summary = "x + sin(alpha * x)^2 / alpha.",
                      .body =
                          [](Terms t, const NodeView& n) {
                              const Term wave = apply(scalar::Prim::sin, {t[0] * n.number("alpha")});
                              return t[0] + wave * wave / n.number("alpha");
                          },
                      .signature = "(x) alpha: number = 1",
                      .samples = {"f32[2, 3]", "bf16[4]; alpha=2.0"}});
}

TEST(Howto, AddAnOp) {
    const graph::OpSet ops = vocabulary_with(snake());
    const graph::Graph g = graph::parse_graph("graph g(%x: f32[n, 8], %w: f32[8, 8]) where n >= 1 { %0: f32[n, 8] = linear(%x, %w)\n"
                                              "%1: f32[n, 8] = snake(%0, alpha=0.5)\n return %1 }");
    ASSERT_FALSE(test::runnable_targets().empty());
    for (const base::Target& target : test::runnable_targets()) {
        SCOPED_TRACE(target.name);
        compile::Report report;
        const runtime::Executable executable = compile::compile(g, ops, target, {}, {}, &report);
        EXPECT_EQ(report.kernels, 1u); // fused into the product
        EXPECT_EQ(report.on_reference, 0u);
        std::vector<HostArray> inputs = {HostArray(DType::f32, {5, 8}), HostArray(DType::f32, {8, 8})};
        for (const HostArray& a : inputs)
            for (int64_t i = 0; i < a.size(); ++i) a.as<float>()[i] = 0.1f * static_cast<float>(i % 17) - 0.8f;
        test::HostOutputs memory;
        const HostArray got = test::call(executable, inputs, {}, memory)[0];
        for (int64_t m = 0; m < 5; ++m)
            for (int64_t n = 0; n < 8; ++n) {
                double v = 0;
                for (int64_t k = 0; k < 8; ++k)
                    v += static_cast<double>(inputs[0].as<float>()[m * 8 + k]) * inputs[1].as<float>()[n * 8 + k];
                EXPECT_NEAR(got.as<float>()[m * 8 + n], v + std::pow(std::sin(0.5 * v), 2) / 0.5, 1e-5);
            }
    }
}

// The pass of add_a_pass.md.
graph::Graph drop_double_negation(graph::Graph g, const graph::OpSet& ops, const base::Options&) {
    const auto made_by = graph::producers(g);
    return passes::rewrite(g, ops, [&](const graph::Node& n, passes::Rewriter& r) {
        if (n.op != "neg" || !made_by[n.inputs[0]->value]) return false; // false: keep the node as it is
        const graph::Node& inner = g.nodes[*made_by[n.inputs[0]->value]];
        if (inner.op != "neg") return false;
        r.forward(n, r.now(*inner.inputs[0])); // who read n reads x
        return true;
    });
}

TEST(Howto, AddAPass) {
    const graph::OpSet ops = ops::list();
    graph::Graph g =
        graph::parse_graph("graph g(%x: f32[4]) { %0: f32[4] = neg(%x)\n %1: f32[4] = neg(%0)\n %2: f32[4] = exp(%1)\n return %2 }");
    graph::verify(g, ops);
    g = drop_double_negation(std::move(g), ops, {});
    graph::verify(g, ops);
    EXPECT_EQ(graph::to_string(g.nodes.back().attributes.empty() ? g : g).find("exp(%x)") != std::string::npos, true)
        << graph::to_string(g);
}

// The template of add_a_kernel.md: y[i] = 2 * x[i], 64 elements a task.
base::Verdict match_twice(const problem::Problem& p, const kernels::BuildContext&) {
    if (p.stages.size() != 1 || p.axes.size() != 1 || p.operands.size() != 2)
        return base::Verdict::no("not one loop from one array to another");
    if (p.operands[0].dtype != DType::f32) return base::Verdict::no("only f32");
    if (scalar::to_string(p.stages[0].body).find("mul") == std::string::npos) return base::Verdict::no("nothing is doubled");
    return base::Verdict::yes();
}

kernels::Candidate build_twice(const problem::Problem& p, const kernels::BuildContext&) {
    tile::Builder b("twice");
    const sym::Expr n = b.integer("n");
    const tile::View x = b.input("x", DType::f32, {n}, {1}), y = b.output("y", DType::f32, {n}, {1});
    const sym::Expr i = b.tasks({"i"}, {sym::ceil_div(n, 64)})[0];
    const tile::View v = b.rmem("v", DType::f32, {64});
    const std::vector<tile::Limit> inside = {tile::limit_of_mode(v.layout, 0, n - 64 * i)};
    b.copy(tile::tile(x, 0, 64, i), v, {.limits = inside});
    b.map(v, {v}, [](scalar::Builder& s, std::span<const scalar::Value> in) {
        return s.apply(scalar::Prim::mul, {in[0], s.constant(DType::f32, 2)});
    });
    b.copy(v, tile::tile(y, 0, 64, i), {.limits = inside});
    using To = kernels::PointerArgument::To;
    kernels::Kernel kernel = kernels::make_kernel(std::move(b).finish(), {{To::operand, 0}, {To::operand, 1}}, {p.axes[0].extent});
    return {"twice", {{{}, {std::move(kernel)}, {}}}, 1};
}

TEST(Howto, AddAKernel) {
    const problem::Problem p =
        problem::parse_problem("problem p(i = s) where s >= 0\n  x: f32[i] in\n  y: f32[i] out\n  t: f32[i] = x[i] * 2.0 -> y[i]\n");
    const problem::Problem other =
        problem::parse_problem("problem p(i = s) where s >= 0\n  x: f64[i] in\n  y: f64[i] out\n  t: f64[i] = x[i] -> y[i]\n");
    const kernels::BuildContext context;
    EXPECT_EQ(match_twice(other, context).reason(), "only f32");
    ASSERT_TRUE(match_twice(p, context));
    const kernels::Candidate candidate = build_twice(p, context);
    const kernels::Kernel& kernel = candidate.variants[0].kernels[0];
    for (const int64_t size : {0, 1, 64, 150}) {
        std::vector<HostArray> wanted = problem::test_data(p, {{"s", size}}), got = problem::test_data(p, {{"s", size}});
        problem::interpret(p, wanted, {{"s", size}});
        // First by the interpreter of the kernel language ...
        EXPECT_EQ(tile::interpret(kernel.program, targets::atoms(), {{got[0], got[1]}, {size}}), 0);
        for (int64_t i = 0; i < size; ++i) EXPECT_EQ(got[1].as<float>()[i], wanted[1].as<float>()[i]);
        // ... then as machine code, on every target of this machine.
        for (const base::Target& target : test::runnable_targets()) {
            std::fill_n(got[1].as<float>(), size, -1.0f);
            const base::CodeImage image = codegen::compile(kernel.program, targets::atoms(), target);
            runtime::LoadedCode code(image.bytes);
            void* pointers[] = {got[0].data(), got[1].data()};
            int32_t status = 0;
            const codetta_kernel_args arguments{pointers, &size, &status};
            reinterpret_cast<codetta_kernel>(code.find(kernel.program.name))(&arguments, 0, sym::evaluate(kernel.tasks, {{"s", size}}),
                                                                             nullptr);
            for (int64_t i = 0; i < size; ++i) EXPECT_EQ(got[1].as<float>()[i], wanted[1].as<float>()[i]) << target.name;
        }
    }
}

TEST(Documents, BlocksStandInTheFilesTheyName) {
    std::vector<std::string> pages = {"README.md", "docs/design.md"};
    for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() / "docs/howto"))
        pages.push_back("docs/howto/" + entry.path().filename().string());
    size_t blocks = 0;
    for (const std::string& page : pages) blocks += test::check_blocks(page);
    EXPECT_GE(blocks, 8u);
}

} // namespace
} // namespace codetta
