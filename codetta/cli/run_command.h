// codetta run: what it was asked, and one function per stage.
#pragma once

#include "codetta/cli/data.h"
#include "codetta/cli/session.h"
#include "codetta/cli/stage_file.h"

namespace codetta::cli {

struct RunWishes {
    std::string file, kernels;
    sym::Bindings sizes;
    std::map<std::string, Range> ranges;
    uint64_t seed = 1;
    int64_t elements = 4096;
    int repeat = 1;
    bool interpret = false, compare = false, print = false;
};

// Each returns false when a comparison failed.
bool run_graph(const Session& session, const RunWishes& wishes, const StageFile& file);
bool run_problems(const Session& session, const RunWishes& wishes, const StageFile& file);
bool run_kernels(const Session& session, const RunWishes& wishes, const StageFile& file);
bool run_program(const Session& session, const RunWishes& wishes, const StageFile& file);

} // namespace codetta::cli
