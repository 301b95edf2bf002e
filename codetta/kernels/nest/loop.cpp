#include "codetta/kernels/nest/loop.h"

#include <algorithm>

namespace codetta::kernels::nest {

using problem::AxisId;
using problem::Stage;
using scalar::DType;
using sym::Expr;
using tile::Argument;
using tile::View;

namespace {

constexpr int64_t kChunkSteps = 128; // of a reduction: what one accumulator takes before it is joined with the others
constexpr size_t kChunkLevels = 2;

template <class Id>
bool contains(const std::vector<Id>& ids, Id id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

} // namespace

void LoopEmitter::lane_loop(AxisId axis, int64_t lanes, const Expr& begin, const Expr& end, const std::function<void()>& body) {
    lane_range(axis, lanes, begin, end, b_.facts().divisor(end - begin) % lanes == 0, body);
}

void LoopEmitter::lane_range(AxisId axis, int64_t lanes, const Expr& begin, const Expr& end, bool whole_vectors,
                             const std::function<void()>& body) {
    const std::string& name = p_.axis(axis).name;
    const Expr whole = whole_vectors ? end : b_.let(name + "_whole", begin + sym::floor_div(end - begin, lanes) * lanes);
    const auto at = [&](const Expr& index, std::optional<Expr> limit) {
        at_.set(axis, index);
        at_.open_lanes(axis, lanes, std::move(limit));
        body();
        at_.close_lanes();
    };
    if (end == begin + lanes)
        at(begin, std::nullopt);
    else
        b_.loop(name, begin, whole, lanes, [&](const Expr& index) { at(index, std::nullopt); });
    if (whole != end) b_.when({sym::lt(whole, end)}, [&] { at(whole, end - whole); });
}

void LoopEmitter::allocate_stored() {
    for (uint32_t i = 0; i < p_.stages.size(); ++i)
        if (s_.stored[i]) at_.value(i) = allocate(i);
}

void LoopEmitter::run(const Loop& loop) {
    nest(loop, loop.outer, [&] { inner_nest(loop); });
}

StageValue LoopEmitter::allocate(uint32_t stage) {
    const Stage& st = p_.stages[stage];
    // Whole vectors are stored and read: the innermost axis and every axis that is across lanes where the value is made or read are padded.
    std::vector<AxisId> across;
    for (const Loop& l : s_.loops) {
        const bool touches = std::any_of(l.stages.begin(), l.stages.end(), [&](problem::StageId id) {
            const auto& reads = p_.stage(id).reads;
            return id.value == stage || std::any_of(reads.begin(), reads.end(), [&](const problem::Read& r) {
                       return r.from == problem::Read::From::stage && r.source == stage;
                   });
        });
        if (touches && l.lane_axis) across.push_back(*l.lane_axis);
    }
    StageValue v;
    v.per_lane = s_.row_lanes.has_value();
    constexpr int64_t kMostLanes = 64;
    v.strides.assign(st.axes.size(), 0);
    Expr elements = at_.width();
    for (size_t i = st.axes.size(); i-- > 0;) {
        const AxisId a = st.axes[i];
        if (s_.row_lanes == a) {
            v.strides[i] = 1;
            v.relative.push_back(a);
        } else if (!contains(s_.tasks, a)) {
            v.in_scratch = true;
            v.strides[i] = elements;
            const bool padded = elements == Expr(at_.width()) || contains(across, a);
            elements = elements * (padded ? sym::ceil_div(p_.axis(a).extent, kMostLanes) * kMostLanes : p_.axis(a).extent);
        } else
            v.relative.push_back(a);
    }
    if (elements.is(0)) elements = at_.width(); // nothing runs, but views of it are written down
    v.view =
        v.in_scratch ? b_.scratch(st.name, st.dtype(), tile::make_layout({elements}, {1})) : b_.rmem(st.name, st.dtype(), {at_.width()});
    return v;
}

void LoopEmitter::nest(const Loop& l, const std::vector<AxisId>& axes, const std::function<void()>& body, size_t depth) {
    if (depth == axes.size()) return body();
    const AxisId a = axes[depth];
    if (l.lane_axis == a)
        lane_loop(a, l.lanes, 0, p_.axis(a).extent, [&] { nest(l, axes, body, depth + 1); });
    else
        b_.loop(p_.axis(a).name, 0, p_.axis(a).extent, [&](const Expr& index) {
            at_.set(a, index);
            nest(l, axes, body, depth + 1);
        });
}

void LoopEmitter::inner_nest(const Loop& l) {
    const bool lanes_reduced = l.lane_axis && contains(l.inner, *l.lane_axis);
    const States states = identities(l, lanes_reduced);
    if (const std::vector<int64_t> sizes = chunks(l); !sizes.empty()) {
        const Expr extent = p_.axis(l.inner.back()).extent;
        const bool whole = b_.facts().divisor(extent) % sizes.back() == 0;
        nest(l, {l.inner.begin(), l.inner.end() - 1}, [&] { inner_chunks(l, states, lanes_reduced, sizes, 0, extent, whole); });
    } else
        nest(l, l.inner, [&] { inner_body(l, states, lanes_reduced); });
    for (size_t i = 0; i < l.stages.size(); ++i)
        if (const Stage& st = p_.stage(l.stages[i]); st.combiner && !st.scan)
            finish_stage(l.stages[i], finished(st, lanes_reduced ? across_lanes(st, states[i], l.lanes) : states[i]));
}

LoopEmitter::States LoopEmitter::identities(const Loop& l, bool lanes_reduced) {
    States states(l.stages.size());
    for (size_t i = 0; i < l.stages.size(); ++i)
        if (const Stage& st = p_.stage(l.stages[i]); st.combiner) states[i] = identities(st, lanes_reduced ? l.lanes : at_.width());
    return states;
}

void LoopEmitter::inner_body(const Loop& l, const States& states, bool lanes_reduced) {
    for (size_t i = 0; i < l.stages.size(); ++i) {
        const Stage& st = p_.stage(l.stages[i]);
        const std::vector<Argument> arguments = at_.reads(st);
        if (!st.combiner)
            finish_stage(l.stages[i], at_.body(st, arguments));
        else {
            combine(st, states[i], arguments, lanes_reduced);
            if (st.scan) finish_stage(l.stages[i], finished(st, states[i]));
        }
    }
}

// The error of a sum grows with the number of terms that one accumulator takes, one after the other: elements of the last inner axis that
// are reduced on their own and then joined, the smallest part first. Empty for exact reductions and short ones.
std::vector<int64_t> LoopEmitter::chunks(const Loop& l) const {
    const auto is_rounded = [&](problem::StageId id) {
        const Stage& st = p_.stage(id);
        if (!st.combiner || st.combiner->name == "max" || st.combiner->name == "min" || st.combiner->name.starts_with("arg")) return false;
        const bool wide = std::any_of(st.reads.begin(), st.reads.end(), [&](const auto& r) { return read_dtype(p_, r) == DType::f64; });
        return std::any_of(st.combiner->state.begin(), st.combiner->state.end(),
                           [&](DType t) { return t == DType::f64 ? wide : scalar::is_float(t); }); // f64 holds sums of f32 as they are
    };
    if (l.inner.empty() || std::none_of(l.stages.begin(), l.stages.end(), is_rounded)) return {};
    if (std::any_of(l.stages.begin(), l.stages.end(), [&](problem::StageId id) { return p_.stage(id).scan.has_value(); })) return {};
    const int64_t longest = b_.facts().range(p_.axis(l.inner.back()).extent).hi;
    std::vector<int64_t> sizes;
    int64_t size = (l.lane_axis == l.inner.back() ? l.lanes : 1) * kChunkSteps;
    for (; longest > 2 * size && sizes.size() < kChunkLevels; size *= kChunkSteps) sizes.push_back(size);
    return sizes;
}

// The last inner axis from begin to end, by chunks of chunks; `whole`: end - begin is a multiple of the largest.
void LoopEmitter::inner_chunks(const Loop& l, const States& states, bool lanes_reduced, std::span<const int64_t> sizes, const Expr& begin,
                               const Expr& end, bool whole) {
    const AxisId last = l.inner.back();
    const std::string& name = p_.axis(last).name;
    if (sizes.empty()) {
        const auto body = [&] { inner_body(l, states, lanes_reduced); };
        if (l.lane_axis == last)
            lane_range(last, l.lanes, begin, end, whole || b_.facts().divisor(p_.axis(last).extent) % l.lanes == 0, body);
        else
            b_.loop(name, begin, end, [&](const Expr& index) {
                at_.set(last, index);
                body();
            });
        return;
    }
    const int64_t size = sizes.back();
    b_.loop(name + "_chunk", begin, end, size, [&](const Expr& from) {
        const States parts = identities(l, lanes_reduced);
        const Expr to = whole ? from + size : b_.let(name + "_end", sym::min(from + size, end));
        inner_chunks(l, parts, lanes_reduced, sizes.first(sizes.size() - 1), from, to, whole);
        for (size_t i = 0; i < l.stages.size(); ++i) {
            const Stage& st = p_.stage(l.stages[i]);
            if (!st.combiner) continue;
            std::vector<Argument> both(states[i].begin(), states[i].end());
            both.insert(both.end(), parts[i].begin(), parts[i].end());
            b_.map(states[i], both, st.combiner->combine);
        }
    });
}

std::vector<View> LoopEmitter::identities(const Stage& st, int64_t n) {
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
void LoopEmitter::combine(const Stage& st, const std::vector<View>& state, const std::vector<Argument>& arguments, bool lanes_reduced) {
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
            const scalar::Value identity =
                scalar::is_float(id.dtype) ? f.constant(id.dtype, id.float_value) : f.integer(id.dtype, id.int_value);
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

Expr LoopEmitter::position_of(const Stage& st) const {
    Expr position = 0;
    for (const AxisId a : st.reduce) position = position * p_.axis(a).extent + at_.lane_index(a);
    return position;
}

std::vector<View> LoopEmitter::across_lanes(const Stage& st, const std::vector<View>& state, int64_t lanes) {
    std::vector<View> one = identities(st, 1), spread;
    for (const View& v : one) spread.push_back(strided(v, 0, lanes, 0));
    b_.reduce(state, spread, st.combiner->combine);
    return one;
}

View LoopEmitter::finished(const Stage& st, const std::vector<View>& state) {
    if (st.combiner->finish.is_identity()) return state[0];
    const View v = b_.rmem(st.name, st.dtype(), {at_.width()});
    b_.map({v}, {state.begin(), state.end()}, st.combiner->finish);
    return v;
}

void LoopEmitter::finish_stage(problem::StageId id, const View& value) {
    const Stage& st = p_.stage(id);
    StageValue& home = at_.value(id.value);
    if (!s_.stored[id.value])
        home = {value, at_.lanes_open(), false, {}, {}};
    else if (home.in_scratch)
        at_.store(home, st, value);
    else
        b_.copy(value, home.view);
    at_.write(st, value);
}

} // namespace codetta::kernels::nest
