#include <algorithm>
#include <numeric>

#include "codetta/base/error.h"
#include "codetta/problem/bijection.h"
#include "codetta/problem/region.h"
#include "codetta/problem/rewrite.h"

namespace codetta::problem {

using scalar::Builder;
using scalar::Prim;
using scalar::Value;
using sym::Expr;

namespace {

// A stage's write turned round: which index of the stage holds the element at `$T0`, `$T1` ... of the operand, and for which elements.
struct Inverted {
    uint32_t stage = 0;
    std::vector<Expr> index;
    std::vector<sym::Condition> region;
};

Expr target_symbol(size_t i) { return Expr::symbol("$T" + std::to_string(i)); }

// What a guard leaves of an axis: where it starts (index) and how long it is.
Dimension guarded_part(const Problem& p, AxisId a, const std::vector<sym::Condition>& guard) {
    const std::string& name = p.axis(a).name;
    Expr lo = 0, hi = p.axis(a).extent;
    auto speaks_of_axes = [&](const Expr& e) {
        return std::ranges::any_of(sym::symbols(e), [&](const std::string& s) {
            return s[0] == '$' || std::ranges::any_of(p.axes, [&](const Axis& x) { return x.name == s; });
        });
    };
    for (const sym::Condition& c : guard) {
        if (c.relation != sym::Relation::le && c.relation != sym::Relation::lt) continue;
        auto slack = sym::as_affine(c.rhs - c.lhs - (c.relation == sym::Relation::lt ? 1 : 0), name); // >= 0
        if (!slack || speaks_of_axes(slack->rest)) continue;
        if (slack->coefficient.is(1) && lo.is(0) && p.facts.proves(sym::le(0, -slack->rest))) lo = -slack->rest;
        if (slack->coefficient.is(-1) && hi == p.axis(a).extent && p.facts.proves(sym::le(slack->rest + 1, hi))) hi = slack->rest + 1;
    }
    return {lo, p.facts.simplify(hi - lo)};
}

// The writers of an operand in order; nullopt when one of them can't be turned round.
std::optional<std::vector<Inverted>> invert_writes(const Problem& p, OperandId o) {
    std::vector<Inverted> found;
    std::vector<Dimension> targets;
    for (size_t i = 0; i < p.operand(o).shape.size(); ++i) targets.push_back({target_symbol(i), p.operand(o).shape[i]});
    sym::Facts facts = index_facts(p);
    for (uint32_t s = 0; s < p.stages.size(); ++s)
        for (const Write& w : p.stages[s].writes) {
            if (w.operand != o) continue;
            if (w.accumulate || depends_on_data(w.access) || !w.access.checks.empty()) return std::nullopt;
            std::vector<Dimension> sources;
            sym::Substitution shifted, at;
            for (AxisId a : p.stages[s].axes) {
                // The guard may say that only a part of the axis writes; the index is counted from there.
                Dimension part = guarded_part(p, a, w.access.guard);
                shifted.emplace(p.axis(a).name, axis_symbol(p, a) + part.index);
                sources.push_back({axis_symbol(p, a), part.extent});
            }
            sym::Facts local = facts;
            std::vector<Expr> coordinates;
            for (const Dimension& d : sources) local.set_index(d.index.name(), d.extent);
            for (const Expr& e : w.access.coordinates) coordinates.push_back(sym::substitute(e, shifted));
            auto inverse = invert(coordinates, sources, targets, local);
            if (!inverse) return std::nullopt;
            for (size_t k = 0; k < sources.size(); ++k) {
                inverse->index[k] = sym::substitute(shifted.at(sources[k].index.name()), {{sources[k].index.name(), inverse->index[k]}});
                at.emplace(sources[k].index.name(), inverse->index[k]);
            }
            Inverted inverted{s, inverse->index, inverse->image};
            for (const sym::Condition& c : w.access.guard) inverted.region.push_back(sym::substitute(c, at));
            found.push_back(std::move(inverted));
        }
    return found;
}

// Reading an operand through the stages that wrote it. `old`: the operand that holds what was there before, if any (in-place).
Replacement read_through(const Problem& p, const std::vector<Inverted>& writers, std::optional<uint32_t> old, const Read& r) {
    sym::Substitution at;
    for (size_t i = 0; i < r.access.coordinates.size(); ++i) at.emplace(target_symbol(i).name(), r.access.coordinates[i]);
    Replacement value;
    std::vector<scalar::DType> types;
    auto add = [&](Read read) {
        types.push_back(read_dtype(p, read));
        value.reads.push_back(std::move(read));
    };
    CODETTA_CHECK(!writers.empty(), "an operand that nobody writes");
    // What every later writer leaves uncovered comes from the old contents, or (never to be seen) from the first writer.
    size_t first = writers.size();
    while (first > 0 && !(first < writers.size() && writers[first].region.empty())) --first;
    bool needs_old = old && !writers[first].region.empty();
    if (needs_old) add({Read::From::operand, *old, {r.access.coordinates, {}, 0, r.access.checks}, {}});
    std::vector<std::vector<sym::Condition>> regions;
    for (size_t k = first; k < writers.size(); ++k) {
        Read read{Read::From::stage, writers[k].stage, {{}, {}, 0, r.access.checks}, {}};
        for (const Expr& e : writers[k].index) read.access.coordinates.push_back(sym::substitute(e, at));
        for (const sym::Condition& c : writers[k].region) read.access.guard.push_back(sym::substitute(c, at));
        regions.push_back(read.access.guard);
        add(std::move(read));
    }
    size_t values = value.reads.size();
    std::vector<Expr> sides;
    for (size_t k = needs_old ? 0 : 1; k < regions.size(); ++k)
        for (const sym::Condition& c : regions[k])
            for (const Expr& e : {c.lhs, c.rhs})
                if (!e.constant() && std::ranges::find(sides, e) == sides.end()) sides.push_back(e);
    for (const Expr& e : sides) add({Read::From::index, 0, {}, e});
    Builder b;
    std::vector<Value> parameters;
    for (scalar::DType t : types) parameters.push_back(b.parameter(t));
    auto side = [&](const Expr& e) {
        if (auto c = e.constant()) return b.integer(scalar::DType::i64, *c);
        return parameters[values + static_cast<size_t>(std::ranges::find(sides, e) - sides.begin())];
    };
    Value result = parameters[0];
    for (size_t k = needs_old ? 0 : 1; k < regions.size(); ++k) {
        Value holds = b.integer(scalar::DType::boolean, 1);
        for (const sym::Condition& c : regions[k]) {
            Prim prim = c.relation == sym::Relation::eq   ? Prim::eq
                        : c.relation == sym::Relation::ne ? Prim::ne
                        : c.relation == sym::Relation::lt ? Prim::lt
                                                          : Prim::le;
            holds = b.apply(Prim::bit_and, {holds, b.apply(prim, {side(c.lhs), side(c.rhs)})});
        }
        result = b.apply(Prim::select, {holds, parameters[k + (needs_old ? 1 : 0)], result});
    }
    value.body = b.finish({result});
    return guarded(std::move(value), r.access.guard, r.access.fill, types);
}

sym::Facts both(const sym::Facts& a, const sym::Facts& b) {
    sym::Facts facts = a;
    facts.add(b);
    return facts;
}

bool is_bound_output(const Problem& producer, const std::optional<OperandId>& binding) {
    return binding && producer.operand(*binding).role != Role::in;
}

// Takes away the outputs that are not kept; where each operand went.
std::vector<std::optional<OperandId>> remove_outputs(Problem& p, const std::vector<bool>& keep) {
    std::vector<std::optional<OperandId>> place;
    std::vector<Operand> operands;
    for (size_t o = 0; o < p.operands.size(); ++o) {
        bool drop = o < keep.size() && !keep[o] && p.operands[o].role == Role::out;
        place.push_back(drop ? std::nullopt : std::optional(OperandId(operands.size())));
        if (!drop) operands.push_back(p.operands[o]);
    }
    for (Operand& o : operands)
        if (o.aliases) {
            CODETTA_CHECK(place[o.aliases->value], "problem '{}': '{}' lies in an operand that is dropped", p.name, o.name);
            o.aliases = place[o.aliases->value];
        }
    p.operands = std::move(operands);
    for (Stage& s : p.stages) {
        std::erase_if(s.writes, [&](const Write& w) { return !place[w.operand.value]; });
        for (Write& w : s.writes) w.operand = *place[w.operand.value];
        for (Read& r : s.reads)
            if (r.from == Read::From::operand) {
                CODETTA_CHECK(place[r.source], "problem '{}': stage '{}' reads an operand that is dropped", p.name, s.name);
                r.source = place[r.source]->value;
            }
    }
    return place;
}

class Composer {
public:
    Composer(const Problem& producer, const Problem& consumer, const std::vector<std::optional<OperandId>>& bindings,
             const std::vector<bool>& keep)
        : bindings_(bindings), keep_(keep) {
        p_ = producer;
        p_.facts = both(producer.facts, consumer.facts);
        // The name of what does the work.
        bool reduces = std::ranges::any_of(producer.stages, [](const Stage& s) { return s.combiner.has_value(); });
        if (!reduces || p_.name.empty()) p_.name = consumer.name;
        producer_stages_ = p_.stages.size();
        for (const Axis& a : p_.axes) axis_names_.insert(a.name);
        for (const std::string& s : producer.size_symbols()) axis_names_.insert(s);
        for (const std::string& s : consumer.size_symbols()) axis_names_.insert(s);
        for (const Operand& o : p_.operands) value_names_.insert(o.name);
        for (const Stage& s : p_.stages) value_names_.insert(s.name);
        add_axes(consumer);
        add_operands(consumer);
        for (const Stage& s : consumer.stages) add_stage(s);
    }

    Composition finish(const InlinePolicy& policy) {
        read_stages();
        place_ = remove_outputs(p_, keep_);
        Composition result;
        result.producer_operands.assign(place_.begin(), place_.begin() + static_cast<std::ptrdiff_t>(keep_.size()));
        for (uint32_t o : consumer_operand_) result.consumer_operands.push_back(place_[o]);
        result.problem = simplify(std::move(p_), policy);
        shorten_names(result.problem);
        return result;
    }

private:
    void add_axes(const Problem& consumer) {
        for (const Axis& a : consumer.axes) {
            std::string name = fresh_name(a.name, axis_names_);
            axis_names_.insert(name);
            if (name != a.name) renamed_.emplace(a.name, Expr::symbol(name));
            axis_.push_back(AxisId(p_.axes.size()));
            p_.axes.push_back({name, a.extent});
        }
    }

    void add_operands(const Problem& consumer) {
        for (size_t j = 0; j < consumer.operands.size(); ++j) {
            const Operand& o = consumer.operands[j];
            if (j < bindings_.size() && bindings_[j]) {
                consumer_operand_.push_back(bindings_[j]->value);
                p_.operands[bindings_[j]->value].frozen =
                    p_.operands[bindings_[j]->value].frozen || (o.frozen && p_.operands[bindings_[j]->value].role == Role::in);
                continue;
            }
            consumer_operand_.push_back(static_cast<uint32_t>(p_.operands.size()));
            Operand own = o;
            own.name = fresh_name(o.name, value_names_);
            value_names_.insert(own.name);
            p_.operands.push_back(std::move(own));
        }
        for (size_t j = 0; j < consumer.operands.size(); ++j)
            if (consumer.operands[j].aliases && !(j < bindings_.size() && bindings_[j]))
                p_.operands[consumer_operand_[j]].aliases = OperandId(consumer_operand_[consumer.operands[j].aliases->value]);
    }

    void add_stage(Stage s) {
        s.name = fresh_name(s.name, value_names_);
        value_names_.insert(s.name);
        for (auto* list : {&s.axes, &s.reduce})
            for (AxisId& a : *list) a = axis_[a.value];
        if (s.scan) s.scan = axis_[s.scan->value];
        for (Read& r : s.reads) {
            r = substitute(r, renamed_);
            if (r.from == Read::From::operand) r.source = consumer_operand_[r.source];
            if (r.from == Read::From::stage) r.source += static_cast<uint32_t>(producer_stages_);
        }
        for (Write& w : s.writes) {
            w.access = substitute(w.access, renamed_);
            w.operand = OperandId(consumer_operand_[w.operand.value]);
        }
        p_.stages.push_back(std::move(s));
    }

    // The consumer reads the stages instead of what they write.
    void read_stages() {
        std::vector<std::optional<std::vector<Inverted>>> inverted(keep_.size());
        Problem producer_part = p_;
        producer_part.stages.resize(producer_stages_);
        for (size_t o = 0; o < keep_.size(); ++o)
            if (p_.operands[o].role != Role::in) inverted[o] = invert_writes(producer_part, OperandId(o));
        for (size_t s = producer_stages_; s < p_.stages.size(); ++s) {
            auto ok = rewrite_reads(p_, p_.stages[s], [&](const Read& r) -> std::optional<Replacement> {
                if (r.from != Read::From::operand || r.source >= keep_.size() || p_.operands[r.source].role == Role::in)
                    return std::nullopt;
                CODETTA_CHECK(inverted[r.source], "composing '{}': the writes of '{}' can't be inverted", p_.name,
                              p_.operands[r.source].name);
                const Operand& o = p_.operands[r.source];
                std::optional<uint32_t> old = o.role == Role::inout ? std::optional(r.source)
                                              : o.aliases           ? std::optional(o.aliases->value)
                                                                    : std::nullopt;
                return read_through(p_, *inverted[r.source], old, r);
            });
            CODETTA_CHECK(ok, "composing '{}': {}", p_.name, ok.reason());
        }
    }

    const std::vector<std::optional<OperandId>>& bindings_;
    const std::vector<bool>& keep_;
    Problem p_;
    size_t producer_stages_ = 0;
    std::set<std::string> axis_names_, value_names_;
    std::vector<AxisId> axis_;                    // of the consumer's axes
    std::vector<uint32_t> consumer_operand_;      // before dropping
    std::vector<std::optional<OperandId>> place_; // of every operand after dropping
    sym::Substitution renamed_;
};

} // namespace

base::Verdict can_compose(const Problem& producer, const Problem& consumer, const std::vector<std::optional<OperandId>>& bindings,
                          const std::vector<bool>& keep) {
    CODETTA_CHECK(bindings.size() == consumer.operands.size() && keep.size() == producer.operands.size(),
                  "bindings and keep have a place per operand");
    for (size_t j = 0; j < bindings.size(); ++j) {
        if (!bindings[j]) continue;
        const Operand &o = consumer.operands[j], &made = producer.operand(*bindings[j]);
        CODETTA_CHECK(o.dtype == made.dtype && o.shape.size() == made.shape.size(), "'{}' and '{}' are not the same value", o.name,
                      made.name);
        if (o.role != Role::in) return base::Verdict::no("'{}' writes into what it is given", o.name);
        bool overwritten = std::ranges::any_of(consumer.operands, [&](const Operand& x) { return x.aliases == OperandId(j); });
        if (!is_bound_output(producer, bindings[j])) {
            bool changed = std::ranges::any_of(producer.operands, [&](const Operand& x) { return x.aliases == *bindings[j]; });
            if (changed) return base::Verdict::no("'{}' is overwritten before it is read", made.name);
            if (overwritten && std::ranges::any_of(producer.stages, [&](const Stage& s) {
                    return std::ranges::any_of(
                        s.reads, [&](const Read& r) { return r.from == Read::From::operand && r.source == bindings[j]->value; });
                }))
                return base::Verdict::no("'{}' is read by one and overwritten by the other", made.name);
            continue;
        }
        if (overwritten) return base::Verdict::no("'{}' is overwritten in place", made.name);
        if (!invert_writes(producer, *bindings[j]))
            return base::Verdict::no("'{}' is not written in a way that can be read back element by element", made.name);
    }
    return base::Verdict::yes();
}

Composition compose(const Problem& producer, const Problem& consumer, const std::vector<std::optional<OperandId>>& bindings,
                    const std::vector<bool>& keep, const InlinePolicy& policy) {
    if (auto ok = can_compose(producer, consumer, bindings, keep); !ok)
        throw base::InternalError(fmt::format("composing '{}' and '{}': {}", producer.name, consumer.name, ok.reason()));
    return Composer(producer, consumer, bindings, keep).finish(policy);
}

Problem drop_outputs(Problem p, const std::vector<bool>& keep, const InlinePolicy& policy) {
    CODETTA_CHECK(keep.size() == p.operands.size(), "{} marks for {} operands", keep.size(), p.operands.size());
    remove_outputs(p, keep);
    return simplify(std::move(p), policy);
}

Problem simplify(Problem p, const InlinePolicy& policy) {
    // torch's contiguous strides speak of max(extent, 1).
    for (Operand& o : p.operands)
        for (auto* list : {&o.shape, &o.strides})
            for (Expr& e : *list) e = p.facts.simplify(e);
    for (Axis& a : p.axes) a.extent = p.facts.simplify(a.extent);
    for (int round = 0; round < 4; ++round) {
        Problem before = p;
        for (Stage& s : p.stages) simplify_stage(p, s);
        p = inline_stages(std::move(p), policy);
        p = align_axes(std::move(p));
        drop_dead(p);
        share_equal_stages(p);
        if (p == before) break;
    }
    return p;
}

} // namespace codetta::problem
