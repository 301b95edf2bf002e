// Emits the statements of single stages of a Problem at one place of its loop nest: reads through accesses, the body, writes. Loops, tiles
// and reductions are the template's.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codetta/kernels/binding.h"
#include "codetta/problem/problem.h"
#include "codetta/tile/builder.h"

namespace codetta::kernels {

// address == sum of coordinates[i] * strides[i], in elements.
sym::Expr address(const problem::Access& access, const std::vector<sym::Expr>& strides);

// A stage's value where later statements find it: a fragment of 1 or `width` elements, or scratch memory over some of the stage's axes.
struct StageValue {
    tile::View view;
    bool per_lane = false; // fragment: one element per lane
    bool in_scratch = false;
    std::vector<sym::Expr> strides;        // in_scratch: per axis of the stage, in elements; 0 for axes that it is not stored over
    std::vector<problem::AxisId> relative; // in_scratch: axes whose index counts from the first lane
};

class StageEmitter {
public:
    StageEmitter(const problem::Problem& p, tile::Builder& b, Binding& bind) : p_(p), b_(b), bind_(bind), values_(p.stages.size()) {}

    // --- the place
    // ------------------------------------------------------------------------------------------------------------------------------------
    void set(problem::AxisId a, const sym::Expr& index) { env_.insert_or_assign(p_.axis(a).name, index); }
    const sym::Expr& index(problem::AxisId a) const { return env_.at(p_.axis(a).name); }
    sym::Expr here(const sym::Expr& e) const { return sym::substitute(e, env_); } // axes by their indices
    // The frame of the program: a task for each place of these axes, where the emitter then is, and each of the other indices.
    // @post the indices of the axes, then those of `names`
    std::vector<sym::Expr> tasks(const std::vector<problem::AxisId>& axes, std::vector<std::string> names, std::vector<sym::Expr> extents);
    // From now on fragments hold `lanes` elements of that axis from its current index on; those at or past `limit` do not exist.
    void open_lanes(problem::AxisId a, int64_t lanes, std::optional<sym::Expr> limit);
    void close_lanes() {
        lane_axis_.reset();
        limit_.reset();
    }
    bool lanes_open() const { return lane_axis_.has_value(); }
    int64_t width() const { return lane_axis_ ? lanes_ : 1; }
    const std::optional<sym::Expr>& limit() const { return limit_; }
    // The index of an axis for each lane: `c0` counts the lanes.
    sym::Expr lane_index(problem::AxisId a) const;

    // --- values
    // -----------------------------------------------------------------------------------------------------------------------------------------
    StageValue& value(uint32_t stage) { return values_[stage]; }
    std::vector<tile::Argument> reads(const problem::Stage& st);
    tile::View body(const problem::Stage& st, const std::vector<tile::Argument>& arguments);
    void write(const problem::Stage& st, const tile::View& value); // through all of its writes
    void store(const StageValue& home, const problem::Stage& st,
               const tile::View& value); // into scratch at the place: all lanes, the memory is padded

private:
    struct Place {
        tile::View view;
        std::vector<tile::Limit> limits;
        tile::Conditions conditions; // hold or fail for all lanes alike
        sym::Substitution indices;   // of `$i`
        bool per_lane = false;
    };
    Place place(const problem::Stage& st, const problem::Access& access, const tile::View& memory, const std::vector<sym::Expr>& strides,
                const sym::Substitution& indices);
    sym::Substitution indices(const problem::Stage& st, const problem::Access& access);
    sym::Substitution indices(const problem::Stage& st, const std::set<std::string>& names);
    sym::Expr local(const sym::Expr& e, const sym::Substitution& indices) const {
        return sym::substitute(sym::substitute(e, indices), env_);
    }
    void checks(const problem::Access& access, const std::string& name, const sym::Substitution& indices);
    tile::Argument read(const problem::Stage& st, const problem::Read& r);
    tile::View read_stage(const problem::Stage& st, const problem::Read& r);
    tile::View load(const problem::Stage& st, const problem::Access& access, const tile::View& memory,
                    const std::vector<sym::Expr>& strides, scalar::DType dtype, const std::string& name);
    tile::View load(const problem::Access& access, const Place& at, scalar::DType dtype, const std::string& name);
    tile::View spread(const tile::View& v, bool per_lane) const;
    const std::string* lane_name() const { return lane_axis_ ? &p_.axis(*lane_axis_).name : nullptr; }

    const problem::Problem& p_;
    tile::Builder& b_;
    Binding& bind_;
    std::vector<StageValue> values_;
    sym::Substitution env_; // axis -> its index (of the first lane)
    std::optional<problem::AxisId> lane_axis_;
    int64_t lanes_ = 1;
    std::optional<sym::Expr> limit_;
};

} // namespace codetta::kernels
