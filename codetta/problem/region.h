// A Problem together with where its operands come from and where it may be split: what fusion proposes and choose decides on.
#pragma once

#include "codetta/base/verdict.h"
#include "codetta/problem/problem.h"

namespace codetta::problem {

using ValueId = base::Id<struct RegionValueTag>; // opaque: a value of the graph that the region was made from

// An op that went into a region, for people.
struct Origin {
    std::string op, location; // "addmm", "model.py:12" or empty
    bool moves_only = false;  // a view: computes nothing
    friend bool operator==(const Origin&, const Origin&) = default;
};

struct Region {
    Problem problem;
    std::vector<ValueId> values;      // per operand
    std::vector<StageId> cuts;        // stages whose value may be materialised between kernels
    std::vector<std::string> reasons; // what was not fused into this region, and why
    std::vector<Origin> origins = {}; // producers first, each once
    friend bool operator==(const Region&, const Region&) = default;
};

// "addmm+gelu model.py:12": what computes, at most four ops by name, and where it stands; views only when there is nothing else.
std::string summary(const std::vector<Origin>& origins);

// Splits after the stages for which `first` is true (closed under dependence: @pre can_cut): the value of each stage that crosses becomes a
// contiguous operand named after it (or the operand that holds it already), `out` in the first and `in` in the second, with a fresh ValueId
// from `next_value`. Both halves are normalised (normalise.h: merge_axes).
struct Split {
    Region first, second;
};
base::Verdict can_cut(const Region& r, const std::vector<bool>& first);
Split cut(const Region& r, const std::vector<bool>& first, uint32_t& next_value);

// Replaces reads of stage s (no combiner) by its body with the access substituted, in every reader where can_inline says yes. The stage
// goes when nobody is left who reads it and it writes nothing.
// @post same values
Problem inline_stage(const Problem& p, StageId s);
base::Verdict can_inline(const Problem& p, StageId s, StageId reader);

// Which stages without combiner are worth keeping as their own: by default one that works hard (a transcendental, or two and more values
// read) and is read at several places, and one with a transcendental, or beside reductions with a division or root, that a reader would
// compute again and again.
struct InlinePolicy {
    bool keep_shared = true;
    bool keep_recomputed = true;
};
Problem inline_stages(Problem p, const InlinePolicy& policy = {});

// Lets stages run over the axes of the stages that they read, wherever the coordinates can be inverted (permutations, merges, splits,
// slices), so that an epilogue reads acc[m, n] at its own m and n and writes to coordinates that are expressions of m and n. @post same
// values
Problem align_axes(Problem p);

// inline_stages, align_axes, equal stages made one, accesses simplified, dead stages and axes dropped. @post same values;
// simplify(simplify(p)) == simplify(p)
Problem simplify(Problem p, const InlinePolicy& policy = {});

// Without the outputs that nobody wants: keep is indexed by the operands, false matters for `out` only. Simplified; operands that remain
// keep their order.
Problem drop_outputs(Problem p, const std::vector<bool>& keep, const InlinePolicy& policy = {});

// Appends `consumer` to `producer` and simplifies. Consumer operand j is what producer operand bindings[j] holds (in or out), or stays an
// own operand when nullopt. Names are made apart. A consumer that reads what a stage of the producer writes reads that stage: the write is
// inverted. keep is indexed by the producer's operands (false matters for `out` only): an output that is not kept loses its writes and its
// place.
// @pre can_compose
// @post running the result gives the kept outputs the values that running producer, then consumer gives
struct Composition {
    Problem problem;
    std::vector<std::optional<OperandId>> producer_operands; // where each operand of the producer went; nullopt: dropped
    std::vector<std::optional<OperandId>>
        consumer_operands; // where each operand of the consumer went; nullopt: its value is only a stage now
};
base::Verdict can_compose(const Problem& producer, const Problem& consumer, const std::vector<std::optional<OperandId>>& bindings,
                          const std::vector<bool>& keep);
Composition compose(const Problem& producer, const Problem& consumer, const std::vector<std::optional<OperandId>>& bindings,
                    const std::vector<bool>& keep, const InlinePolicy& policy = {});

} // namespace codetta::problem
