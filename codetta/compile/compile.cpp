#include "codetta/compile/compile.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codetta/base/error.h"
#include "codetta/codegen/compile.h"
#include "codetta/compile/build.h"
#include "codetta/compile/stages.h"
#include "codetta/fusion/regions.h"
#include "codetta/ops/list.h"
#include "codetta/passes/pipeline.h"
#include "codetta/plan/plan.h"
#include "codetta/providers/candidate.h"
#include "codetta/targets/list.h"
#include "codetta/tune/choose.h"

namespace codetta::compile {

namespace {

std::string print_programs(const std::vector<const tile::Program*>& programs) {
    std::string text;
    for (const tile::Program* p : programs) text += tile::to_string(*p) + "\n";
    return text;
}

void fill(Report& report, const tune::Recipes& recipes) {
    for (const tune::Recipe& r : recipes.recipes) {
        const providers::Candidate& c = *r.candidate;
        report.kernels += c.variants.back().kernels.size();
        report.on_reference += c.template_name == "reference";
        report.recipes.push_back(
            fmt::format("{}: {}{}{}", r.region.problem.name, c.template_name, r.reasons.empty() ? "" : "; ", fmt::join(r.reasons, "; ")));
        RegionReport& region = report.region_reports.emplace_back();
        region.name = r.region.problem.name;
        region.ops = problem::summary(r.region.origins);
        region.provider = c.provider;
        region.template_name = c.template_name;
        for (const providers::Kernel& k : c.variants.back().kernels) region.kernels.push_back((k.once ? "once " : "") + k.program.name);
        region.variants = c.variants.size();
        region.not_taken = r.reasons;
        region.not_fused = r.region.reasons;
    }
}

// What the option fallback="error" refuses here: regions that no template but the last resort takes.
void refuse_reference(const tune::Recipes& recipes, const std::string& name) {
    for (const tune::Recipe& r : recipes.recipes)
        if (r.candidate->template_name == "reference")
            throw base::UserError(
                fmt::format("region {} is left to the plain reference kernel ({})", r.region.problem.name, fmt::join(r.reasons, "; ")),
                name, "leave fallback=\"allow\" to run it so, slowly");
}

// From regions on; the graph only says what comes in, what goes out and what is constant.
runtime::Executable finish(Stages& stages, const graph::Graph& graph, const fusion::Regions& regions, const base::Target& target,
                           const base::Options& options, const sym::Bindings& hints, Report* report) {
    const auto recipes = stages.run<tune::Recipes>(
        "choose", [&] { return tune::choose(regions.regions, regions.graph_values, hints, target, options); },
        [](const tune::Recipes& r) { return tune::to_string(r); });
    if (options.fallback == base::Fallback::error) refuse_reference(recipes, graph.name);
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
    if (report) {
        report->regions = regions.regions.size();
        fill(*report, recipes);
    }
    return runtime::Executable(std::move(program), std::move(images));
}

// The border of a problem as a graph without meaning: its operands as inputs and outputs.
graph::Graph border(const problem::Problem& p, std::vector<problem::ValueId>& values) {
    graph::Graph g;
    g.name = p.name;
    g.facts = p.facts;
    std::set<std::string> bound;
    for (const problem::Operand& o : p.operands) {
        const graph::ValueId v(g.values.size());
        g.values.push_back({o.name, {o.dtype, o.shape, o.strides}});
        values.emplace_back(v.value);
        if (o.role == problem::Role::out) {
            g.outputs.push_back({graph::Output::Kind::value, v, {}, 0, 0});
            continue;
        }
        g.inputs.push_back({v, graph::InputKind::argument, o.frozen, std::nullopt});
        for (const auto* exprs : {&o.shape, &o.strides})
            for (const sym::Expr& e : *exprs)
                if (e.kind() == sym::Kind::symbol) bound.insert(e.name());
    }
    for (uint32_t i = 0; i < p.operands.size(); ++i)
        if (p.operands[i].aliases) {
            graph::Node update;
            update.outputs = {graph::ValueId(i)};
            update.into = graph::ValueId(p.operands[i].aliases->value);
            g.nodes.push_back(std::move(update));
        }
    for (const std::string& symbol : p.size_symbols())
        if (!bound.contains(symbol)) g.size_arguments.push_back(symbol);
    return g;
}

} // namespace

runtime::Executable compile(graph::Graph graph, const base::Target& target, const base::Options& options, const sym::Bindings& hints,
                            Report* report) {
    return compile(std::move(graph), ops::list(), target, options, hints, report);
}

runtime::Executable compile(graph::Graph graph, const graph::OpSet& ops, const base::Target& target, const base::Options& options,
                            const sym::Bindings& hints, Report* report) {
    if (report) report->nodes = graph.nodes.size();
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
    return finish(stages, graph, regions, target, options, hints, report);
}

runtime::Executable compile(problem::Problem problem, const base::Target& target, const base::Options& options, const sym::Bindings& hints,
                            Report* report) {
    problem::verify(problem);
    fusion::Regions regions;
    problem::Region region;
    const graph::Graph graph = border(problem, region.values);
    regions.graph_values = static_cast<uint32_t>(graph.values.size());
    Stages stages(options, problem.name, report);
    region.problem = std::move(problem);
    regions.regions.push_back(std::move(region));
    return finish(stages, graph, regions, target, options, hints, report);
}

} // namespace codetta::compile
