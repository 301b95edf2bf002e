// How a Problem runs as a loop nest: which axes are tasks, which axis lies across the lanes, which stages share a loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codetta/problem/problem.h"

namespace codetta::kernels::nest {

// Stages that run in one loop nest over the same inner axes. `outer` are axes of the results, `inner` those that are reduced or scanned
// (state lives around them); the lane axis, if among them, is the last of its list.
struct Loop {
    std::vector<problem::AxisId> outer, inner;
    std::vector<problem::StageId> stages;
    std::optional<problem::AxisId> lane_axis; // of outer or inner; nullopt: one element at a time, or row lanes
    int64_t lanes = 1;
};

struct Schedule {
    std::vector<problem::AxisId> tasks;       // one task = one tuple of these (and one chunk of the row lanes)
    std::optional<problem::AxisId> row_lanes; // a row axis that lies across the lanes of every loop: reductions run lane by lane
    int64_t lanes = 1;                        // of row_lanes: elements handled by one statement
    int64_t chunk = 1;                        // of row_lanes: elements of one task, a multiple of lanes
    std::vector<Loop> loops;
    std::vector<bool> stored; // per stage: its value is kept for later loops (scratch when it has inner axes)
};

// @pre no read of a stage at another place than its own index, unless that axis is an inner axis of the reader
// vector_bits 0: scalar code.
Schedule schedule(const problem::Problem& p, int vector_bits);
// Without row lanes; the stages `alone` get a loop of their own (the blocked products of other templates).
Schedule schedule_rows(const problem::Problem& p, int vector_bits, const std::vector<problem::StageId>& alone);

} // namespace codetta::kernels::nest
