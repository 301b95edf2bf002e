#include "codetta/problem/cost.h"

#include <algorithm>

namespace codetta::problem {

namespace {

sym::Expr points(const Problem& p, const std::vector<AxisId>& axes) {
    sym::Expr n = 1;
    for (AxisId a : axes) n = n * p.axis(a).extent;
    return n;
}

int64_t float_ops(const scalar::Function& f) {
    int64_t n = 0;
    for (const scalar::Op& op : f.ops) {
        bool works = op.prim != scalar::Prim::parameter && op.prim != scalar::Prim::constant && !scalar::is_conversion(op.prim) &&
                     op.prim != scalar::Prim::select;
        if (works && !op.inputs.empty() && scalar::is_float(f.ops[op.inputs[0]].dtype)) n += op.prim == scalar::Prim::fma ? 2 : 1;
    }
    return n;
}

// Elements of o that an access over `axes` can touch: no more than the operand has, no more than the points of the axes it depends on
// (data: all axes).
sym::Expr touched(const Problem& p, const Operand& o, const Access& a, const std::vector<AxisId>& axes) {
    std::set<std::string> names;
    collect_symbols(a, names);
    bool data = depends_on_data(a);
    sym::Expr visits = 1, elements = 1;
    for (AxisId x : axes)
        if (data || names.contains(p.axis(x).name)) visits = visits * p.axis(x).extent;
    for (size_t d = 0; d < o.shape.size(); ++d)
        if (!o.strides[d].is(0)) elements = elements * o.shape[d];
    return visits == elements ? visits : sym::min(visits, elements);
}

} // namespace

Cost cost(const Problem& p) {
    Cost total;
    std::vector<sym::Expr> read(p.operands.size()), written(p.operands.size());
    for (const Stage& s : p.stages) {
        std::vector<AxisId> all = s.axes;
        all.insert(all.end(), s.reduce.begin(), s.reduce.end());
        int64_t ops =
            float_ops(s.body) + (s.combiner ? std::max<int64_t>(float_ops(s.combiner->combine), 0) + float_ops(s.combiner->lift) : 0);
        total.flops = total.flops + points(p, all) * ops;
        if (s.combiner) total.flops = total.flops + points(p, s.axes) * float_ops(s.combiner->finish);
        auto merge = [](sym::Expr& into, const sym::Expr& n) { into = into == n || into.is(0) ? n : sym::max(into, n); };
        for (const Read& r : s.reads)
            if (r.from == Read::From::operand) merge(read[r.source], touched(p, p.operands[r.source], r.access, all));
        for (const Write& w : s.writes) merge(written[w.operand.value], touched(p, p.operand(w.operand), w.access, s.axes));
    }
    for (size_t o = 0; o < p.operands.size(); ++o) {
        total.bytes_read = total.bytes_read + read[o] * scalar::bytes(p.operands[o].dtype);
        total.bytes_written = total.bytes_written + written[o] * scalar::bytes(p.operands[o].dtype);
    }
    return total;
}

} // namespace codetta::problem
