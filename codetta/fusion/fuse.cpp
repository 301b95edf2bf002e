#include <algorithm>
#include <map>
#include <queue>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/fusion/group.h"
#include "codetta/fusion/overwrite.h"
#include "codetta/fusion/regions.h"
#include "codetta/fusion/rules.h"
#include "codetta/problem/normalise.h"

namespace codetta::fusion {

namespace {

// What templates see: as few axes as possible, and no rounding that nobody asked for.
problem::Problem normalised(problem::Problem p, const base::Options& options) {
    for (const problem::Axis& a : p.axes)
        if (a.extent.is(0)) return p; // nothing runs
    if (options.numerics == base::Numerics::contract) p = problem::drop_narrowing(std::move(p));
    return problem::merge_axes(problem::drop_unit_axes(problem::split_axes(std::move(p))));
}

// The groups and who makes and reads each value. Group ids never change; a merged group dies into its consumer.
class Fuser {
public:
    Fuser(const graph::Graph& g, const graph::OpSet& ops) : g_(g), groups_(make_groups(g, ops)) {
        for (uint32_t i = 0; i < groups_.size(); ++i) enter(i);
        for (const graph::Output& o : g.outputs)
            if (o.kind != graph::Output::Kind::size) needed_.insert(o.value.value);
        for (const graph::Node& n : g.nodes)
            if (n.into) {
                needed_.insert(n.outputs[0].value);
                overwritten_by_[n.into->value] = n.outputs[0].value;
            }
    }

    void run() {
        drop_unneeded_outputs();
        sink_views();
        sink_cheap_maps();
        merge_neighbours();
        raise_views();
    }

    Regions take(const base::Options& options) {
        Regions result;
        result.graph_values = static_cast<uint32_t>(g_.values.size());
        for (const uint32_t i : order()) {
            Group& group = groups_[i];
            problem::Region region;
            region.problem = normalised(std::move(group.problem), options);
            region.problem.name = fmt::format("r{}", result.regions.size());
            for (const uint32_t v : group.values) region.values.push_back(problem::ValueId{v});
            for (uint32_t s = 0; s + 1 < region.problem.stages.size(); ++s) region.cuts.push_back(problem::StageId{s});
            region.reasons = std::move(group.reasons);
            region.origins = std::move(group.origins);
            result.regions.push_back(std::move(region));
        }
        return result;
    }

private:
    // Statistics of a norm that no backward asks for, and the like.
    void drop_unneeded_outputs() {
        for (uint32_t i = 0; i < groups_.size(); ++i) {
            std::vector<bool> keep;
            std::vector<uint32_t> values;
            for (size_t o = 0; o < groups_[i].values.size(); ++o) {
                const uint32_t v = groups_[i].values[o];
                const bool unneeded = groups_[i].problem.operands[o].role == problem::Role::out &&
                                      !groups_[i].problem.operands[o].aliases && !needed_.contains(v) && readers_[v].empty();
                keep.push_back(!unneeded);
                if (!unneeded) values.push_back(v);
            }
            if (values.size() == keep.size() || groups_[i].outputs().size() + values.size() == keep.size()) continue;
            leave(i);
            groups_[i].problem = problem::drop_outputs(std::move(groups_[i].problem), keep);
            groups_[i].values = std::move(values);
            enter(i);
        }
    }

    // Views go into everybody who reads them; what is then unread disappears.
    void sink_views() {
        for (uint32_t i = 0; i < groups_.size(); ++i)
            if (shape_of(groups_[i].problem) == Shape::view) sink(i);
    }

    // Masks, positions, casts: computed again by each reader rather than stored.
    void sink_cheap_maps() {
        for (uint32_t i = 0; i < groups_.size(); ++i)
            if (groups_[i].alive && shape_of(groups_[i].problem) == Shape::map && is_cheap(groups_[i].problem)) sink(i);
    }

    void sink(uint32_t p) {
        const std::vector<uint32_t> made = groups_[p].outputs();
        if (made.size() != 1) return;
        for (const uint32_t c : std::set<uint32_t>(readers_[made[0]])) merge(p, c, /*duplicate=*/true);
        if (readers_[made[0]].empty() && !needed_.contains(made[0])) remove(p);
    }

    void merge_neighbours() {
        for (const uint32_t c : order()) {
            if (!groups_[c].alive) continue;
            for (bool changed = true; changed;) {
                changed = false;
                for (const uint32_t p : producers_of(c))
                    if (merge(p, c, /*duplicate=*/false)) {
                        changed = true;
                        break;
                    }
            }
        }
    }

    // Views that no reader could take are written by who makes their operand.
    void raise_views() {
        for (const uint32_t c : order()) {
            if (!groups_[c].alive || shape_of(groups_[c].problem) != Shape::view) continue;
            for (const uint32_t p : producers_of(c))
                if (merge(p, c, /*duplicate=*/false)) break;
        }
    }

    // Products first: their epilogue is worth most.
    std::vector<uint32_t> producers_of(uint32_t c) {
        std::vector<uint32_t> found;
        for (const uint32_t v : groups_[c].inputs())
            if (const auto p = maker_.find(v);
                p != maker_.end() && p->second != c && std::find(found.begin(), found.end(), p->second) == found.end())
                found.push_back(p->second);
        std::stable_sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
            return (shape_of(groups_[a].problem) == Shape::product) > (shape_of(groups_[b].problem) == Shape::product);
        });
        return found;
    }

    bool merge(uint32_t p, uint32_t c, bool duplicate) {
        const Group &producer = groups_[p], &consumer = groups_[c];
        const base::Verdict wanted = may_merge(producer.problem, consumer.problem);
        if (!wanted) return refuse(p, c, wanted.reason());
        if (reads_overwritten(p, c)) return refuse(p, c, "one writes in place what the other reads");
        if (path_around(p, c)) return refuse(p, c, "another region lies between");

        std::vector<std::optional<problem::OperandId>> bindings(consumer.values.size());
        for (size_t j = 0; j < bindings.size(); ++j)
            for (uint32_t i = 0; i < producer.values.size(); ++i)
                if (consumer.problem.operands[j].role == problem::Role::in && producer.values[i] == consumer.values[j])
                    bindings[j] = problem::OperandId{i};
        std::vector<bool> keep(producer.values.size(), true);
        bool all_dropped = true;
        for (size_t i = 0; i < keep.size(); ++i) {
            if (producer.problem.operands[i].role == problem::Role::in) continue;
            const uint32_t v = producer.values[i];
            const auto& readers = readers_[v];
            const bool elsewhere = needed_.contains(v) || std::any_of(readers.begin(), readers.end(), [&](uint32_t r) { return r != c; });
            keep[i] = !duplicate && elsewhere;
            all_dropped = all_dropped && !elsewhere;
        }
        if (const base::Verdict possible = problem::can_compose(producer.problem, consumer.problem, bindings, keep); !possible)
            return refuse(p, c, possible.reason());
        const problem::Composition made = problem::compose(producer.problem, consumer.problem, bindings, keep);
        const base::Verdict fits = accept(producer.problem, consumer.problem, made.problem);
        if (!fits) return refuse(p, c, fits.reason());

        Group merged;
        merged.problem = made.problem;
        merged.values.resize(made.problem.operands.size());
        for (size_t i = 0; i < producer.values.size(); ++i)
            if (made.producer_operands[i]) merged.values[made.producer_operands[i]->value] = producer.values[i];
        for (size_t j = 0; j < consumer.values.size(); ++j)
            if (made.consumer_operands[j]) merged.values[made.consumer_operands[j]->value] = consumer.values[j];
        merged.reasons = consumer.reasons;
        merged.origins = producer.origins;
        for (const problem::Origin& o : consumer.origins)
            if (std::find(merged.origins.begin(), merged.origins.end(), o) == merged.origins.end()) merged.origins.push_back(o);
        if (!duplicate || all_dropped) {
            merged.reasons.insert(merged.reasons.end(), producer.reasons.begin(), producer.reasons.end());
            remove(p);
        }
        leave(c);
        groups_[c] = std::move(merged);
        enter(c);
        return true;
    }

    bool refuse(uint32_t p, uint32_t c, const std::string& why) {
        std::string reason = fmt::format("{} not fused: {}", groups_[p].problem.name, why);
        auto& reasons = groups_[c].reasons;
        if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(std::move(reason));
        return false;
    }

    // Whether running p and c as one would let an in-place write happen before a read of the old contents.
    bool reads_overwritten(uint32_t p, uint32_t c) const {
        const auto writes_over_input_of = [&](uint32_t writer, uint32_t reader) {
            for (const auto& [target, result] : overwritten_by_) {
                const auto w = maker_.find(result);
                if (w == maker_.end() || w->second != writer) continue;
                const auto in = groups_[reader].inputs();
                if (std::find(in.begin(), in.end(), target) != in.end() || std::find(in.begin(), in.end(), result) != in.end()) return true;
            }
            return false;
        };
        return writes_over_input_of(p, c) || writes_over_input_of(c, p);
    }

    std::set<uint32_t> successors(uint32_t group) const {
        std::set<uint32_t> next;
        for (const uint32_t v : groups_[group].outputs())
            if (const auto r = readers_.find(v); r != readers_.end()) next.insert(r->second.begin(), r->second.end());
        for (const uint32_t v : groups_[group].inputs()) // a reader runs before who overwrites
            if (const auto over = overwritten_by_.find(v); over != overwritten_by_.end())
                if (const auto w = maker_.find(over->second); w != maker_.end()) next.insert(w->second);
        next.erase(group);
        return next;
    }

    // A path from p to c through a third group: merging would make a cycle.
    bool path_around(uint32_t p, uint32_t c) const {
        std::vector<uint32_t> stack;
        std::set<uint32_t> seen;
        for (const uint32_t s : successors(p))
            if (s != c) stack.push_back(s);
        while (!stack.empty()) {
            const uint32_t at = stack.back();
            stack.pop_back();
            if (at == c) return true;
            if (!seen.insert(at).second) continue;
            for (const uint32_t s : successors(at)) stack.push_back(s);
        }
        return false;
    }

    void enter(uint32_t i) {
        for (const uint32_t v : groups_[i].inputs()) readers_[v].insert(i);
        for (const uint32_t v : groups_[i].outputs()) maker_[v] = i;
    }
    void leave(uint32_t i) {
        for (const uint32_t v : groups_[i].inputs()) readers_[v].erase(i);
        for (const uint32_t v : groups_[i].outputs())
            if (const auto m = maker_.find(v); m != maker_.end() && m->second == i) maker_.erase(m);
    }
    void remove(uint32_t i) {
        leave(i);
        groups_[i].alive = false;
    }

    // Execution order: dependences, readers before overwriters, else the graph's own order.
    std::vector<uint32_t> order() const {
        std::vector<uint32_t> waits(groups_.size(), 0), result;
        for (uint32_t i = 0; i < groups_.size(); ++i)
            if (groups_[i].alive)
                for (const uint32_t s : successors(i)) ++waits[s];
        std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
        for (uint32_t i = 0; i < groups_.size(); ++i)
            if (groups_[i].alive && waits[i] == 0) ready.push(i);
        size_t alive = 0;
        for (const Group& group : groups_) alive += group.alive;
        while (!ready.empty()) {
            const uint32_t i = ready.top();
            ready.pop();
            result.push_back(i);
            for (const uint32_t s : successors(i))
                if (--waits[s] == 0) ready.push(s);
        }
        CODETTA_CHECK(result.size() == alive, "fusion of {} made a cycle", g_.name);
        return result;
    }

    const graph::Graph& g_;
    std::vector<Group> groups_;
    std::map<uint32_t, std::set<uint32_t>> readers_;
    std::map<uint32_t, uint32_t> maker_;
    std::set<uint32_t> needed_;                   // values that the caller sees or that are written in place
    std::map<uint32_t, uint32_t> overwritten_by_; // input -> the value written over it
};

} // namespace

Regions fuse(const graph::Graph& g, const graph::OpSet& ops, const base::Target&, const base::Options& options) {
    const graph::Graph apart = overwrite_apart(g, ops);
    Fuser fuser(apart, ops);
    fuser.run();
    return fuser.take(options);
}

std::string to_string(const Regions& r) {
    std::string out;
    for (const problem::Region& region : r.regions) {
        out += problem::to_string(region.problem) + "  values:";
        for (size_t i = 0; i < region.values.size(); ++i)
            out += fmt::format(" {}=%{}", region.problem.operands[i].name, region.values[i].value);
        out += "\n";
        for (const std::string& reason : region.reasons) out += fmt::format("  # {}\n", reason);
        out += "\n";
    }
    return out;
}

} // namespace codetta::fusion
