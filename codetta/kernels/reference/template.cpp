#include "codetta/kernels/reference/template.h"

#include "codetta/kernels/nest/emit.h"

namespace codetta::kernels::reference {

namespace {

Candidate build(const problem::Problem& p, const BuildContext& context) {
    Candidate c;
    c.template_name = "reference";
    c.variants.push_back({{}, {nest::emit(p, nest::schedule(p, 0), "reference_" + context.target->name)}, {}});
    return c;
}

} // namespace

Template make() {
    return {"reference", "the plain loop nest of any problem",
            [](const problem::Problem&, const BuildContext&) { return base::Verdict::yes(); }, build};
}

} // namespace codetta::kernels::reference
