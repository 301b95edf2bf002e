#include "codetta/kernels/nest/emit.h"

#include <algorithm>

#include "codetta/kernels/nest/loop.h"

namespace codetta::kernels::nest {

using problem::AxisId;
using problem::Problem;
using sym::Expr;

namespace {

// Tasks that are worth a thread: some thousands of elements.
int64_t grain(const Problem& p, const Schedule& s) {
    Expr inner = 1;
    for (const Loop& l : s.loops) {
        Expr n = 1;
        for (const auto* axes : {&l.outer, &l.inner})
            for (const AxisId a : *axes) n = n * p.axis(a).extent;
        inner = sym::max(inner, n);
    }
    const Expr work = (s.row_lanes ? Expr(s.chunk) : Expr(1)) * inner;
    const int64_t elements = work.constant().value_or(std::max<int64_t>(p.facts.range(work).lo, 1));
    return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, elements));
}

} // namespace

Kernel emit(const Problem& p, const Schedule& s, const std::string& name) {
    tile::Builder b(name);
    Binding bind(p, b);
    StageEmitter at(p, b, bind);
    LoopEmitter loops(p, s, b, at);
    std::vector<std::string> names;
    std::vector<Expr> extents;
    const Expr lane_extent = s.row_lanes ? p.axis(*s.row_lanes).extent : Expr(1);
    if (s.row_lanes) {
        names.push_back(p.axis(*s.row_lanes).name + "_chunk");
        extents.push_back(sym::ceil_div(lane_extent, s.chunk));
    }
    const std::vector<Expr> indices = at.tasks(s.tasks, std::move(names), std::move(extents));
    const auto body = [&] {
        loops.allocate_stored();
        for (const Loop& l : s.loops) loops.run(l);
    };
    if (!s.row_lanes)
        body();
    else {
        const Expr begin = indices.back() * s.chunk;
        const bool whole_chunks = b.facts().divisor(lane_extent) % s.chunk == 0;
        loops.lane_loop(*s.row_lanes, s.lanes, begin, whole_chunks ? begin + s.chunk : sym::min(begin + s.chunk, lane_extent), body);
    }
    return bind.make(std::move(b).finish(), grain(p, s));
}

} // namespace codetta::kernels::nest
