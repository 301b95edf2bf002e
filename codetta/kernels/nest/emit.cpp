#include "codetta/kernels/nest/emit.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels::nest {

using problem::AxisId;
using problem::Problem;
using problem::Read;
using problem::Stage;
using scalar::DType;
using sym::Expr;
using tile::Argument;
using tile::Builder;
using tile::View;

namespace {

bool contains(const std::vector<AxisId>& axes, AxisId a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); }

class Emitter {
public:
    Emitter(const Problem& p, const Schedule& s, const std::string& name) : p_(p), s_(s), b_(name), bind_(p, b_), at_(p, b_, bind_) {}

    Kernel run() {
        std::vector<std::string> names;
        std::vector<Expr> extents;
        for (const AxisId a : s_.tasks) {
            names.push_back(p_.axis(a).name);
            extents.push_back(p_.axis(a).extent);
        }
        if (s_.lanes_are_rows) {
            names.push_back(p_.axis(*s_.lane_axis).name + "_chunk");
            extents.push_back(sym::ceil_div(lane_extent(), s_.chunk));
        }
        const std::vector<Expr> indices = b_.tasks(names, extents);
        for (size_t i = 0; i < s_.tasks.size(); ++i) at_.set(s_.tasks[i], indices[i]);
        if (!s_.lanes_are_rows) task_body();
        else {
            const Expr begin = indices.back() * s_.chunk;
            const bool whole_chunks = b_.facts().divisor(lane_extent()) % s_.chunk == 0;
            const Expr end = whole_chunks ? begin + s_.chunk : sym::min(begin + s_.chunk, lane_extent());
            lane_loop(begin, end, [&] { task_body(); });
        }
        return bind_.make(std::move(b_).finish(), grain());
    }

private:
    const Stage& stage(problem::StageId s) const { return p_.stage(s); }
    Expr lane_extent() const { return p_.axis(*s_.lane_axis).extent; }

    // Tasks that are worth a thread: some thousands of elements.
    int64_t grain() const {
        Expr work = s_.lanes_are_rows ? Expr(s_.chunk) : Expr(1);
        Expr inner = 1;
        for (const Loop& l : s_.loops) {
            Expr n = 1;
            for (const auto* axes : {&l.outer, &l.inner})
                for (const AxisId a : *axes) n = n * p_.axis(a).extent;
            inner = sym::max(inner, n);
        }
        work = work * inner;
        const sym::Range range = p_.facts.range(work);
        const int64_t elements = work.constant().value_or(std::max<int64_t>(range.lo, 1));
        return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, elements));
    }

    // Whole vectors without masks, then what is left with a limit.
    void lane_loop(const Expr& begin, const Expr& end, const std::function<void()>& body) {
        const std::string& name = p_.axis(*s_.lane_axis).name;
        const Expr whole = b_.facts().divisor(end - begin) % s_.lanes == 0 ? end : b_.let(name + "_whole", begin + sym::floor_div(end - begin, s_.lanes) * s_.lanes);
        const auto at = [&](const Expr& index, std::optional<Expr> limit) {
            at_.set(*s_.lane_axis, index);
            at_.open_lanes(*s_.lane_axis, s_.lanes, std::move(limit));
            body();
            at_.close_lanes();
        };
        if (end == begin + s_.lanes) at(begin, std::nullopt);
        else b_.loop(name, begin, whole, s_.lanes, [&](const Expr& index) { at(index, std::nullopt); });
        if (whole != end) b_.when({sym::lt(whole, end)}, [&] { at(whole, end - whole); });
    }

    void task_body() {
        for (uint32_t i = 0; i < p_.stages.size(); ++i)
            if (s_.stored[i]) at_.value(i) = allocate(p_.stages[i]);
        for (const Loop& l : s_.loops) nest(l, l.outer, [&] { inner_nest(l); });
    }

    StageValue allocate(const Stage& st) {
        StageValue v;
        v.per_lane = s_.lanes_are_rows;
        v.strides.assign(st.axes.size(), 0);
        Expr elements = at_.width();
        for (size_t i = st.axes.size(); i-- > 0;) {
            const AxisId a = st.axes[i];
            if (s_.lanes_are_rows && a == *s_.lane_axis) {
                v.strides[i] = 1;
                v.relative.push_back(a);
            } else if (!contains(s_.tasks, a)) {
                v.in_scratch = true;
                v.strides[i] = elements;
                // Whole vectors are stored, so the lane axis is padded.
                elements = elements * (s_.lane_axis == a ? sym::ceil_div(p_.axis(a).extent, s_.lanes) * s_.lanes : p_.axis(a).extent);
            } else v.relative.push_back(a);
        }
        v.view = v.in_scratch ? b_.scratch(st.name, st.dtype(), tile::make_layout({elements}, {1})) : b_.rmem(st.name, st.dtype(), {at_.width()});
        return v;
    }

    void nest(const Loop& l, const std::vector<AxisId>& axes, const std::function<void()>& body, size_t depth = 0) {
        if (depth == axes.size()) return body();
        const AxisId a = axes[depth];
        if (s_.lane_axis == a) lane_loop(0, lane_extent(), [&] { nest(l, axes, body, depth + 1); });
        else
            b_.loop(p_.axis(a).name, 0, p_.axis(a).extent, [&](const Expr& index) {
                at_.set(a, index);
                nest(l, axes, body, depth + 1);
            });
    }

    void inner_nest(const Loop& l) {
        std::vector<std::vector<View>> states(l.stages.size());
        const bool lanes_reduced = s_.lane_axis && contains(l.inner, *s_.lane_axis);
        for (size_t i = 0; i < l.stages.size(); ++i)
            if (const Stage& st = stage(l.stages[i]); st.combiner) states[i] = identities(st, lanes_reduced ? s_.lanes : at_.width());
        nest(l, l.inner, [&] {
            for (size_t i = 0; i < l.stages.size(); ++i) {
                const Stage& st = stage(l.stages[i]);
                const std::vector<Argument> arguments = at_.reads(st);
                if (!st.combiner) finish_stage(l.stages[i], at_.body(st, arguments));
                else {
                    combine(st, states[i], arguments, lanes_reduced);
                    if (st.scan) finish_stage(l.stages[i], finished(st, states[i]));
                }
            }
        });
        for (size_t i = 0; i < l.stages.size(); ++i)
            if (const Stage& st = stage(l.stages[i]); st.combiner && !st.scan) finish_stage(l.stages[i], finished(st, lanes_reduced ? across_lanes(st, states[i]) : states[i]));
    }

    std::vector<View> identities(const Stage& st, int64_t n) {
        std::vector<View> state;
        for (size_t c = 0; c < st.combiner->state.size(); ++c) {
            scalar::Builder f;
            const scalar::Op& id = st.combiner->identity[c];
            const scalar::Value v = scalar::is_float(id.dtype) ? f.constant(id.dtype, id.float_value) : f.integer(id.dtype, id.int_value);
            state.push_back(b_.rmem(st.name + "_state", st.combiner->state[c], {n}));
            b_.map({state.back()}, {}, f.finish({v}));
        }
        return state;
    }

    // state := combine(state, lift(body(reads), position)); lanes past the end keep the identity.
    void combine(const Stage& st, const std::vector<View>& state, const std::vector<Argument>& arguments, bool lanes_reduced) {
        const scalar::Combiner& c = *st.combiner;
        scalar::Builder f;
        std::vector<scalar::Value> old, in;
        for (const DType t : c.state) old.push_back(f.parameter(t));
        for (const DType t : st.body.parameters()) in.push_back(f.parameter(t));
        const scalar::Value position = f.parameter(DType::i64);
        const bool masked = lanes_reduced && at_.limit();
        const scalar::Value lane = masked ? f.parameter(DType::i64) : 0, limit = masked ? f.parameter(DType::i64) : 0;
        const scalar::Value element = f.inline_call(st.body, in)[0];
        std::vector<scalar::Value> both = old;
        for (const scalar::Value v : f.inline_call(c.lift, std::vector<scalar::Value>{element, position})) both.push_back(v);
        if (masked) {
            const scalar::Value inside = f.apply(scalar::Prim::lt, {lane, limit});
            for (size_t i = 0; i < c.state.size(); ++i) {
                const scalar::Op& id = c.identity[i];
                const scalar::Value identity = scalar::is_float(id.dtype) ? f.constant(id.dtype, id.float_value) : f.integer(id.dtype, id.int_value);
                both[old.size() + i] = f.apply(scalar::Prim::select, {inside, both[old.size() + i], identity});
            }
        }
        std::vector<Argument> all;
        for (const View& v : state) all.emplace_back(v);
        all.insert(all.end(), arguments.begin(), arguments.end());
        all.emplace_back(position_of(st));
        if (masked) all.insert(all.end(), {Argument(Expr::symbol("c0")), Argument(*at_.limit())});
        b_.map(state, all, f.finish(f.inline_call(c.combine, both)));
    }

    Expr position_of(const Stage& st) const {
        Expr position = 0;
        for (const AxisId a : st.reduce) position = position * p_.axis(a).extent + at_.lane_index(a);
        return position;
    }

    std::vector<View> across_lanes(const Stage& st, const std::vector<View>& state) {
        std::vector<View> one = identities(st, 1), spread;
        for (const View& v : one) spread.push_back(strided(v, 0, s_.lanes, 0));
        b_.reduce(state, spread, st.combiner->combine);
        return one;
    }

    View finished(const Stage& st, const std::vector<View>& state) {
        if (st.combiner->finish.is_identity()) return state[0];
        const View v = b_.rmem(st.name, st.dtype(), {at_.width()});
        b_.map({v}, {state.begin(), state.end()}, st.combiner->finish);
        return v;
    }

    void finish_stage(problem::StageId id, const View& value) {
        const Stage& st = stage(id);
        StageValue& home = at_.value(id.value);
        if (!s_.stored[id.value]) home = {value, at_.lanes_open(), false, {}, {}};
        else if (home.in_scratch) at_.store(home, st, value);
        else b_.copy(value, home.view);
        at_.write(st, value);
    }

    const Problem& p_;
    const Schedule& s_;
    Builder b_;
    Binding bind_;
    StageEmitter at_;
};

} // namespace

Kernel emit(const Problem& p, const Schedule& s, const std::string& name) { return Emitter(p, s, name).run(); }

} // namespace codetta::kernels::nest
