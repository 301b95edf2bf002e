#include "codetta/problem/block_range.h"

#include <algorithm>
#include <limits>

namespace codetta::problem {

namespace {

using scalar::Prim;
using scalar::Value;
using sym::Condition;
using sym::Expr;

bool is_minus_infinity(const scalar::Op& op) {
    return op.prim == Prim::constant && scalar::is_float(op.dtype) && op.float_value == -std::numeric_limits<double>::infinity();
}

// Conditions that hold wherever a value is not -inf.
class Visibility {
public:
    explicit Visibility(const Problem& p) : p_(p) {}

    // `at`: the indices of the stage's axes and reads, over those of the stage that was asked about.
    std::vector<Condition> of_stage(uint32_t s, const sym::Substitution& at) const {
        const Stage& stage = p_.stages[s];
        if (stage.combiner) return {};
        return of_value(stage, stage.body.results[0], at);
    }

private:
    std::vector<Condition> of_value(const Stage& s, Value v, const sym::Substitution& at) const {
        const scalar::Op& op = s.body.ops[v];
        if (scalar::is_conversion(op.prim) && scalar::is_float(s.body.ops[op.inputs[0]].dtype)) return of_value(s, op.inputs[0], at);
        if (op.prim == Prim::parameter) return of_read(s.reads[static_cast<size_t>(op.int_value)], at);
        if (op.prim != Prim::select) return {};
        if (is_minus_infinity(s.body.ops[op.inputs[2]])) return join(of_truth(s, op.inputs[0], true, at), of_value(s, op.inputs[1], at));
        if (is_minus_infinity(s.body.ops[op.inputs[1]])) return join(of_truth(s, op.inputs[0], false, at), of_value(s, op.inputs[2], at));
        return {};
    }

    std::vector<Condition> of_read(const Read& r, const sym::Substitution& at) const {
        if (r.from == Read::From::index || depends_on_data(r.access)) return {};
        const Access a = substitute(r.access, at);
        std::vector<Condition> found;
        if (!a.guard.empty()) {
            if (a.fill != -std::numeric_limits<double>::infinity()) return {};
            found = a.guard;
        }
        if (r.from != Read::From::stage) return found;
        sym::Substitution inner;
        for (size_t i = 0; i < a.coordinates.size(); ++i) inner.emplace(p_.axis(p_.stages[r.source].axes[i]).name, a.coordinates[i]);
        return join(std::move(found), of_stage(r.source, inner));
    }

    // What follows from the value being `truth`.
    std::vector<Condition> of_truth(const Stage& s, Value v, bool truth, const sym::Substitution& at) const {
        const scalar::Op& op = s.body.ops[v];
        if (op.prim == Prim::bit_not) return of_truth(s, op.inputs[0], !truth, at);
        if (op.prim == (truth ? Prim::bit_and : Prim::bit_or) && op.dtype == scalar::DType::boolean)
            return join(of_truth(s, op.inputs[0], truth, at), of_truth(s, op.inputs[1], truth, at));
        if (op.prim < Prim::eq || op.prim > Prim::ge) return {};
        auto a = side(s, op.inputs[0], at), b = side(s, op.inputs[1], at);
        if (!a || !b) return {};
        Condition c = op.prim == Prim::eq   ? sym::eq(*a, *b)
                      : op.prim == Prim::ne ? sym::ne(*a, *b)
                      : op.prim == Prim::lt ? sym::lt(*a, *b)
                      : op.prim == Prim::le ? sym::le(*a, *b)
                      : op.prim == Prim::gt ? sym::lt(*b, *a)
                                            : sym::le(*b, *a);
        return {truth ? c : sym::negate(c)};
    }

    std::optional<Expr> side(const Stage& s, Value v, const sym::Substitution& at) const {
        const scalar::Op& op = s.body.ops[v];
        if (op.dtype != scalar::DType::i64) return std::nullopt;
        if (op.prim == Prim::constant) return Expr(op.int_value);
        if (op.prim == Prim::parameter && s.reads[static_cast<size_t>(op.int_value)].from == Read::From::index) {
            Expr e = sym::substitute(s.reads[static_cast<size_t>(op.int_value)].expression, at);
            for (const std::string& name : sym::symbols(e))
                if (name[0] == '$') return std::nullopt;
            return e;
        }
        auto in = [&](size_t i) { return side(s, op.inputs[i], at); };
        if (op.prim != Prim::add && op.prim != Prim::sub) return std::nullopt;
        auto a = in(0), b = in(1);
        if (!a || !b) return std::nullopt;
        return op.prim == Prim::add ? *a + *b : *a - *b;
    }

    static std::vector<Condition> join(std::vector<Condition> a, const std::vector<Condition>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    }

    const Problem& p_;
};

} // namespace

BlockRange block_range(const Problem& p, StageId s, AxisId axis) {
    sym::Facts facts = index_facts(p);
    BlockRange range{0, p.axis(axis).extent};
    auto bound = [&](const Condition& c) {
        auto slack = sym::as_affine(facts.simplify(c.rhs - c.lhs - (c.relation == sym::Relation::lt ? 1 : 0)), p.axis(axis).name); // >= 0
        if (!slack || !slack->coefficient.constant() || slack->coefficient.is(0)) return;
        Expr k = slack->coefficient;
        if (facts.range(k).lo > 0)
            range.lo = sym::max(range.lo, sym::ceil_div(-slack->rest, k));
        else
            range.hi = sym::min(range.hi, sym::floor_div(slack->rest, -k) + 1);
    };
    for (const Condition& c : Visibility(p).of_stage(s.value, {})) {
        if (c.relation == sym::Relation::ne) continue;
        if (c.relation == sym::Relation::eq) {
            bound(sym::le(c.lhs, c.rhs));
            bound(sym::le(c.rhs, c.lhs));
        } else {
            bound(c);
        }
    }
    range.lo = facts.simplify(range.lo);
    range.hi = facts.simplify(range.hi);
    return range;
}

} // namespace codetta::problem
