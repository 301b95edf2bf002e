// The conductor: a graph becomes an executable, stage by stage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codetta/base/options.h"
#include "codetta/base/target.h"
#include "codetta/graph/op_def.h"
#include "codetta/problem/problem.h"
#include "codetta/runtime/executable.h"
#include "codetta/sym/expr.h"

namespace codetta::compile {

struct StageTime {
    std::string stage;
    double time_ms = 0;
};

// One region: who runs it and why.
struct RegionReport {
    std::string name, provider, template_name;
    std::string ops;                  // `addmm+gelu model.py:12`
    std::vector<std::string> kernels; // of the unconditional variant
    size_t variants = 0;
    std::vector<std::string> not_taken; // `gemm: no product of two operands`
    std::vector<std::string> not_fused; // what was left out of the region, and why
};

// What explain and the log tell of one compile; filled when asked for.
struct Report {
    std::vector<StageTime> stages;
    std::vector<std::string> recipes; // per region, one line: who runs it and why others don't
    std::vector<RegionReport> region_reports;
    size_t nodes = 0, regions = 0, kernels = 0, on_reference = 0;
};

// options.dump: a folder that gets every stage's text; any of the files can be fed back (codetta::cli).
// hints: likely values of size symbols. @throws UserError for what the user can mend, InternalError naming the stage and where the dumps
// lie.
runtime::Executable compile(graph::Graph graph, const base::Target& target, const base::Options& options, const sym::Bindings& hints = {},
                            Report* report = nullptr);

// The same with a vocabulary of the caller's, which holds every op of the graph and those that they decompose into.
runtime::Executable compile(graph::Graph graph, const graph::OpSet& ops, const base::Target& target, const base::Options& options,
                            const sym::Bindings& hints = {}, Report* report = nullptr);

// One problem alone, as a program over its operands: the inputs in order, then the size symbols that no shape binds; outputs in order.
// This is how a dumped problem is fed back.
runtime::Executable compile(problem::Problem problem, const base::Target& target, const base::Options& options,
                            const sym::Bindings& hints = {}, Report* report = nullptr);

} // namespace codetta::compile
