// A Problem together with where its operands come from and where it may be split: what fusion proposes and choose decides on.
#pragma once

#include "codetta/problem/problem.h"

namespace codetta::problem {

using ValueId = base::Id<struct RegionValueTag>;  // opaque: a value of the graph that the region was made from

struct Region {
  Problem problem;
  std::vector<ValueId> values;           // per operand
  std::vector<StageId> cuts;             // stages whose value may be materialised between kernels
  std::vector<std::string> reasons;      // what was not fused into this region, and why
  friend bool operator==(const Region&, const Region&) = default;
};

// Splits after the stages for which `first` is true (closed under dependence): the value of each stage that crosses becomes a contiguous operand named after it,
// `out` in the first and `in` in the second, with a fresh ValueId from `next_value`.
struct Split {
  Region first, second;
};
Split cut(const Region& r, const std::vector<bool>& first, uint32_t& next_value);

// Substitutes an operand that `p` reads by a stage of another problem, and other composition steps; used by fusion.
// inline_stage: replaces reads of stage s (no combiner, no write) by its body with the access substituted; @post same values.
Problem inline_stage(const Problem& p, StageId s);
// Appends `consumer` to `producer`: consumer operand j reads what producer operand bindings[j] holds (in or out), or stays an own operand when nullopt. Axes and stages are renamed apart.
// When the producer's out is written by a stage through an access that can be inverted, the consumer reads the stage; an intermediate that nobody else needs loses its write when `keep` is false for it.
// nullopt in bindings: an own operand. keep is indexed by the producer's operands (false matters for `out` only); a dropped operand has no place in the result.
struct Composition {
  Problem problem;
  std::vector<std::optional<OperandId>> producer_operands;  // where each operand of the producer went; nullopt: dropped
  std::vector<std::optional<OperandId>> consumer_operands;  // where each operand of the consumer went; a bound operand whose value is now only a stage: nullopt
};
Composition compose(const Problem& producer, const Problem& consumer, const std::vector<std::optional<OperandId>>& bindings, const std::vector<bool>& keep);

}  // namespace codetta::problem
