// The conductor: a graph becomes an executable, stage by stage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codetta/base/options.h"
#include "codetta/base/target.h"
#include "codetta/graph/op_def.h"
#include "codetta/runtime/executable.h"
#include "codetta/sym/expr.h"

namespace codetta::compile {

struct StageTime {
    std::string stage;
    double time_ms = 0;
};

// What explain and the log tell of one compile; filled when asked for.
struct Report {
    std::vector<StageTime> stages;
    std::vector<std::string> recipes;     // per region: who runs it and why others don't
    size_t nodes = 0, regions = 0, kernels = 0, on_reference = 0;
};

// options.dump: a folder that gets every stage's text; any of the files can be fed back (codetta::cli).
// hints: likely values of size symbols. @throws UserError for what the user can mend, InternalError naming the stage and where the dumps lie.
runtime::Executable compile(graph::Graph graph, const base::Target& target, const base::Options& options, const sym::Bindings& hints = {}, Report* report = nullptr);

} // namespace codetta::compile
