// Emits the loops of a schedule at one row (or one chunk of row lanes): the part of a nest that other templates share.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "codetta/kernels/nest/schedule.h"
#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels::nest {

class LoopEmitter {
public:
    LoopEmitter(const problem::Problem& p, const Schedule& s, tile::Builder& b, StageEmitter& at) : p_(p), s_(s), b_(b), at_(at) {}

    // Memory for the values that later loops read. @pre lanes are open when the schedule has row lanes
    void allocate_stored();
    void run(const Loop& loop);
    // body for begin <= axis < end, `lanes` at a time: whole vectors without a limit, then what is left with one.
    void lane_loop(problem::AxisId axis, int64_t lanes, const sym::Expr& begin, const sym::Expr& end, const std::function<void()>& body);

private:
    StageValue allocate(uint32_t stage);
    void nest(const Loop& l, const std::vector<problem::AxisId>& axes, const std::function<void()>& body, size_t depth = 0);
    void inner_nest(const Loop& l);
    using States = std::vector<std::vector<tile::View>>; // per stage of a loop, per component of its combiner; empty without one
    States identities(const Loop& l, bool lanes_reduced);
    void inner_body(const Loop& l, const States& states, bool lanes_reduced);
    std::vector<int64_t> chunks(const Loop& l) const;
    void inner_chunks(const Loop& l, const States& states, bool lanes_reduced, std::span<const int64_t> sizes, const sym::Expr& begin,
                      const sym::Expr& end, bool whole);
    void lane_range(problem::AxisId axis, int64_t lanes, const sym::Expr& begin, const sym::Expr& end, bool whole_vectors,
                    const std::function<void()>& body);
    std::vector<tile::View> identities(const problem::Stage& st, int64_t n);
    void combine(const problem::Stage& st, const std::vector<tile::View>& state, const std::vector<tile::Argument>& arguments,
                 bool lanes_reduced);
    sym::Expr position_of(const problem::Stage& st) const;
    std::vector<tile::View> across_lanes(const problem::Stage& st, const std::vector<tile::View>& state, int64_t lanes);
    tile::View finished(const problem::Stage& st, const std::vector<tile::View>& state);
    void finish_stage(problem::StageId id, const tile::View& value);

    const problem::Problem& p_;
    const Schedule& s_;
    tile::Builder& b_;
    StageEmitter& at_;
};

} // namespace codetta::kernels::nest
