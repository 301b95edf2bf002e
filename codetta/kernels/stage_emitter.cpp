#include "codetta/kernels/stage_emitter.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/layout/int_tuple.h"

namespace codetta::kernels {

using problem::AxisId;
using problem::Read;
using problem::Stage;
using sym::Expr;
using tile::Argument;
using tile::View;

Expr address(const problem::Access& access, const std::vector<Expr>& strides) {
    Expr e = 0;
    for (size_t i = 0; i < access.coordinates.size(); ++i) e = e + access.coordinates[i] * strides[i];
    return e;
}

std::vector<Expr> StageEmitter::tasks(const std::vector<AxisId>& axes, std::vector<std::string> names, std::vector<Expr> extents) {
    std::vector<std::string> axis_names;
    std::vector<Expr> axis_extents;
    for (const AxisId a : axes) {
        axis_names.push_back(p_.axis(a).name);
        axis_extents.push_back(p_.axis(a).extent);
    }
    names.insert(names.begin(), axis_names.begin(), axis_names.end());
    extents.insert(extents.begin(), axis_extents.begin(), axis_extents.end());
    std::vector<Expr> index = b_.tasks(names, extents);
    for (size_t i = 0; i < axes.size(); ++i) set(axes[i], index[i]);
    return index;
}

void StageEmitter::open_lanes(AxisId a, int64_t lanes, std::optional<Expr> limit) {
    lane_axis_ = a;
    lanes_ = lanes;
    limit_ = std::move(limit);
}

Expr StageEmitter::lane_index(AxisId a) const { return lane_axis_ == a ? index(a) + Expr::symbol("c0") : index(a); }

StageEmitter::Place StageEmitter::place(const Stage& st, const problem::Access& access, const View& memory,
                                        const std::vector<Expr>& strides, const sym::Substitution& indices) {
    Place at;
    at.indices = indices;
    const Expr where = address(access, strides);
    const std::string* lane = lane_name();
    Expr step = 0;
    if (lane) {
        const auto along = sym::as_affine(where, *lane);
        CODETTA_CHECK(along, "stage {}: {} is not affine along the lanes", st.name, sym::to_string(where));
        step = along->coefficient;
    }
    struct LaneLimit {
        Expr coefficient, limit;
    };
    std::vector<LaneLimit> lane_limits;
    for (const sym::Condition& c : access.guard) {
        const Expr left = c.lhs - c.rhs; // left < 0, <= 0, == 0, != 0
        if (!lane || !sym::depends_on(left, *lane)) {
            at.conditions.push_back({c.relation, local(c.lhs, indices), local(c.rhs, indices)});
            continue;
        }
        const auto along = sym::as_affine(left, *lane);
        CODETTA_CHECK(along && (c.relation == sym::Relation::lt || c.relation == sym::Relation::le),
                      "stage {}: guard {} can't run across lanes", st.name, sym::to_string(c));
        lane_limits.push_back(
            {along->coefficient, local(-left, indices) + (c.relation == sym::Relation::le ? 1 : 0)}); // coefficient * c0 < limit
    }
    at.per_lane = lane && (!step.is(0) || !lane_limits.empty());
    at.view = strided(memory, memory.offset + local(where, indices), at.per_lane ? lanes_ : 1, step);
    for (const LaneLimit& l : lane_limits)
        at.limits.push_back({tile::make_layout({layout::IntTuple(lanes_)}, {layout::IntTuple(l.coefficient)}), l.limit});
    if (at.per_lane && limit_) at.limits.push_back(tile::limit_of_mode(at.view.layout, 0, *limit_));
    return at;
}

// Binds `$i` of an access: loads the integers. They are the same for all lanes.
sym::Substitution StageEmitter::indices(const Stage& st, const problem::Access& access) {
    std::set<std::string> names;
    for (const Expr& e : access.coordinates) sym::collect_symbols(e, names);
    for (const sym::Condition& c : access.guard) sym::collect_symbols(c, names);
    for (const problem::Check& c : access.checks) // an element that is the same for every index is still not read for a wrong one
        for (const Expr* e : {&c.index, &c.lo, &c.hi}) sym::collect_symbols(*e, names);
    return indices(st, names);
}

sym::Substitution StageEmitter::indices(const Stage& st, const std::set<std::string>& names) {
    sym::Substitution found;
    for (const std::string& name : names) {
        if (name[0] != '$') continue;
        const Read& r = st.reads[std::stoul(name.substr(1))];
        if (r.from == Read::From::index) {
            found.emplace(name, local(r.expression, indices(st, sym::symbols(r.expression))));
            continue;
        }
        const auto lanes = std::exchange(lane_axis_, std::nullopt);
        View element;
        if (r.from == Read::From::stage)
            element = read_stage(st, r);
        else {
            const problem::Operand& o = p_.operands[r.source];
            const View memory = bind_.operand(problem::OperandId{r.source});
            // Under a guard it is the fill outside, and its checks are of no concern there.
            element = r.access.guard.empty() ? place(st, r.access, memory, o.strides, indices(st, r.access)).view
                                             : load(st, r.access, memory, o.strides, o.dtype, o.name);
        }
        lane_axis_ = lanes;
        if (b_.dtype(element) == scalar::DType::boolean) {
            const View number = b_.rmem("number", scalar::DType::i64, {1});
            b_.map(number, {element},
                   [](scalar::Builder& f, std::span<const scalar::Value> v) { return f.cast(scalar::DType::i64, v[0]); });
            element = number;
        }
        found.emplace(name, b_.load_index("i_" + name.substr(1), element));
    }
    return found;
}

void StageEmitter::checks(const problem::Access& access, const std::string& name, const sym::Substitution& indices) {
    for (const problem::Check& c : access.checks)
        b_.check(local(c.index, indices), local(c.lo, indices), local(c.hi, indices),
                 fmt::format("{}{}index out of range [{}, {}) of {}", c.origin, c.origin.empty() ? "" : ": ", sym::to_string(c.lo),
                             sym::to_string(c.hi), name));
}

std::vector<Argument> StageEmitter::reads(const Stage& st) {
    std::vector<Argument> arguments;
    for (const Read& r : st.reads) arguments.push_back(read(st, r));
    return arguments;
}

Argument StageEmitter::read(const Stage& st, const Read& r) {
    if (r.from == Read::From::index) {
        sym::Substitution by = env_;
        if (lane_axis_) by.insert_or_assign(*lane_name(), lane_index(*lane_axis_));
        return sym::substitute(sym::substitute(r.expression, indices(st, sym::symbols(r.expression))), by);
    }
    if (r.from == Read::From::stage) return read_stage(st, r);
    const problem::Operand& o = p_.operands[r.source];
    return load(st, r.access, bind_.operand(problem::OperandId{r.source}), o.strides, o.dtype, o.name);
}

View StageEmitter::load(const Stage& st, const problem::Access& access, const View& memory, const std::vector<Expr>& strides,
                        scalar::DType dtype, const std::string& name) {
    return load(access, place(st, access, memory, strides, indices(st, access)), dtype, name);
}

View StageEmitter::load(const problem::Access& access, const Place& at, scalar::DType dtype, const std::string& name) {
    const View fragment = b_.rmem(name + "_v", dtype, {at.per_lane ? lanes_ : 1});
    const auto copy = [&] {
        checks(access, name, at.indices);
        b_.copy(at.view, fragment, {.limits = at.limits, .fill = access.fill});
    };
    if (at.conditions.empty())
        copy();
    else
        b_.when(at.conditions, copy, [&] { b_.fill(fragment, access.fill); });
    return spread(fragment, at.per_lane);
}

View StageEmitter::spread(const View& v, bool per_lane) const { return lane_axis_ && !per_lane ? strided(v, v.offset, lanes_, 0) : v; }

View StageEmitter::read_stage(const Stage& st, const Read& r) {
    const StageValue& from = values_[r.source];
    const Stage& source = p_.stages[r.source];
    if (!from.in_scratch && r.access.guard.empty()) return spread(from.view, from.per_lane);
    if (!from.in_scratch) {
        Place at = place(st, r.access, from.view, std::vector<Expr>(r.access.coordinates.size(), Expr(0)), indices(st, r.access));
        if (from.per_lane) at.view = from.view, at.per_lane = true;
        return load(r.access, at, source.dtype(), source.name);
    }
    // Relative axes count from their index now; what is left of them are the lanes.
    View memory = from.view;
    for (size_t i = 0; i < source.axes.size(); ++i)
        for (const AxisId a : from.relative)
            if (source.axes[i] == a) memory.offset = memory.offset - index(a) * from.strides[i];
    return load(st, r.access, memory, from.strides, source.dtype(), source.name);
}

View StageEmitter::body(const Stage& st, const std::vector<Argument>& arguments) {
    if (st.body.is_identity() && std::holds_alternative<View>(arguments[0]) && b_.dtype(std::get<View>(arguments[0])) == st.dtype())
        return std::get<View>(arguments[0]);
    const View v = b_.rmem(st.name, st.dtype(), {width()});
    b_.map({v}, arguments, st.body);
    return v;
}

void StageEmitter::store(const StageValue& home, const Stage& st, const View& value) {
    Expr offset = home.view.offset, step = 0;
    for (size_t i = 0; i < st.axes.size(); ++i) {
        const AxisId a = st.axes[i];
        if (std::find(home.relative.begin(), home.relative.end(), a) == home.relative.end()) offset = offset + index(a) * home.strides[i];
        if (lane_axis_ == a) step = home.strides[i];
    }
    b_.copy(value, strided(home.view, offset, width(), step));
}

void StageEmitter::write(const Stage& st, const View& value) {
    for (const problem::Write& w : st.writes) {
        const problem::Operand& o = p_.operand(w.operand);
        const sym::Substitution by = indices(st, w.access);
        const Place at = place(st, w.access, bind_.operand(w.operand), o.strides, by);
        CODETTA_CHECK(at.per_lane == lanes_open(), "stage {}: {} is written once for many lanes", st.name, o.name);
        const auto store = [&] {
            checks(w.access, o.name, by);
            View result = value;
            if (w.accumulate) {
                const View old = b_.rmem(o.name + "_old", o.dtype, {1});
                b_.copy(at.view, old);
                result = b_.rmem(o.name + "_new", o.dtype, {1});
                const scalar::Prim sum = o.dtype == scalar::DType::boolean ? scalar::Prim::bit_or : scalar::Prim::add;
                b_.map(result, {old, value},
                       [sum](scalar::Builder& f, std::span<const scalar::Value> v) { return f.apply(sum, {v[0], v[1]}); });
            }
            b_.copy(result, at.view, {.limits = at.limits});
        };
        if (at.conditions.empty())
            store();
        else
            b_.when(at.conditions, store);
    }
}

} // namespace codetta::kernels
