#include <algorithm>

#include "codetta/problem/rewrite.h"

namespace codetta::problem {

using sym::Expr;

namespace {

// Whether the read touches nothing that is not there, wherever the axes of `facts` stand.
bool stays_inside(const Problem& p, const Read& r, const sym::Facts& facts) {
    if (depends_on_data(r.access) || !r.access.checks.empty()) return false;
    for (size_t i = 0; i < r.access.coordinates.size(); ++i) {
        const Expr& extent = r.from == Read::From::operand ? p.operands[r.source].shape[i] : p.axis(p.stages[r.source].axes[i]).extent;
        const Expr& c = r.access.coordinates[i];
        if (!facts.proves(sym::le(0, c)) || !facts.proves(sym::lt(c, extent))) return false;
    }
    return true;
}
} // namespace

void reindex_stage(Problem& p, StageId id, const Reindexing& to) {
    Stage& s = p.stages[id.value];
    std::vector<std::string> old_names;
    for (AxisId a : s.axes) old_names.push_back(p.axis(a).name);
    sym::Facts facts = p.facts;
    for (const auto* list : {&to.axes, &to.reduce})
        for (AxisId a : *list) facts.set_index(p.axis(a).name, p.axis(a).extent);
    for (Read& r : s.reads) {
        r = substitute(r, to.forward);
        if (r.from != Read::From::index && !to.inside.empty() && !stays_inside(p, r, facts))
            r.access.guard.insert(r.access.guard.begin(), to.inside.begin(), to.inside.end());
    }
    for (Write& w : s.writes) {
        w.access = substitute(w.access, to.forward);
        w.access.guard.insert(w.access.guard.begin(), to.inside.begin(), to.inside.end());
    }
    s.axes = to.axes;
    s.reduce = to.reduce;
    s.scan = to.scan;
    simplify_stage(p, s);
    for (size_t t = id.value + 1; t < p.stages.size(); ++t) {
        bool changed = false;
        for (Read& r : p.stages[t].reads) {
            if (r.from != Read::From::stage || r.source != id.value) continue;
            sym::Substitution at;
            for (size_t i = 0; i < old_names.size(); ++i) at.emplace(old_names[i], r.access.coordinates[i]);
            std::vector<Expr> coordinates;
            for (const Expr& e : to.backward) coordinates.push_back(sym::substitute(e, at));
            r.access.coordinates = std::move(coordinates);
            changed = true;
        }
        if (changed) simplify_stage(p, p.stages[t]);
    }
}

void drop_dead(Problem& p) {
    std::vector<bool> needed(p.stages.size(), false);
    for (size_t s = p.stages.size(); s-- > 0;) {
        canonicalise_stage(p, p.stages[s]);
        needed[s] = needed[s] || !p.stages[s].writes.empty();
        if (!needed[s]) continue;
        for (const Read& r : p.stages[s].reads)
            if (r.from == Read::From::stage) needed[r.source] = true;
    }
    std::vector<uint32_t> stage_number(p.stages.size(), 0);
    std::vector<Stage> stages;
    for (size_t s = 0; s < p.stages.size(); ++s) {
        if (!needed[s]) continue;
        stage_number[s] = static_cast<uint32_t>(stages.size());
        stages.push_back(std::move(p.stages[s]));
        for (Read& r : stages.back().reads)
            if (r.from == Read::From::stage) r.source = stage_number[r.source];
    }
    p.stages = std::move(stages);

    // Axes in the order of their first use.
    std::vector<std::optional<uint32_t>> axis_number(p.axes.size());
    std::vector<Axis> axes;
    for (const Stage& s : p.stages)
        for (const auto* list : {&s.axes, &s.reduce})
            for (AxisId a : *list)
                if (!axis_number[a.value]) {
                    axis_number[a.value] = static_cast<uint32_t>(axes.size());
                    axes.push_back(p.axes[a.value]);
                }
    p.axes = std::move(axes);
    for (Stage& s : p.stages) {
        for (auto* list : {&s.axes, &s.reduce})
            for (AxisId& a : *list) a = AxisId(*axis_number[a.value]);
        if (s.scan) s.scan = AxisId(*axis_number[s.scan->value]);
    }
}

void share_equal_stages(Problem& p) {
    for (size_t s = 0; s < p.stages.size(); ++s)
        for (size_t t = s + 1; t < p.stages.size();) {
            const Stage &a = p.stages[s], &b = p.stages[t];
            bool equal = a.axes == b.axes && a.reduce == b.reduce && a.scan == b.scan && a.reads == b.reads && a.body == b.body &&
                         a.combiner == b.combiner;
            // A write that moves up must not pass a stage that reads or writes memory that it changes.
            bool moves = equal && std::ranges::any_of(b.writes, [&](const Write& w) {
                             return p.operand(w.operand).aliases || p.operand(w.operand).role == Role::inout;
                         });
            for (size_t between = s; equal && !b.writes.empty() && between < t; ++between)
                for (const Write& w : b.writes)
                    moves = moves ||
                            std::ranges::any_of(p.stages[between].writes, [&](const Write& other) { return other.operand == w.operand; });
            if (!equal || moves) {
                ++t;
                continue;
            }
            p.stages[s].writes.insert(p.stages[s].writes.end(), b.writes.begin(), b.writes.end());
            p.stages.erase(p.stages.begin() + static_cast<std::ptrdiff_t>(t));
            for (Stage& later : p.stages)
                for (Read& r : later.reads) {
                    if (r.from != Read::From::stage) continue;
                    if (r.source == t)
                        r.source = static_cast<uint32_t>(s);
                    else if (r.source > t)
                        --r.source;
                }
        }
}

// `name` for `name_1` where that is free now.
void shorten_names(Problem& p) {
    std::set<std::string> axes, values;
    for (const Axis& a : p.axes) axes.insert(a.name);
    for (const std::string& s : p.size_symbols()) axes.insert(s);
    for (const Operand& o : p.operands) values.insert(o.name);
    for (const Stage& s : p.stages) values.insert(s.name);
    auto shorten = [](std::string& name, std::set<std::string>& taken) {
        while (true) {
            size_t end = name.find_last_not_of("0123456789");
            if (end == std::string::npos || end + 1 == name.size() || end == 0 || name[end] != '_') return;
            std::string base = name.substr(0, end);
            if (!taken.insert(base).second) return;
            taken.erase(name);
            name = base;
        }
    };
    sym::Substitution renamed;
    for (Axis& a : p.axes) {
        std::string old = a.name;
        shorten(a.name, axes);
        if (old != a.name) renamed.emplace(old, Expr::symbol(a.name));
    }
    for (Operand& o : p.operands) shorten(o.name, values);
    for (Stage& s : p.stages) {
        shorten(s.name, values);
        if (renamed.empty()) continue;
        for (Read& r : s.reads) r = substitute(r, renamed);
        for (Write& w : s.writes) w.access = substitute(w.access, renamed);
    }
}

std::string fresh_name(const std::string& base, const std::set<std::string>& taken) {
    if (!taken.contains(base)) return base;
    for (int i = 1;; ++i)
        if (std::string name = base + "_" + std::to_string(i); !taken.contains(name)) return name;
}

} // namespace codetta::problem
