#include "codetta/compile/compile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codetta/codegen/compile.h"
#include "codetta/compile/build.h"
#include "codetta/compile/stages.h"
#include "codetta/fusion/regions.h"
#include "codetta/ops/list.h"
#include "codetta/passes/pipeline.h"
#include "codetta/plan/plan.h"
#include "codetta/targets/list.h"
#include "codetta/tune/choose.h"

namespace codetta::compile {

namespace {

std::string print_programs(const std::vector<const tile::Program*>& programs) {
    std::string text;
    for (const tile::Program* p : programs) text += tile::to_string(*p) + "\n";
    return text;
}

void fill(Report& report, const fusion::Regions& regions, const tune::Recipes& recipes, size_t nodes) {
    report.nodes = nodes;
    report.regions = regions.regions.size();
    for (const tune::Recipe& r : recipes.recipes) {
        report.kernels += r.candidate->variants.back().kernels.size();
        report.on_reference += r.candidate->template_name == "reference";
        report.recipes.push_back(fmt::format("{}: {}{}{}", r.region.problem.name, r.candidate->template_name, r.reasons.empty() ? "" : "; ",
                                             fmt::join(r.reasons, "; ")));
    }
}

} // namespace

runtime::Executable compile(graph::Graph graph, const base::Target& target, const base::Options& options, const sym::Bindings& hints,
                            Report* report) {
    const graph::OpSet ops = ops::list();
    const size_t nodes = graph.nodes.size();
    Stages stages(options, graph.name, report);
    using graph::Graph;
    stages.run<Graph>(
        "graph",
        [&] {
            graph::verify(graph, ops);
            return graph;
        },
        [](const Graph& g) { return graph::to_string(g); });
    graph = stages.run<Graph>(
        "passes", [&] { return passes::run_passes(std::move(graph), ops, options); }, [](const Graph& g) { return graph::to_string(g); });
    const auto regions = stages.run<fusion::Regions>(
        "fuse", [&] { return fusion::fuse(graph, ops, target, options); }, [](const fusion::Regions& r) { return fusion::to_string(r); });
    const auto recipes = stages.run<tune::Recipes>(
        "choose", [&] { return tune::choose(regions.regions, regions.graph_values, hints, target, options); },
        [](const tune::Recipes& r) { return tune::to_string(r); });
    auto program = stages.run<runtime::HostProgram>(
        "plan",
        [&] {
            auto p = plan::plan(graph, recipes);
            runtime::verify(p);
            return p;
        },
        [](const runtime::HostProgram& p) { return runtime::to_string(p); });
    const std::vector<const tile::Program*> programs = distinct_programs(recipes);
    auto images = stages.run<std::vector<base::CodeImage>>(
        "build", [&] { return build_images(programs, target); }, [&](const auto&) { return print_programs(programs); });
    if (stages.dumping()) {
        const tile::AtomSet atoms = targets::atoms();
        for (const tile::Program* p : programs) stages.write(p->name + ".s", codegen::assembly(*p, atoms, target));
    }
    if (report) fill(*report, regions, recipes, nodes);
    return runtime::Executable(std::move(program), std::move(images));
}

} // namespace codetta::compile
