#include "codetta/problem/contraction.h"

#include <algorithm>

namespace codetta::problem {

namespace {

// The parameter that v is, looking through casts.
std::optional<uint32_t> parameter_below_casts(const scalar::Function& f, scalar::Value v) {
    while (f.ops[v].prim == scalar::Prim::cast) v = f.ops[v].inputs[0];
    if (f.ops[v].prim != scalar::Prim::parameter) return std::nullopt;
    return static_cast<uint32_t>(f.ops[v].int_value);
}

bool depends(const Read& r, const std::string& axis) {
    return std::any_of(r.access.coordinates.begin(), r.access.coordinates.end(),
                       [&](const sym::Expr& e) { return sym::depends_on(e, axis); });
}

} // namespace

std::optional<Contraction> as_contraction(const Problem& p, StageId s) {
    const Stage& stage = p.stage(s);
    if (!stage.combiner || stage.combiner->name != "sum" || stage.scan || stage.reads.size() != 2 || stage.reduce.empty())
        return std::nullopt;
    if (!scalar::is_float(stage.dtype())) return std::nullopt;
    const scalar::Op& root = stage.body.ops[stage.body.results[0]];
    if (root.prim != scalar::Prim::mul) return std::nullopt;
    const auto x = parameter_below_casts(stage.body, root.inputs[0]), y = parameter_below_casts(stage.body, root.inputs[1]);
    if (!x || !y || *x == *y) return std::nullopt;
    for (const Read& r : stage.reads)
        if (r.from == Read::From::index) return std::nullopt;
    Contraction c;
    c.stage = s;
    c.accumulator = root.dtype;
    c.k = stage.reduce;
    const auto in = [&](uint32_t read, AxisId a) { return depends(stage.reads[read], p.axis(a).name); };
    for (const AxisId k : c.k)
        if (!in(0, k) || !in(1, k)) return std::nullopt;
    std::vector<AxisId> only[2];
    for (const AxisId a : stage.axes) {
        const bool first = in(0, a), second = in(1, a);
        if (first == second)
            c.batch.push_back(a);
        else
            only[first ? 0 : 1].push_back(a);
    }
    if (only[0].empty() && only[1].empty()) return std::nullopt;
    // a is the operand of the outermost axis that belongs to one operand alone.
    const auto position = [&](const std::vector<AxisId>& axes) {
        return axes.empty() ? stage.axes.size()
                            : static_cast<size_t>(std::find(stage.axes.begin(), stage.axes.end(), axes.front()) - stage.axes.begin());
    };
    const bool swapped = position(only[1]) < position(only[0]);
    c.a = swapped ? 1 : 0;
    c.b = swapped ? 0 : 1;
    c.m = only[c.a];
    c.n = only[c.b];
    return c;
}

std::vector<Contraction> contractions(const Problem& p) {
    std::vector<Contraction> found;
    for (uint32_t s = 0; s < p.stages.size(); ++s)
        if (auto c = as_contraction(p, StageId{s})) found.push_back(std::move(*c));
    return found;
}

} // namespace codetta::problem
