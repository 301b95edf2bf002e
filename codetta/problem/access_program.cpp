#include "codetta/problem/access_program.h"

#include "codetta/base/error.h"

#include <algorithm>
#include <map>

namespace codetta::problem {

IndexFrame::IndexFrame(const Problem& p, size_t reads) : values(p.axes.size() + reads, 0), axes_(p.axes.size()) {
    for (const Axis& a : p.axes) names_.push_back(a.name);
    for (size_t i = 0; i < reads; ++i) names_.push_back("$" + std::to_string(i));
}

IndexProgram::IndexProgram(const sym::Expr& e, const IndexFrame& frame, const sym::Bindings& sizes) {
    sym::Substitution by;
    for (const auto& [name, value] : sizes) by.emplace(name, sym::Expr(value));
    sym::Expr rest = sym::substitute(e, by);
    sym::Expr whole = rest;
    for (const std::string& name : sym::symbols(rest)) {
        auto slot = std::ranges::find(frame.names(), name);
        CODETTA_CHECK(slot != frame.names().end(), "index expression {}: '{}' has no value", sym::to_string(e), name);
        auto affine = sym::as_affine(rest, name);
        if (!affine || !affine->coefficient.constant()) {
            general_.emplace(frame.names(), std::span(&whole, 1));
            scratch_.resize(general_->frame_size());
            return;
        }
        terms_.emplace_back(static_cast<size_t>(slot - frame.names().begin()), *affine->coefficient.constant());
        rest = affine->rest;
    }
    CODETTA_CHECK(rest.constant().has_value(), "index expression {} leaves {}", sym::to_string(e), sym::to_string(rest));
    constant_ = *rest.constant();
}

int64_t IndexProgram::evaluate(const std::vector<int64_t>& values) {
    if (general_) {
        std::copy(values.begin(), values.end(), scratch_.begin());
        general_->evaluate(std::span(scratch_));
        return scratch_[general_->output(0)];
    }
    int64_t result = constant_;
    for (const auto& [slot, factor] : terms_) result += values[slot] * factor;
    return result;
}

std::optional<std::pair<int64_t, int64_t>> IndexProgram::range(const std::vector<int64_t>& extents) const {
    if (general_) return std::nullopt;
    int64_t lo = constant_, hi = constant_;
    for (const auto& [slot, factor] : terms_) {
        if (slot >= extents.size()) return std::nullopt;
        int64_t last = (extents[slot] - 1) * factor;
        (last < 0 ? lo : hi) += last;
    }
    return std::pair(lo, hi);
}

AccessProgram::AccessProgram(const Access& a, const IndexFrame& frame, const sym::Bindings& sizes, const std::vector<int64_t>& axis_extents,
                             std::vector<int64_t> extents, std::vector<int64_t> strides, std::string what)
    : extents_(std::move(extents)), strides_(std::move(strides)), what_(std::move(what)) {
    for (const sym::Condition& c : a.guard) guard_.push_back({c.relation, {c.lhs, frame, sizes}, {c.rhs, frame, sizes}});
    for (const Check& c : a.checks) checks_.push_back({{c.index, frame, sizes}, {c.lo, frame, sizes}, {c.hi, frame, sizes}});
    direct_ = guard_.empty() && checks_.empty();
    std::map<size_t, int64_t> terms;
    for (size_t i = 0; i < a.coordinates.size(); ++i) {
        coordinates_.emplace_back(a.coordinates[i], frame, sizes);
        auto range = coordinates_[i].range(axis_extents);
        direct_ = direct_ && range && range->first >= 0 && range->second < extents_[i];
        base_ += coordinates_[i].constant() * strides_[i];
        for (const auto& [slot, factor] : coordinates_[i].terms()) terms[slot] += factor * strides_[i];
    }
    terms_.assign(terms.begin(), terms.end());
}

std::optional<int64_t> AccessProgram::offset(const std::vector<int64_t>& values) {
    int64_t result = base_;
    if (direct_) {
        for (const auto& [slot, factor] : terms_) result += values[slot] * factor;
        return result;
    }
    for (GuardProgram& g : guard_) {
        int64_t a = g.lhs.evaluate(values), b = g.rhs.evaluate(values);
        bool holds = g.relation == sym::Relation::eq   ? a == b
                     : g.relation == sym::Relation::ne ? a != b
                     : g.relation == sym::Relation::lt ? a < b
                                                       : a <= b;
        if (!holds) return std::nullopt;
    }
    for (CheckProgram& c : checks_) {
        int64_t index = c.index.evaluate(values), lo = c.lo.evaluate(values), hi = c.hi.evaluate(values);
        if (index < lo || index >= hi)
            throw base::IndexError(fmt::format("index {} is out of range [{}, {}) for {}", index, lo, hi, what_));
    }
    result = 0;
    for (size_t i = 0; i < coordinates_.size(); ++i) {
        int64_t c = coordinates_[i].evaluate(values);
        CODETTA_CHECK(c >= 0 && c < extents_[i], "coordinate {} of {} is {}, outside its extent {}", i, what_, c, extents_[i]);
        result += c * strides_[i];
    }
    return result;
}

} // namespace codetta::problem
