// Rewriting one stage at a time: its reads, its axes, its order. What composition and normalisation are made of. Inside problem/.
#pragma once

#include <functional>

#include "codetta/base/verdict.h"
#include "codetta/problem/problem.h"

namespace codetta::problem {

// What stands in place of a read: reads of its own and a body over them (one parameter each). In the accesses `$L0`, `$L1` ... mean reads
// of this list, `$0` ... reads of the stage.
struct Replacement {
    std::vector<Read> reads;
    scalar::Function body;
};
sym::Expr local_symbol(size_t i); // `$Li`

// A replacement for reading `value` under a guard: value inside, `fill` outside. Each of its reads is guarded; a select is added only when
// the fills of the reads do not give `fill` by themselves. `types`: of the reads.
Replacement guarded(Replacement value, const std::vector<sym::Condition>& guard, double fill, const std::vector<scalar::DType>& types);

// Replaces the reads of `s` for which `replace` gives something (it sees the read with `$i` of the new list). Equal reads become one. No
// (and `s` unchanged) when a replaced read serves as an index and what replaces it is no index expression.
base::Verdict rewrite_reads(const Problem& p, Stage& s, const std::function<std::optional<Replacement>(const Read&)>& replace);

// Simplifies what the stage's accesses say, under the facts of its axes: coordinates, guards that always hold, reads that never happen.
void simplify_stage(const Problem& p, Stage& s);

// Drops reads that nothing needs, and puts reads and body into the order in which the text names them.
void canonicalise_stage(const Problem& p, Stage& s);

// The stage runs over other axes: each old axis index is an expression of the new ones (`forward`, by name), each new domain axis one of
// the old ones (`backward`). Conditions `inside`: which new points stand for old ones; outside nothing is read or written. Readers of the
// stage are changed to match.
struct Reindexing {
    std::vector<AxisId> axes, reduce;
    std::optional<AxisId> scan;
    sym::Substitution forward;
    std::vector<sym::Expr> backward;
    std::vector<sym::Condition> inside;
};
void reindex_stage(Problem& p, StageId s, const Reindexing& to);

// Drops stages that are neither read nor written out and axes that no stage has, puts axes in the order of their first use, canonicalises
// every stage. Operands stay.
void drop_dead(Problem& p);

// Stages that compute the same become the first of them, with the writes of all.
void share_equal_stages(Problem& p);

// `name` for `name_1` where that is free.
void shorten_names(Problem& p);

// A name that is none of the taken ones: `base`, `base_1`, ...
std::string fresh_name(const std::string& base, const std::set<std::string>& taken);

} // namespace codetta::problem
