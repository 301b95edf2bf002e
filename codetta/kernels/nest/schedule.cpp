#include "codetta/kernels/nest/schedule.h"

#include <algorithm>
#include <bit>

#include "codetta/kernels/lanes.h"
#include "codetta/problem/rows.h"
#include "codetta/scalar/function.h"

namespace codetta::kernels::nest {

using problem::AxisId;
using problem::Problem;
using problem::Read;
using problem::Stage;

namespace {

bool contains(const std::vector<AxisId>& axes, AxisId a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); }

// How a memory access lies along an axis: 0 the same element, 1 neighbours, 2 strided.
// @pre can_lie_across_lanes
int lie(const Problem& p, const problem::Access& access, const problem::Operand& o, AxisId a) {
    const auto along = address_along(p, access, o.strides, a);
    return along->coefficient.is(0) ? 0 : along->coefficient.is(1) ? 1 : 2;
}

// Worth of an axis as the one across the lanes; nullopt: some access forbids it. What a reduction reads counts more: it is read for every
// step.
std::optional<double> lane_worth(const Problem& p, const std::vector<problem::StageId>& stages, AxisId a) {
    double worth = 0;
    const auto weigh = [&](const problem::Access& access, const problem::Operand& o, double weight) {
        const int l = lie(p, access, o, a);
        worth += weight * (l == 1 ? 4 : l == 0 ? 1 : -3);
    };
    for (const problem::StageId id : stages) {
        const Stage& s = p.stage(id);
        if (s.scan == a) return std::nullopt;
        if (!contains(s.axes, a) && !contains(s.reduce, a)) continue;
        if (!can_lie_across_lanes(p, s, a)) return std::nullopt;
        for (const Read& r : s.reads) {
            if (r.from == Read::From::operand) weigh(r.access, p.operands[r.source], s.combiner ? 4 : 1);
            if (r.from == Read::From::stage)
                for (size_t i = 0; i < r.access.coordinates.size(); ++i) {
                    if (!sym::depends_on(r.access.coordinates[i], p.axis(a).name)) continue;
                    if (r.access.coordinates[i] != sym::Expr::symbol(p.axis(p.stages[r.source].axes[i]).name)) return std::nullopt;
                    worth += i + 1 == r.access.coordinates.size() ? 2 : -1; // stage values lie row major in scratch
                }
        }
        for (const problem::Write& w : s.writes) weigh(w.access, p.operand(w.operand), 2);
    }
    return worth;
}

int64_t widest_bytes(const Problem& p, const std::vector<problem::StageId>& stages) {
    int64_t widest = 4;
    for (const problem::StageId id : stages)
        for (const scalar::Op& o : p.stage(id).body.ops) widest = std::max(widest, scalar::bytes(o.dtype));
    return widest;
}

// Four vectors of the widest type at a time, fewer when the axis is short.
int64_t lanes_of(const Problem& p, const std::vector<problem::StageId>& stages, AxisId a, int vector_bits) {
    const int64_t lanes = 4 * vector_bits / 8 / widest_bytes(p, stages);
    const auto extent = p.axis(a).extent.constant();
    return extent && *extent < lanes ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(*extent, 1)))) : lanes;
}

std::optional<AxisId> best_lane_axis(const Problem& p, const std::vector<problem::StageId>& stages) {
    std::optional<AxisId> axis;
    double best = 0;
    for (uint32_t i = 0; i < p.axes.size(); ++i) {
        const AxisId a{i};
        const bool used = std::any_of(stages.begin(), stages.end(),
                                      [&](problem::StageId s) { return contains(p.stage(s).axes, a) || contains(p.stage(s).reduce, a); });
        if (!used || p.axis(a).extent.is(1) || is_sequential(p, a)) continue;
        const auto worth = lane_worth(p, stages, a);
        if (!worth || *worth < best || *worth <= 0) continue; // a later, inner axis wins a tie
        best = *worth;
        axis = a;
    }
    return axis;
}

Loop loop_of(const Stage& st, const Schedule& s) {
    Loop loop;
    for (const AxisId a : st.axes)
        if (!contains(s.tasks, a) && s.row_lanes != a) (st.scan == a ? loop.inner : loop.outer).push_back(a);
    loop.inner.insert(loop.inner.end(), st.reduce.begin(), st.reduce.end());
    return loop;
}

void move_last(std::vector<AxisId>& axes, AxisId a) {
    if (const auto at = std::find(axes.begin(), axes.end(), a); at != axes.end()) std::rotate(at, at + 1, axes.end());
}

void choose_lanes(const Problem& p, int vector_bits, Loop& loop) {
    loop.lane_axis = best_lane_axis(p, loop.stages);
    if (!loop.lane_axis) return;
    if (!contains(loop.outer, *loop.lane_axis) && !contains(loop.inner, *loop.lane_axis)) {
        loop.lane_axis.reset();
        return;
    }
    loop.lanes = lanes_of(p, loop.stages, *loop.lane_axis, vector_bits);
    move_last(loop.outer, *loop.lane_axis);
    move_last(loop.inner, *loop.lane_axis);
}

bool same_set(std::vector<AxisId> a, std::vector<AxisId> b) {
    const auto less = [](AxisId x, AxisId y) { return x.value < y.value; };
    std::sort(a.begin(), a.end(), less);
    std::sort(b.begin(), b.end(), less);
    return a == b;
}

std::vector<AxisId> all_axes(const Loop& loop) {
    std::vector<AxisId> all = loop.outer;
    all.insert(all.end(), loop.inner.begin(), loop.inner.end());
    return all;
}

// A stage joins the loop when everything it reads of it is ready in the same iteration.
bool can_join(const Problem& p, const Loop& loop, const Stage& st, const Loop& own) {
    if (st.scan || !same_set(all_axes(loop), all_axes(own))) return false;
    if (!own.inner.empty() && !loop.inner.empty() && !same_set(loop.inner, own.inner)) return false;
    for (const problem::StageId id : loop.stages) {
        const Stage& other = p.stage(id);
        if (other.scan) return false;
        for (const problem::Write& w : other.writes) // a later stage may read or overwrite that memory
            for (const problem::Write& mine : st.writes)
                if (mine.operand == w.operand) return false;
        for (const Read& r : st.reads) {
            if (r.from == Read::From::operand)
                for (const problem::Write& w : other.writes)
                    if (w.operand.value == r.source || p.operand(w.operand).aliases == problem::OperandId{r.source}) return false;
            if (r.from != Read::From::stage || r.source != id.value) continue;
            if (other.combiner) return false;
            for (size_t i = 0; i < r.access.coordinates.size(); ++i)
                if (r.access.coordinates[i] != sym::Expr::symbol(p.axis(other.axes[i]).name)) return false;
        }
    }
    return true;
}

std::vector<AxisId> row_axes(const Problem& p) {
    std::vector<AxisId> rows;
    if (const auto view = problem::as_rows(p))
        for (const AxisId a : view->rows)
            if (!is_sequential(p, a)) rows.push_back(a);
    return rows;
}

void make_loops(const Problem& p, int vector_bits, const std::vector<problem::StageId>& alone, Schedule& s) {
    s.stored.assign(p.stages.size(), false);
    for (uint32_t i = 0; i < p.stages.size(); ++i) {
        const Stage& st = p.stages[i];
        Loop own = loop_of(st, s);
        const auto is_alone = [&](problem::StageId id) { return std::find(alone.begin(), alone.end(), id) != alone.end(); };
        const bool apart = is_alone(problem::StageId{i}) || (!s.loops.empty() && is_alone(s.loops.back().stages.back()));
        if (s.loops.empty() || apart || !can_join(p, s.loops.back(), st, own))
            s.loops.push_back(std::move(own));
        else if (!own.inner.empty())
            s.loops.back().outer = own.outer, s.loops.back().inner = own.inner;
        s.loops.back().stages.push_back(problem::StageId{i});
    }
    if (vector_bits > 0 && !s.row_lanes)
        for (Loop& loop : s.loops) choose_lanes(p, vector_bits, loop);
    for (const Loop& loop : s.loops)
        for (const problem::StageId id : loop.stages)
            for (const Read& r : p.stage(id).reads)
                if (r.from == Read::From::stage &&
                    std::find(loop.stages.begin(), loop.stages.end(), problem::StageId{r.source}) == loop.stages.end())
                    s.stored[r.source] = true;
}

} // namespace

Schedule schedule(const Problem& p, int vector_bits) {
    Schedule s;
    const std::vector<AxisId> rows = row_axes(p);
    std::vector<problem::StageId> all;
    for (uint32_t i = 0; i < p.stages.size(); ++i) all.push_back(problem::StageId{i});
    if (vector_bits > 0)
        if (const auto axis = best_lane_axis(p, all); axis && contains(rows, *axis)) {
            s.row_lanes = axis;
            s.lanes = lanes_of(p, all, *axis, vector_bits);
            s.chunk = s.lanes * 16;
        }
    for (const AxisId a : rows)
        if (s.row_lanes != a) s.tasks.push_back(a);
    make_loops(p, vector_bits, {}, s);
    return s;
}

Schedule schedule_rows(const Problem& p, int vector_bits, const std::vector<problem::StageId>& alone) {
    Schedule s;
    s.tasks = row_axes(p);
    make_loops(p, vector_bits, alone, s);
    return s;
}

} // namespace codetta::kernels::nest
