#include "codetta/kernels/gemm/variants.h"

#include <algorithm>

#include "codetta/kernels/gemm/dots.h"
#include "codetta/kernels/nest/emit.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/condition.h"

namespace codetta::kernels::gemm {

using problem::Problem;
using sym::Expr;

int64_t likely(const Expr& size, const BuildContext& context, int64_t otherwise) {
    if (const auto constant = size.constant()) return *constant;
    for (const std::string& name : sym::symbols(size))
        if (!context.hints.contains(name)) return otherwise;
    return std::max<int64_t>(sym::evaluate(size, context.hints), 1);
}

bool may_compute_twice(const Problem& p) {
    return std::none_of(p.operands.begin(), p.operands.end(),
                        [](const problem::Operand& o) { return o.aliases || o.role == problem::Role::inout; });
}

Variant few_rows(const Problem& p, const View& v, const base::Target& target, int64_t most_rows) {
    if (can_dot(v)) return {{}, {emit_dots(p, v, target.vector_bits / 8 / scalar::bytes(v.accumulator), most_rows)}, {}};
    return {{}, {nest::emit(p, nest::schedule(p, target.vector_bits), "gemv_" + target.name)}, {}};
}

void add_variant(Candidate& candidate, const Problem& p, const View& v, std::vector<sym::Condition> guard, Variant variant) {
    variant.guard = std::move(guard);
    for (Kernel& k : variant.kernels)
        if (!k.once && !p.facts.positive(v.m)) k.tasks = k.tasks * sym::min(v.m, 1);
    candidate.variants.push_back(std::move(variant));
}

} // namespace codetta::kernels::gemm
