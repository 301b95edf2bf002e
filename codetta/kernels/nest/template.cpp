#include "codetta/kernels/nest/template.h"

#include "codetta/kernels/nest/emit.h"
#include "codetta/problem/contraction.h"

namespace codetta::kernels::nest {

namespace {

base::Verdict match(const problem::Problem& p, const BuildContext& context) {
    if (context.target->vector_bits == 0) return base::Verdict::no("the target {} has no vector registers of a CPU", context.target->name);
    for (const problem::Contraction& c : problem::contractions(p))
        if (!c.m.empty() && !c.n.empty()) return base::Verdict::no("a matrix product wants a blocked kernel");
    return base::Verdict::yes();
}

Candidate build(const problem::Problem& p, const BuildContext& context) {
    const Schedule s = schedule(p, context.target->vector_bits);
    Candidate c;
    c.template_name = "nest";
    c.variants.push_back({{}, {emit(p, s, "nest_" + context.target->name)}, {}});
    return c;
}

} // namespace

Template make() { return {"nest", "one loop nest over rows, vectorised along the best axis", match, build}; }

} // namespace codetta::kernels::nest
