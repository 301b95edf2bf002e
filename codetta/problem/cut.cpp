#include <algorithm>

#include "codetta/base/error.h"
#include "codetta/problem/bijection.h"
#include "codetta/problem/normalise.h"
#include "codetta/problem/region.h"
#include "codetta/problem/rewrite.h"

namespace codetta::problem {

namespace {

bool reads_operand(const Stage& s, uint32_t o) {
    return std::ranges::any_of(s.reads, [&](const Read& r) { return r.from == Read::From::operand && r.source == o; });
}

bool writes_operand(const Stage& s, uint32_t o) {
    return std::ranges::any_of(s.writes, [&](const Write& w) { return w.operand.value == o; });
}

// An output that holds the whole value of stage s, each element at a place of its own: which write says where.
const Write* whole_write(const Problem& p, uint32_t s) {
    for (const Write& w : p.stages[s].writes) {
        if (w.accumulate || !w.access.guard.empty() || !w.access.checks.empty() || depends_on_data(w.access) ||
            p.operand(w.operand).aliases || p.operand(w.operand).role != Role::out)
            continue;
        bool alone = true;
        for (uint32_t t = 0; t < p.stages.size(); ++t) {
            size_t writes =
                static_cast<size_t>(std::ranges::count_if(p.stages[t].writes, [&](const Write& x) { return x.operand == w.operand; }));
            alone = alone && writes == (t == s ? 1U : 0U);
        }
        std::vector<Dimension> sources, targets;
        for (AxisId a : p.stages[s].axes) sources.push_back({axis_symbol(p, a), p.axis(a).extent});
        for (size_t i = 0; i < w.access.coordinates.size(); ++i)
            targets.push_back({sym::Expr::symbol("$T" + std::to_string(i)), p.operand(w.operand).shape[i]});
        if (alone && invert(w.access.coordinates, sources, targets, index_facts(p))) return &w;
    }
    return nullptr;
}

// The stages of `r` that are on one side, with the operands they need.
Region side(const Region& r, const std::vector<bool>& mine, const Problem& whole, const std::vector<ValueId>& values) {
    Region half;
    half.problem = whole;
    std::vector<uint32_t> number(whole.stages.size(), 0);
    half.problem.stages.clear();
    for (uint32_t s = 0; s < whole.stages.size(); ++s) {
        if (!mine[s]) continue;
        number[s] = static_cast<uint32_t>(half.problem.stages.size());
        half.problem.stages.push_back(whole.stages[s]);
        for (Read& read : half.problem.stages.back().reads)
            if (read.from == Read::From::stage) read.source = number[read.source];
    }
    std::vector<bool> needed(whole.operands.size(), false);
    for (uint32_t o = 0; o < whole.operands.size(); ++o) {
        bool written = std::ranges::any_of(half.problem.stages, [&](const Stage& s) { return writes_operand(s, o); });
        bool read = std::ranges::any_of(half.problem.stages, [&](const Stage& s) { return reads_operand(s, o); });
        needed[o] = needed[o] || written || read;
        Operand& operand = half.problem.operands[o];
        if (written && operand.aliases) needed[operand.aliases->value] = true;
        if (!written) {
            operand.role = Role::in;
            operand.aliases.reset();
        }
    }
    std::vector<uint32_t> place(whole.operands.size(), 0);
    std::vector<Operand> operands;
    for (uint32_t o = 0; o < whole.operands.size(); ++o) {
        if (!needed[o]) continue;
        place[o] = static_cast<uint32_t>(operands.size());
        operands.push_back(half.problem.operands[o]);
        half.values.push_back(values[o]);
    }
    for (Operand& o : operands)
        if (o.aliases) o.aliases = OperandId(place[o.aliases->value]);
    half.problem.operands = std::move(operands);
    for (Stage& s : half.problem.stages) {
        for (Read& read : s.reads)
            if (read.from == Read::From::operand) read.source = place[read.source];
        for (Write& w : s.writes) w.operand = OperandId(place[w.operand.value]);
    }
    std::set<std::string> names;
    for (StageId c : r.cuts)
        if (mine[c.value]) names.insert(whole.stages[c.value].name);
    drop_dead(half.problem);
    half.problem = merge_axes(std::move(half.problem));
    for (uint32_t s = 0; s < half.problem.stages.size(); ++s)
        if (names.contains(half.problem.stages[s].name)) half.cuts.push_back(StageId(s));
    return half;
}

} // namespace

base::Verdict can_cut(const Region& r, const std::vector<bool>& first) {
    const Problem& p = r.problem;
    CODETTA_CHECK(first.size() == p.stages.size(), "{} marks for {} stages", first.size(), p.stages.size());
    for (uint32_t s = 0; s < p.stages.size(); ++s)
        for (const Read& read : p.stages[s].reads)
            if (first[s] && read.from == Read::From::stage && !first[read.source])
                return base::Verdict::no("stage {} needs stage {}, which would come later", p.stages[s].name, p.stages[read.source].name);
    // Memory that one half changes and the other looks at.
    for (uint32_t o = 0; o < p.operands.size(); ++o) {
        bool in_place = p.operands[o].aliases.has_value() || p.operands[o].role == Role::inout;
        bool sides[2] = {false, false};
        for (uint32_t s = 0; s < p.stages.size(); ++s)
            if (writes_operand(p.stages[s], o)) sides[first[s] ? 0 : 1] = true;
        if (sides[0] && sides[1]) return base::Verdict::no("operand {} is written on both sides", p.operands[o].name);
        if (!in_place || !sides[0]) continue;
        for (uint32_t s = 0; s < p.stages.size(); ++s)
            if (!first[s] &&
                (reads_operand(p.stages[s], o) || (p.operands[o].aliases && reads_operand(p.stages[s], p.operands[o].aliases->value))))
                return base::Verdict::no("operand {} is overwritten before stage {} reads it", p.operands[o].name, p.stages[s].name);
    }
    return base::Verdict::yes();
}

Split cut(const Region& r, const std::vector<bool>& first, uint32_t& next_value) {
    if (auto ok = can_cut(r, first); !ok) throw base::InternalError(fmt::format("cutting '{}': {}", r.problem.name, ok.reason()));
    Problem p = r.problem;
    std::vector<ValueId> values = r.values;
    std::set<std::string> taken;
    for (const Operand& o : p.operands) taken.insert(o.name);
    for (const Stage& s : p.stages) taken.insert(s.name);
    for (uint32_t s = 0; s < p.stages.size(); ++s) {
        auto crosses = [&](uint32_t t) {
            return !first[t] && std::ranges::any_of(p.stages[t].reads,
                                                    [&](const Read& read) { return read.from == Read::From::stage && read.source == s; });
        };
        bool any = false;
        for (uint32_t t = s + 1; t < p.stages.size(); ++t) any = any || crosses(t);
        if (!first[s] || !any) continue;
        Write at;
        if (const Write* there = whole_write(p, s)) {
            at = *there;
        } else {
            Operand value;
            value.name = fresh_name(p.stages[s].name + "_value", taken);
            taken.insert(value.name);
            value.dtype = p.stages[s].dtype();
            for (AxisId a : p.stages[s].axes) {
                value.shape.push_back(p.axis(a).extent);
                at.access.coordinates.push_back(axis_symbol(p, a));
            }
            value.strides = contiguous_strides(value.shape);
            value.role = Role::out;
            at.operand = OperandId(p.operands.size());
            p.operands.push_back(std::move(value));
            values.push_back(ValueId(next_value++));
            p.stages[s].writes.push_back(at);
        }
        for (uint32_t t = s + 1; t < p.stages.size(); ++t) {
            if (!crosses(t)) continue;
            for (Read& read : p.stages[t].reads) {
                if (read.from != Read::From::stage || read.source != s) continue;
                sym::Substitution here;
                for (size_t i = 0; i < p.stages[s].axes.size(); ++i)
                    here.emplace(p.axis(p.stages[s].axes[i]).name, read.access.coordinates[i]);
                read.from = Read::From::operand;
                read.source = at.operand.value;
                read.access.coordinates.clear();
                for (const sym::Expr& e : at.access.coordinates) read.access.coordinates.push_back(sym::substitute(e, here));
            }
        }
    }
    std::vector<bool> second(first.size());
    for (size_t s = 0; s < first.size(); ++s) second[s] = !first[s];
    Split split{side(r, first, p, values), side(r, second, p, values)};
    split.first.problem.name = r.problem.name + "a";
    split.second.problem.name = r.problem.name + "b";
    split.first.reasons = r.reasons;
    split.first.origins = split.second.origins = r.origins;
    for (Stage& s : split.second.problem.stages) simplify_stage(split.second.problem, s);
    return split;
}

} // namespace codetta::problem
