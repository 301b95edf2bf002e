#include "codetta/kernels/nest/emit.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/kernels/binding.h"

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

// A stage's value where later statements find it: a fragment of 1 or `lanes` elements, or scratch memory over its inner axes.
struct Stored {
    View view;
    bool in_scratch = false;
    std::vector<AxisId> inner;     // in_scratch: axes and strides of the memory
    std::vector<Expr> strides;
};

class Emitter {
public:
    Emitter(const Problem& p, const Schedule& s, const std::string& name) : p_(p), s_(s), b_(name), bind_(p, b_), values_(p.stages.size()) {}

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
        for (size_t i = 0; i < s_.tasks.size(); ++i) set(s_.tasks[i], indices[i]);
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
    void set(AxisId a, const Expr& index) { env_.insert_or_assign(p_.axis(a).name, index); }
    int64_t width() const { return lane_active_ ? s_.lanes : 1; }

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
        const bool was_active = std::exchange(lane_active_, true);
        const Expr whole = b_.facts().divisor(end - begin) % s_.lanes == 0 ? end : b_.let(name + "_whole", begin + sym::floor_div(end - begin, s_.lanes) * s_.lanes);
        const auto at = [&](const Expr& index, std::optional<Expr> limit) {
            set(*s_.lane_axis, index);
            lane_begin_ = index;
            limit_ = std::move(limit);
            body();
        };
        if (end == begin + s_.lanes) at(begin, std::nullopt);
        else b_.loop(name, begin, whole, s_.lanes, [&](const Expr& index) { at(index, std::nullopt); });
        if (whole != end) b_.when({sym::lt(whole, end)}, [&] { at(whole, end - whole); });
        lane_active_ = was_active;
        limit_.reset();
    }

    void task_body() {
        for (uint32_t i = 0; i < p_.stages.size(); ++i)
            if (s_.stored[i]) values_[i] = allocate(p_.stages[i]);
        for (const Loop& l : s_.loops) nest(l, l.outer, [&] { inner_nest(l); });
    }

    Stored allocate(const Stage& st) {
        Stored v;
        Expr elements = 1;
        for (size_t i = st.axes.size(); i-- > 0;) {
            const AxisId a = st.axes[i];
            if (contains(s_.tasks, a) || (s_.lanes_are_rows && a == *s_.lane_axis)) continue;
            v.inner.insert(v.inner.begin(), a);
            v.strides.insert(v.strides.begin(), elements);
            elements = elements * p_.axis(a).extent;
        }
        v.in_scratch = !v.inner.empty();
        if (!v.in_scratch) v.view = b_.rmem(st.name, st.dtype(), {width()});
        else {
            for (Expr& stride : v.strides) stride = stride * width();
            v.view = b_.scratch(st.name, st.dtype(), tile::make_layout({elements * width()}, {1}));
        }
        return v;
    }

    void nest(const Loop& l, const std::vector<AxisId>& axes, const std::function<void()>& body, size_t depth = 0) {
        if (depth == axes.size()) return body();
        const AxisId a = axes[depth];
        if (s_.lane_axis == a) lane_loop(0, lane_extent(), [&] { nest(l, axes, body, depth + 1); });
        else
            b_.loop(p_.axis(a).name, 0, p_.axis(a).extent, [&](const Expr& index) {
                set(a, index);
                nest(l, axes, body, depth + 1);
            });
    }

    void inner_nest(const Loop& l) {
        std::vector<std::vector<View>> states(l.stages.size());
        const bool lanes_reduced = s_.lane_axis && contains(l.inner, *s_.lane_axis);
        for (size_t i = 0; i < l.stages.size(); ++i)
            if (const Stage& st = stage(l.stages[i]); st.combiner) states[i] = identities(st, lanes_reduced ? s_.lanes : width());
        nest(l, l.inner, [&] {
            for (size_t i = 0; i < l.stages.size(); ++i) {
                const Stage& st = stage(l.stages[i]);
                std::vector<Argument> arguments = reads(st);
                if (!st.combiner) finish_stage(l.stages[i], value_of_body(st, arguments));
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
        const bool masked = lanes_reduced && limit_;
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
        if (masked) all.insert(all.end(), {Argument(Expr::symbol("c0")), Argument(*limit_)});
        b_.map(state, all, f.finish(f.inline_call(c.combine, both)));
    }

    Expr position_of(const Stage& st) const {
        Expr position = 0;
        for (const AxisId a : st.reduce) position = position * p_.axis(a).extent + lane_index(a);
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
        const View v = b_.rmem(st.name, st.dtype(), {width()});
        b_.map({v}, {state.begin(), state.end()}, st.combiner->finish);
        return v;
    }

    View value_of_body(const Stage& st, const std::vector<Argument>& arguments) {
        if (st.body.is_identity() && std::holds_alternative<View>(arguments[0]) && b_.dtype(std::get<View>(arguments[0])) == st.dtype()) return std::get<View>(arguments[0]);
        const View v = b_.rmem(st.name, st.dtype(), {width()});
        b_.map({v}, arguments, st.body);
        return v;
    }

    void finish_stage(problem::StageId id, const View& value) {
        const Stage& st = stage(id);
        if (!s_.stored[id.value]) values_[id.value] = Stored{value, false, {}, {}};
        else {
            const Stored& home = values_[id.value];
            if (!home.in_scratch) b_.copy(value, home.view);
            else b_.copy(value, scratch_place(home), {.limits = tail_limits(scratch_place(home))});
        }
        for (const problem::Write& w : st.writes) write(st, w, value);
    }

    View scratch_place(const Stored& home) const {
        Expr offset = 0;
        for (size_t i = 0; i < home.inner.size(); ++i) offset = offset + env_.at(p_.axis(home.inner[i]).name) * home.strides[i];
        return strided(home.view, offset, width(), 1);
    }

    // --- memory -------------------------------------------------------------------------------------------------------------------------------------------

    // The index of an axis for each lane: c0 counts the lanes.
    Expr lane_index(AxisId a) const {
        const Expr& index = env_.at(p_.axis(a).name);
        return lane_active_ && s_.lane_axis == a ? index + Expr::symbol("c0") : index;
    }

    std::vector<tile::Limit> tail_limits(const View& v) const {
        if (!lane_active_ || !limit_) return {};
        return {tile::limit_of_mode(v.layout, 0, *limit_)};
    }

    // The memory of an access for the lanes at hand, its limits, and the conditions that hold or fail for all lanes alike.
    struct Place {
        View view;
        std::vector<tile::Limit> limits;
        tile::Conditions conditions;
        bool per_lane = false;
    };

    Place place(const Stage& st, const problem::Access& access, const View& memory, const std::vector<Expr>& strides, const sym::Substitution& indices) {
        Place at;
        const Expr where = address(access, strides);
        const std::string* lane = lane_active_ ? &p_.axis(*s_.lane_axis).name : nullptr;
        const auto local = [&](const Expr& e) { return sym::substitute(sym::substitute(e, indices), env_); };
        Expr step = 0;
        if (lane) {
            const auto along = sym::as_affine(where, *lane);
            CODETTA_CHECK(along, "stage {}: {} is not affine along the lanes", st.name, sym::to_string(where));
            step = along->coefficient;
        }
        at.per_lane = lane && !step.is(0);
        const int64_t n = at.per_lane ? s_.lanes : 1;
        at.view = strided(memory, local(where), n, step);
        for (const sym::Condition& c : access.guard) {
            const Expr left = c.lhs - c.rhs;  // left < 0, <= 0, == 0, != 0
            if (!lane || !sym::depends_on(left, *lane)) {
                at.conditions.push_back({c.relation, local(c.lhs), local(c.rhs)});
                continue;
            }
            const auto along = sym::as_affine(left, *lane);
            CODETTA_CHECK(along && (c.relation == sym::Relation::lt || c.relation == sym::Relation::le), "stage {}: guard {} can't run across lanes", st.name, sym::to_string(c));
            // coefficient * c0 < -left(at c0 = 0) [+ 1]
            at.limits.push_back({tile::make_layout({layout::IntTuple(n)}, {layout::IntTuple(along->coefficient)}), local(-left) + (c.relation == sym::Relation::le ? 1 : 0)});
            if (!at.per_lane) at.per_lane = true, at.view = strided(memory, local(where), s_.lanes, step), at.limits.back().coordinate = tile::make_layout({layout::IntTuple(s_.lanes)}, {layout::IntTuple(along->coefficient)});
        }
        if (at.per_lane && limit_) at.limits.push_back(tile::limit_of_mode(at.view.layout, 0, *limit_));
        return at;
    }

    // Binds `$i` of an access: loads the integers, once each.
    sym::Substitution indices(const Stage& st, const problem::Access& access) {
        sym::Substitution found;
        std::set<std::string> names;
        for (const Expr& e : access.coordinates) sym::collect_symbols(e, names);
        for (const sym::Condition& c : access.guard) sym::collect_symbols(c, names);
        for (const std::string& name : names) {
            if (name[0] != '$') continue;
            const Read& r = st.reads[std::stoul(name.substr(1))];
            if (r.from == Read::From::index) {
                found.emplace(name, sym::substitute(r.expression, env_));
                continue;
            }
            View element;
            if (r.from == Read::From::stage) element = strided(values_[r.source].view, stage_offset(r), 1, 1);
            else {
                CODETTA_CHECK(r.access.guard.empty(), "stage {}: an index that is read under a guard", st.name);
                const bool lanes = std::exchange(lane_active_, false);
                element = place(st, r.access, bind_.operand(problem::OperandId{r.source}), p_.operands[r.source].strides, indices(st, r.access)).view;
                lane_active_ = lanes;
            }
            found.emplace(name, b_.load_index("i_" + name.substr(1), element));
        }
        return found;
    }

    void checks(const problem::Access& access, const problem::Operand& o, const sym::Substitution& by) {
        for (const problem::Check& c : access.checks) {
            const auto local = [&](const Expr& e) { return sym::substitute(sym::substitute(e, by), env_); };
            b_.check(local(c.index), local(c.lo), local(c.hi), fmt::format("index out of range [{}, {}) of {}", sym::to_string(c.lo), sym::to_string(c.hi), o.name));
        }
    }

    std::vector<Argument> reads(const Stage& st) {
        std::vector<Argument> arguments;
        for (const Read& r : st.reads) arguments.push_back(read(st, r));
        return arguments;
    }

    Argument read(const Stage& st, const Read& r) {
        if (r.from == Read::From::index) {
            sym::Substitution by = env_;
            if (lane_active_) by.insert_or_assign(p_.axis(*s_.lane_axis).name, lane_index(*s_.lane_axis));
            return sym::substitute(r.expression, by);
        }
        if (r.from == Read::From::stage) return read_stage(st, r);
        const problem::Operand& o = p_.operands[r.source];
        return load(st, r.access, bind_.operand(problem::OperandId{r.source}), o.strides, o.dtype, o);
    }

    View load(const Stage& st, const problem::Access& access, const View& memory, const std::vector<Expr>& strides, DType dtype, const problem::Operand& o) {
        const sym::Substitution by = indices(st, access);
        const Place at = place(st, access, memory, strides, by);
        const View fragment = b_.rmem(o.name + "_v", dtype, {at.per_lane ? s_.lanes : 1});
        const auto copy = [&] {
            checks(access, o, by);
            b_.copy(at.view, fragment, {.limits = at.limits, .fill = access.fill});
        };
        if (at.conditions.empty()) copy();
        else b_.when(at.conditions, copy, [&] { b_.fill(fragment, access.fill); });
        return spread(fragment, at.per_lane);
    }

    View spread(const View& v, bool per_lane) const { return lane_active_ && !per_lane ? strided(v, v.offset, s_.lanes, 0) : v; }

    Expr stage_offset(const Read& r) const {
        const Stored& from = values_[r.source];
        Expr offset = 0;
        if (from.in_scratch)
            for (size_t i = 0; i < from.inner.size(); ++i) {
                const auto& axes = p_.stages[r.source].axes;
                const size_t at = static_cast<size_t>(std::find(axes.begin(), axes.end(), from.inner[i]) - axes.begin());
                offset = offset + r.access.coordinates[at] * from.strides[i];
            }
        return sym::substitute(offset, env_);
    }

    View read_stage(const Stage& st, const Read& r) {
        const Stored& from = values_[r.source];
        const Stage& source = p_.stages[r.source];
        if (!from.in_scratch) {
            const bool per_lane = lane_active_ && (s_.lanes_are_rows || (!s_.stored[r.source] && (contains(source.axes, *s_.lane_axis))));
            return spread(from.view, per_lane);
        }
        problem::Access access = r.access;
        std::vector<Expr> strides(source.axes.size(), 0);
        for (size_t i = 0; i < from.inner.size(); ++i) strides[static_cast<size_t>(std::find(source.axes.begin(), source.axes.end(), from.inner[i]) - source.axes.begin())] = from.strides[i];
        if (s_.lanes_are_rows)  // the lanes lie side by side in the scratch
            for (size_t i = 0; i < source.axes.size(); ++i)
                if (source.axes[i] == *s_.lane_axis) access.coordinates[i] = access.coordinates[i] - env_lane(), strides[i] = 1;
        problem::Operand named;
        named.name = source.name;
        return load(st, access, from.view, strides, source.dtype(), named);
    }
    Expr env_lane() const { return lane_begin_; }

    void write(const Stage& st, const problem::Write& w, const View& value) {
        const problem::Operand& o = p_.operand(w.operand);
        const sym::Substitution by = indices(st, w.access);
        const Place at = place(st, w.access, bind_.operand(w.operand), o.strides, by);
        CODETTA_CHECK(at.per_lane == lane_active_, "stage {}: {} is written once for many lanes", st.name, o.name);
        const auto store = [&] {
            checks(w.access, o, by);
            View result = value;
            if (w.accumulate) {
                const View old = b_.rmem(o.name + "_old", o.dtype, {1});
                b_.copy(at.view, old);
                result = b_.rmem(o.name + "_new", o.dtype, {1});
                b_.map(result, {old, value}, [](scalar::Builder& f, std::span<const scalar::Value> v) { return f.apply(scalar::Prim::add, {v[0], v[1]}); });
            }
            b_.copy(result, at.view, {.limits = at.limits});
        };
        if (at.conditions.empty()) store();
        else b_.when(at.conditions, store);
    }

    const Problem& p_;
    const Schedule& s_;
    Builder b_;
    Binding bind_;
    std::vector<Stored> values_;
    sym::Substitution env_;          // axis -> its index now (of the first lane)
    bool lane_active_ = false;       // fragments are `lanes` wide
    Expr lane_begin_ = 0;            // index of the first lane
    std::optional<Expr> limit_;      // lanes at or past it are beyond the extent
};

} // namespace

Kernel emit(const Problem& p, const Schedule& s, const std::string& name) { return Emitter(p, s, name).run(); }

} // namespace codetta::kernels::nest
