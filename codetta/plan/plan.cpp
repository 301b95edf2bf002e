#include "codetta/plan/plan.h"

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/plan/places.h"
#include "codetta/problem/contraction.h"
#include "codetta/problem/cost.h"
#include "codetta/providers/candidate.h"

namespace codetta::plan {

namespace {

runtime::Work work_of(const problem::Problem& p) {
    const problem::Cost cost = problem::cost(p);
    runtime::Work work{cost.flops, cost.bytes_read + cost.bytes_written, scalar::DType::f32};
    if (const auto products = problem::contractions(p); !products.empty()) {
        const problem::Stage& product = p.stage(products[0].stage);
        work.dtype = problem::read_dtype(p, product.reads[products[0].a]);
    }
    return work;
}

class Planner {
public:
    Planner(const graph::Graph& g, runtime::HostProgram& program) : program_(program), places_(g, program, names_) {}

    void add(const tune::Recipe& recipe) {
        const auto step_index = static_cast<uint32_t>(program_.call.size());
        runtime::Step step;
        for (const providers::Variant& variant : recipe.candidate->variants) {
            std::vector<std::optional<runtime::PointerArgument>> temporaries(variant.temporaries.size());
            runtime::Alternative alternative{variant.guard, {}};
            for (const providers::Kernel& kernel : variant.kernels) {
                if (kernel.once) {
                    prepare(recipe, variant, kernel, temporaries);
                    continue;
                }
                for (const providers::PointerArgument& p : kernel.pointers) {
                    if (p.to != providers::PointerArgument::To::temporary || temporaries[p.index]) continue;
                    const providers::Temporary& t = variant.temporaries[p.index];
                    CODETTA_CHECK(!t.lasting, "{}: lasting temporary {} is used before a `once` kernel fills it", kernel.program.name,
                                  t.name);
                    temporaries[p.index] = places_.temporary(t.name, t.bytes, step_index);
                }
                alternative.launches.push_back(launch(recipe, kernel, temporaries, step_index));
            }
            if (!alternative.launches.empty()) alternative.launches.front().work = work_of(recipe.region.problem);
            step.alternatives.push_back(std::move(alternative));
        }
        program_.call.push_back(std::move(step));
    }

private:
    // One `once` kernel: its launch goes to set-up, and an equal one over the same inputs is shared.
    void prepare(const tune::Recipe& recipe, const providers::Variant& variant, const providers::Kernel& kernel,
                 std::vector<std::optional<runtime::PointerArgument>>& temporaries) {
        std::string key = kernel.program.name;
        for (const providers::PointerArgument& p : kernel.pointers)
            if (p.to == providers::PointerArgument::To::operand) {
                const runtime::PointerArgument at =
                    places_.place(recipe.region.values[p.index], recipe.region.problem.operands[p.index], 0);
                key += fmt::format(" {}:{}", static_cast<int>(at.place), at.index);
            }
        for (const sym::Expr& e : kernel.integers) key += " " + sym::to_string(e);
        const auto known = prepared_.find(key);
        std::vector<runtime::PointerArgument> made;
        size_t next = 0;
        for (const providers::PointerArgument& p : kernel.pointers) {
            if (p.to != providers::PointerArgument::To::temporary || temporaries[p.index]) continue;
            if (known != prepared_.end()) {
                temporaries[p.index] = known->second[next++];
                continue;
            }
            const providers::Temporary& t = variant.temporaries[p.index];
            program_.prepared.push_back({names_.unique(t.name), t.bytes});
            temporaries[p.index] = runtime::pointer_to(runtime::PreparedId{static_cast<uint32_t>(program_.prepared.size() - 1)});
            made.push_back(*temporaries[p.index]);
        }
        if (known != prepared_.end()) return;
        program_.setup.push_back(launch(recipe, kernel, temporaries, 0));
        prepared_.emplace(std::move(key), std::move(made));
    }

    runtime::Launch launch(const tune::Recipe& recipe, const providers::Kernel& kernel,
                           const std::vector<std::optional<runtime::PointerArgument>>& temporaries, uint32_t step) {
        runtime::Launch l;
        l.kernel = kernel.program.name;
        for (const providers::PointerArgument& p : kernel.pointers)
            l.pointers.push_back(p.to == providers::PointerArgument::To::temporary
                                     ? *temporaries[p.index]
                                     : places_.place(recipe.region.values[p.index], recipe.region.problem.operands[p.index], step));
        l.integers = kernel.integers;
        l.tasks = kernel.tasks;
        l.grain = kernel.grain;
        l.scratch_bytes = kernel.scratch_bytes;
        const std::string ops = problem::summary(recipe.region.origins);
        l.label = recipe.region.problem.name + (ops.empty() ? "" : " ") + ops;
        return l;
    }

    runtime::HostProgram& program_;
    Names names_;
    Places places_;
    std::map<std::string, std::vector<runtime::PointerArgument>> prepared_;
};

} // namespace

runtime::HostProgram plan(const graph::Graph& g, const tune::Recipes& recipes) {
    runtime::HostProgram program;
    program.name = Names().unique(g.name);
    Planner planner(g, program);
    for (const tune::Recipe& r : recipes.recipes) planner.add(r);
    return program;
}

} // namespace codetta::plan
