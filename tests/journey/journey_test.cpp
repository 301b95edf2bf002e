// docs/journey.md: one small model's text at every stage, as the compiler dumps it; and each text fed back.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "codetta/base/options.h"
#include "codetta/compile/compile.h"
#include "codetta/ops/list.h"
#include "codetta/problem/interpret.h"
#include "codetta/runtime/detect_machine.h"
#include "codetta/targets/list.h"
#include "codetta/tile/interpret.h"
#include "codetta/tile/program.h"
#include "tests/support/documents.h"
#include "tests/support/run_graph.h"

namespace codetta {
namespace {

using scalar::HostArray;

const char* const kTarget = "x86_avx2"; // fixed facts: the same texts on every machine

class Journey : public testing::Test {
protected:
    void SetUp() override {
        const base::Target target = base::make_target(kTarget);
        if (const base::Verdict able = base::can_run(runtime::detect_machine(), target); !able) GTEST_SKIP() << able.reason();
        folder = std::filesystem::temp_directory_path() / ("codetta-journey-" + std::to_string(getpid()));
        base::Options options;
        options.dump = folder.string();
        graph = graph::parse_graph(test::read_text(test::source_folder() / "tests/journey/model.graph"));
        executable.emplace(compile::compile(graph, target, options));
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::string stage(const std::string& name) const {
        std::string text = test::read_text(folder / ("block." + name + ".txt"));
        text.erase(text.find_last_not_of('\n') + 2);
        return text;
    }

    // The kernel that runs at each call, without those that only prepare weights.
    std::string last_kernel() const {
        const std::string all = stage("5_build");
        return all.substr(all.rfind("\nkernel ") + 1);
    }

    std::filesystem::path folder;
    graph::Graph graph;
    std::optional<runtime::Executable> executable;
};

TEST_F(Journey, ThePageShowsEachStage) {
    const test::Makers makers = {{"graph", [&] { return stage("0_graph"); }}, {"passes", [&] { return stage("1_passes"); }},
                                 {"fuse", [&] { return stage("2_fuse"); }},   {"choose", [&] { return stage("3_choose"); }},
                                 {"plan", [&] { return stage("4_plan"); }},   {"build", [&] { return last_kernel(); }}};
    EXPECT_EQ(test::check_blocks("docs/journey.md", makers), makers.size());
}

TEST_F(Journey, DumpedFilesHaveStableNames) {
    std::vector<std::string> names;
    size_t assembly = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename();
        if (name.ends_with(".s"))
            ++assembly;
        else
            names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"block.0_graph.txt", "block.1_passes.txt", "block.2_fuse.txt", "block.3_choose.txt",
                                               "block.4_plan.txt", "block.5_build.txt"}));
    EXPECT_GE(assembly, 1u);
}

TEST_F(Journey, TheLineComputesTheModel) {
    const graph::OpSet ops = ops::list();
    for (const int64_t rows : {1, 5, 64}) {
        std::vector<HostArray> inputs;
        for (const graph::Input& input : graph.inputs) {
            std::vector<int64_t> extents;
            for (const sym::Expr& e : graph.type(input.value).shape) extents.push_back(e.constant().value_or(rows));
            inputs.emplace_back(scalar::DType::f32, extents);
            for (int64_t i = 0; i < inputs.back().size(); ++i) inputs.back().as<float>()[i] = std::sin(static_cast<float>(i) * 0.7f) * 0.3f;
        }
        const std::vector<HostArray> exact = graph::interpret(graph, ops, inputs, {}, true);
        test::HostOutputs memory;
        const std::vector<HostArray> got = test::call(*executable, inputs, {}, memory);
        scalar::for_each_coordinate(got[0].extents(), [&](std::span<const int64_t> at) {
            EXPECT_NEAR(scalar::as_double(got[0].load(at)), scalar::as_double(exact[0].load(at)), 1e-5);
        });
    }
}

TEST_F(Journey, EachTextReadsBack) {
    EXPECT_EQ(graph::to_string(graph::parse_graph(stage("0_graph"))), stage("0_graph"));
    EXPECT_EQ(graph::to_string(graph::parse_graph(stage("1_passes"))), stage("1_passes"));
    const std::string program = stage("4_plan");
    EXPECT_EQ(runtime::to_string(runtime::parse_host_program(program)), program);
    const std::string kernel = last_kernel();
    EXPECT_EQ(tile::to_string(tile::parse_program(kernel)), kernel);
}

} // namespace
} // namespace codetta
