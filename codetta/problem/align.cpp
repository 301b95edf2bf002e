#include <algorithm>

#include "codetta/problem/bijection.h"
#include "codetta/problem/region.h"
#include "codetta/problem/rewrite.h"

namespace codetta::problem {

using sym::Expr;

namespace {

bool contains(const std::vector<AxisId>& list, AxisId a) { return std::ranges::find(list, a) != list.end(); }

bool uses_position(const scalar::Combiner& c) {
    return std::ranges::any_of(c.lift.ops, [](const scalar::Op& op) { return std::ranges::find(op.inputs, 1U) != op.inputs.end(); }) ||
           std::ranges::find(c.lift.results, 1U) != c.lift.results.end();
}

class Aligner {
public:
    explicit Aligner(Problem p) : p_(std::move(p)), group_(p_.stages.size()) {
        for (size_t s = 0; s < group_.size(); ++s) group_[s] = s;
    }

    Problem run() {
        for (size_t t = 0; t < p_.stages.size(); ++t) {
            locked_.clear();
            for (size_t i : by_importance(p_.stages[t])) {
                const Read r = p_.stages[t].reads[i];
                bool same = at_own_axes(t, r) || align(t, i) || rename_source(t, i);
                if (!same) continue;
                for (AxisId a : p_.stages[r.source].axes) locked_.insert(a);
                join(t, r.source);
            }
        }
        return std::move(p_);
    }

private:
    // Reads of stages that alignment looks at: reductions first, then by the number of axes.
    std::vector<size_t> by_importance(const Stage& t) const {
        std::vector<size_t> order;
        for (size_t i = 0; i < t.reads.size(); ++i)
            if (t.reads[i].from == Read::From::stage && t.reads[i].access.guard.empty() && !depends_on_data(t.reads[i].access))
                order.push_back(i);
        std::ranges::sort(order, [&](size_t a, size_t b) {
            const Stage &x = p_.stages[t.reads[a].source], &y = p_.stages[t.reads[b].source];
            if (x.axes.size() != y.axes.size()) return x.axes.size() > y.axes.size();
            if (x.combiner.has_value() != y.combiner.has_value()) return x.combiner.has_value();
            return a < b;
        });
        return order;
    }

    bool at_own_axes(size_t t, const Read& r) const {
        const Stage& s = p_.stages[r.source];
        for (size_t i = 0; i < s.axes.size(); ++i)
            if (r.access.coordinates[i] != axis_symbol(p_, s.axes[i]) ||
                !(contains(p_.stages[t].axes, s.axes[i]) || contains(p_.stages[t].reduce, s.axes[i])))
                return false;
        return true;
    }

    // Lets t run over the axes of the stage that its read i names.
    bool align(size_t number, size_t i) {
        const Stage& t = p_.stages[number];
        const Read r = t.reads[i];
        const Stage& s = p_.stages[r.source];
        sym::Facts facts = p_.facts;
        std::vector<AxisId> used;
        std::vector<Dimension> sources, targets;
        std::set<std::string> names;
        for (const Expr& e : r.access.coordinates) sym::collect_symbols(e, names);
        for (const auto* list : {&t.axes, &t.reduce})
            for (AxisId a : *list) {
                facts.set_index(p_.axis(a).name, p_.axis(a).extent);
                if (!names.contains(p_.axis(a).name)) continue;
                if (locked_.contains(a)) return false;
                used.push_back(a);
                sources.push_back({axis_symbol(p_, a), p_.axis(a).extent});
            }
        for (AxisId a : s.axes) {
            if ((contains(t.axes, a) || contains(t.reduce, a)) && !contains(used, a)) return false;
            // The inverse speaks of target symbols that may be names of sources too: kept apart until it is done.
            targets.push_back({Expr::symbol("$T" + p_.axis(a).name), p_.axis(a).extent});
        }
        // One index picked from many: running over all of them to keep one is no gain.
        for (size_t k = 0; k < s.axes.size(); ++k) {
            std::set<std::string> here = sym::symbols(facts.simplify(r.access.coordinates[k]));
            bool picked = std::ranges::none_of(used, [&](AxisId a) { return here.contains(p_.axis(a).name); });
            if (picked && !targets[k].extent.is(1)) return false;
        }
        auto inverse = invert(r.access.coordinates, sources, targets, facts);
        if (!inverse) return false;
        // A part of the source's domain must be a box: what is written from there is to be turned round again.
        for (const sym::Condition& c : inverse->image) {
            std::set<std::string> here;
            sym::collect_symbols(c, here);
            if (std::ranges::count_if(here, [](const std::string& n) { return n[0] == '$'; }) != 1) return false;
        }
        sym::Substitution back_to_names;
        for (AxisId a : s.axes) back_to_names.emplace("$T" + p_.axis(a).name, axis_symbol(p_, a));

        bool renames = inverse->image.empty() && used.size() == s.axes.size() &&
                       std::ranges::all_of(inverse->index, [](const Expr& e) { return e.kind() == sym::Kind::symbol; });
        bool reduces = std::ranges::any_of(used, [&](AxisId a) { return contains(t.reduce, a); });
        if (!renames) {
            bool scans = t.scan && contains(used, *t.scan);
            bool ordered = std::ranges::any_of(t.writes, [](const Write& w) { return w.accumulate || depends_on_data(w.access); });
            if (scans || ordered) return false;
            if (reduces && (!inverse->image.empty() || uses_position(*t.combiner))) return false;
            if (t.combiner && !inverse->image.empty()) return false;
        }
        Reindexing to;
        for (size_t k = 0; k < used.size(); ++k)
            to.forward.emplace(p_.axis(used[k]).name, sym::substitute(inverse->index[k], back_to_names));
        for (const sym::Condition& c : inverse->image) to.inside.push_back(sym::substitute(c, back_to_names));
        auto renamed = [&](AxisId a) {
            auto k = std::ranges::find(used, a);
            if (k == used.end()) return a;
            const std::string name = to.forward.at(p_.axis(a).name).name();
            return *std::ranges::find_if(s.axes, [&](AxisId x) { return p_.axis(x).name == name; });
        };
        sym::Substitution old_index; // of each new axis over the old ones
        for (size_t k = 0; k < s.axes.size(); ++k) old_index.emplace(p_.axis(s.axes[k]).name, r.access.coordinates[k]);
        if (renames) {
            for (AxisId a : t.axes) to.axes.push_back(renamed(a));
            for (AxisId a : t.reduce) to.reduce.push_back(renamed(a));
            if (t.scan) to.scan = renamed(*t.scan);
        } else {
            for (size_t k = 0; k < s.axes.size(); ++k) { // each goes where the axes that make it are
                bool domain = false, reduced = false;
                for (AxisId a : used)
                    if (sym::depends_on(r.access.coordinates[k], p_.axis(a).name)) (contains(t.reduce, a) ? reduced : domain) = true;
                if (domain && reduced) return false;
                (reduced ? to.reduce : to.axes).push_back(s.axes[k]);
            }
            for (AxisId a : t.axes)
                if (!contains(used, a)) to.axes.push_back(a);
            for (AxisId a : t.reduce)
                if (!contains(used, a)) to.reduce.push_back(a);
            to.scan = t.scan;
            if (t.combiner && !t.scan && to.reduce.empty() != t.reduce.empty()) return false;
        }
        for (AxisId a : to.axes) {
            auto known = old_index.find(p_.axis(a).name);
            to.backward.push_back(known == old_index.end() ? axis_symbol(p_, a) : known->second);
        }
        // An old index symbol of an axis that stays is its own.
        reindex_stage(p_, StageId(number), to);
        return true;
    }

    // Renames the axes of the stage that is read (and of all that are aligned with it) to those of t.
    bool rename_source(size_t number, size_t i) {
        const Stage& t = p_.stages[number];
        const Read r = t.reads[i];
        if (group_of(number) == group_of(r.source)) return false;
        std::vector<std::pair<AxisId, AxisId>> renames;
        for (size_t k = 0; k < r.access.coordinates.size(); ++k) {
            const Expr& e = r.access.coordinates[k];
            AxisId from = p_.stages[r.source].axes[k];
            std::optional<AxisId> to;
            for (const auto* list : {&t.axes, &t.reduce})
                for (AxisId a : *list)
                    if (e == axis_symbol(p_, a) && p_.axis(a).extent == p_.axis(from).extent) to = a;
            if (!to) return false;
            if (std::ranges::any_of(renames, [&](const auto& pair) { return pair.second == *to; })) return false;
            renames.emplace_back(from, *to);
        }
        auto target = [&](AxisId a) {
            for (const auto& [from, to] : renames)
                if (from == a) return to;
            return a;
        };
        for (size_t s = 0; s < p_.stages.size(); ++s) {
            if (group_of(s) != group_of(r.source)) continue;
            std::set<AxisId> seen;
            for (const auto* list : {&p_.stages[s].axes, &p_.stages[s].reduce})
                for (AxisId a : *list)
                    if (!seen.insert(target(a)).second) return false;
        }
        sym::Substitution forward;
        for (const auto& [from, to] : renames) forward.emplace(p_.axis(from).name, axis_symbol(p_, to));
        for (size_t s = 0; s < p_.stages.size(); ++s) {
            if (group_of(s) != group_of(r.source)) continue;
            Stage& stage = p_.stages[s];
            for (auto* list : {&stage.axes, &stage.reduce})
                for (AxisId& a : *list) a = target(a);
            if (stage.scan) stage.scan = target(*stage.scan);
            for (Read& read : stage.reads) read = substitute(read, forward);
            for (Write& w : stage.writes) w.access = substitute(w.access, forward);
        }
        return true;
    }

    size_t group_of(size_t s) const {
        while (group_[s] != s) s = group_[s];
        return s;
    }
    void join(size_t a, size_t b) { group_[group_of(a)] = group_of(b); }

    Problem p_;
    std::vector<size_t> group_; // stages that share axes
    std::set<AxisId> locked_;   // of the stage at hand: axes that a read has fixed
};

} // namespace

Problem align_axes(Problem p) { return Aligner(std::move(p)).run(); }

} // namespace codetta::problem
