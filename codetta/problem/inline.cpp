#include <algorithm>

#include "codetta/base/error.h"
#include "codetta/problem/region.h"
#include "codetta/problem/rewrite.h"

namespace codetta::problem {

using scalar::Prim;
using sym::Expr;

namespace {

bool is_transcendental(Prim p) { return p == Prim::pow || (p >= Prim::exp && p <= Prim::sigmoid); }

bool has_transcendental(const scalar::Function& f) {
    return std::ranges::any_of(f.ops, [](const scalar::Op& op) { return is_transcendental(op.prim); });
}

// A division or a root: cheap once per row, dear once per element.
bool divides(const scalar::Function& f) {
    return std::ranges::any_of(f.ops, [](const scalar::Op& op) {
        return scalar::is_float(op.dtype) && (op.prim == Prim::div || op.prim == Prim::sqrt || op.prim == Prim::rsqrt ||
                                              op.prim == Prim::floor_div || op.prim == Prim::mod);
    });
}

// What a read of stage s is when the stage is computed in place.
Replacement in_place(const Problem& p, const Stage& s, const Read& r) {
    sym::Substitution at;
    for (size_t i = 0; i < s.axes.size(); ++i) at.emplace(p.axis(s.axes[i]).name, r.access.coordinates[i]);
    for (size_t k = 0; k < s.reads.size(); ++k) at.emplace("$" + std::to_string(k), local_symbol(k));
    Replacement value{{}, s.body};
    std::vector<scalar::DType> types;
    for (const Read& inner : s.reads) {
        Read moved = substitute(inner, at);
        if (moved.from != Read::From::index)
            moved.access.checks.insert(moved.access.checks.begin(), r.access.checks.begin(), r.access.checks.end());
        value.reads.push_back(std::move(moved));
        types.push_back(read_dtype(p, inner));
    }
    return guarded(std::move(value), r.access.guard, r.access.fill, types);
}

base::Verdict replace_reads(const Problem& p, uint32_t source, Stage& reader) {
    const Stage& s = p.stages[source];
    if (s.combiner) return base::Verdict::no("stage {} reduces", s.name);
    bool touches_memory = std::ranges::any_of(s.reads, [](const Read& r) { return r.from != Read::From::index; });
    for (const Read& r : reader.reads)
        if (r.from == Read::From::stage && r.source == source && !r.access.checks.empty() && !touches_memory)
            return base::Verdict::no("the check of an index into stage {} would be lost", s.name);
    return rewrite_reads(p, reader, [&](const Read& r) -> std::optional<Replacement> {
        if (r.from != Read::From::stage || r.source != source) return std::nullopt;
        return in_place(p, s, r);
    });
}

bool reads_stage(const Stage& t, uint32_t source) {
    return std::ranges::any_of(t.reads, [&](const Read& r) { return r.from == Read::From::stage && r.source == source; });
}

// Whether t computes an element of what it reads more than once.
bool computes_again(const Problem& p, const Stage& t, const Read& r) {
    std::set<std::string> names;
    for (const Expr& e : r.access.coordinates) sym::collect_symbols(e, names);
    for (const auto* list : {&t.axes, &t.reduce})
        for (AxisId a : *list)
            if (!names.contains(p.axis(a).name) && !p.axis(a).extent.is(1)) return true;
    return std::ranges::any_of(names, [](const std::string& n) { return n[0] == '$'; });
}

bool worth_keeping(const Problem& p, uint32_t source, const InlinePolicy& policy) {
    const Stage& s = p.stages[source];
    size_t values = 0;
    for (const Read& r : s.reads) values += r.from != Read::From::index;
    bool transcendental = has_transcendental(s.body);
    size_t places = 0;
    bool again = false;
    for (const Stage& t : p.stages)
        for (const Read& r : t.reads)
            if (r.from == Read::From::stage && r.source == source) {
                ++places;
                again = again || computes_again(p, t, r);
            }
    if (policy.keep_shared && places >= 2 && (transcendental || values >= 2)) return true;
    bool reduces = std::ranges::any_of(p.stages, [](const Stage& t) { return t.combiner.has_value(); });
    return policy.keep_recomputed && again && (transcendental || (reduces && divides(s.body)));
}

} // namespace

base::Verdict can_inline(const Problem& p, StageId s, StageId reader) {
    Stage trial = p.stage(reader);
    return replace_reads(p, s.value, trial);
}

Problem inline_stage(const Problem& p, StageId s) {
    Problem result = p;
    for (size_t t = s.value + 1; t < p.stages.size(); ++t) {
        if (!reads_stage(result.stages[t], s.value)) continue;
        if (replace_reads(result, s.value, result.stages[t])) simplify_stage(result, result.stages[t]);
    }
    bool read = std::ranges::any_of(result.stages, [&](const Stage& t) { return reads_stage(t, s.value); });
    if (read || !result.stages[s.value].writes.empty()) return result;
    result.stages.erase(result.stages.begin() + s.value);
    for (Stage& t : result.stages)
        for (Read& r : t.reads)
            if (r.from == Read::From::stage && r.source > s.value) --r.source;
    return result;
}

Problem inline_stages(Problem p, const InlinePolicy& policy) {
    for (uint32_t s = 0; s < p.stages.size();) {
        size_t before = p.stages.size();
        if (!p.stages[s].combiner && p.stages[s].writes.empty() && !worth_keeping(p, s, policy)) p = inline_stage(p, StageId(s));
        if (p.stages.size() == before) ++s;
    }
    return p;
}

} // namespace codetta::problem
