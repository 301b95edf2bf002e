#include "tests/fuzz/differential/generator.h"

#include <algorithm>

namespace codetta::test {

using graph::TensorType;
using graph::ValueId;

Generator::Generator(const graph::OpSet& ops, const Templates& templates, uint64_t seed)
    : ops_(ops), templates_(templates), seed_(seed), random_(seed * 0x9e3779b97f4a7c15 + 1), b_(ops, {}) {}

RandomGraph Generator::make() {
    special_ = pick(8) == 0;
    symbolic_ = pick(5) < 2;
    set_sizes();
    const auto& pairs = templates_.pairs();
    std::vector<size_t> turns;
    for (size_t i = 0; i < kByTurns; ++i) turns.push_back((seed_ * kByTurns + i) % pairs.size() * 7919 % pairs.size());
    const size_t steps = kByTurns + pick(8);
    for (size_t step = 0; step < steps; ++step) {
        try {
            op_step(step < turns.size() ? pairs[turns[step]] : any_of(pairs));
        } catch (const base::UserError&) {
            ++result_.refused;
        }
        try {
            if (pick(4) == 0) view_step();
        } catch (const base::UserError&) {
            ++result_.refused;
        }
    }
    if (pick(3) == 0) write_in_place();
    choose_outputs();
    alias_inputs();
    result_.graph = b_.finish();
    result_.graph.name = "random";
    for (size_t i = 0; i < result_.graph.values.size(); ++i) result_.unit[result_.graph.values[i].name] = meta(ValueId(i)).unit;
    return std::move(result_);
}

void Generator::set_sizes() {
    const std::vector<int64_t> common = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 65}, large = {96, 128, 200, 513, 700};
    for (int i = 0; i < 4; ++i) pool_.emplace_back(any_of(common));
    if (pick(12) == 0) { // several tasks, long sums
        most_elements_ = 40000;
        pool_.emplace_back(any_of(large));
        pool_.emplace_back(any_of(large));
    }
    if (pick(8) == 0) pool_.emplace_back(0);
    if (!symbolic_) {
        result_.runs.push_back({});
        return;
    }
    const bool may_be_empty = pick(3) == 0;
    for (const char* name : {"s0", "s1"}) {
        b_.graph().facts.set_range(name, {may_be_empty ? 0 : 1, 64});
        pool_.push_back(sym::Expr::symbol(name));
        pool_.push_back(sym::Expr::symbol(name));
    }
    b_.graph().size_arguments = {"s0", "s1"};
    for (int run = 0; run < 3; ++run) {
        sym::Bindings sizes;
        for (const char* name : {"s0", "s1"}) sizes[name] = may_be_empty && pick(6) == 0 ? 0 : any_of(common) % 41 + (run == 2);
        for (auto& [name, n] : sizes) n = std::clamp<int64_t>(n, may_be_empty ? 0 : 1, 41);
        result_.runs.push_back(sizes);
    }
}

int64_t Generator::most(const Exprs& shape) const {
    int64_t worst = 0;
    for (const sym::Bindings& sizes : result_.runs) {
        int64_t n = 1;
        for (const sym::Expr& e : shape) {
            const int64_t extent = sym::evaluate(e, sizes);
            CODETTA_USER_CHECK(extent >= 0, "a size below 0");
            n *= extent;
        }
        worst = std::max(worst, n);
    }
    return worst;
}

bool Generator::is_symbolic(const TensorType& t) const {
    return std::any_of(t.shape.begin(), t.shape.end(), [](const sym::Expr& e) { return !e.constant(); });
}

// Some arguments take over a value: whole, or by an update of a part or of their own elements.
void Generator::write_in_place() {
    for (int attempt = 0; attempt < 12 && written_.size() < 2; ++attempt) {
        const bool is_new = attempt >= 6;
        if (values_.empty()) return;
        const ValueId like = any_of(values_);
        if (is_new && is_symbolic(b_.type(like)) && pick(2)) continue;
        const ValueId target = is_new ? fresh({b_.type(like)}) : like;
        const graph::Input* input = graph::find_input(b_.graph(), target);
        if (!input || input->kind != graph::InputKind::argument || overlapping_.contains(target.value) || written_.contains(target.value))
            continue;
        const TensorType t = b_.type(target);
        const double lo = meta(target).lo, hi = meta(target).hi;
        const auto source = [&](Exprs shape) { return operand({graph::contiguous(t.dtype, std::move(shape)), -2, 2}); };
        const size_t dim = t.rank() == 0 ? 0 : pick(t.rank());
        const auto n = t.rank() == 0 ? std::nullopt : t.shape[dim].constant();
        Exprs part = t.shape;
        const auto indices = [&](int64_t count) {
            part[dim] = count;
            return fresh({graph::contiguous(pick(2) ? scalar::DType::i64 : scalar::DType::i32, {count}), 0, static_cast<double>(*n)});
        };
        const auto at = static_cast<int64_t>(dim);
        const bool indexed = n && *n > 0;
        try {
            ValueId made;
            switch (pick(11)) {
            case 8: made = add1("flip", {target}, {{"dims", Exprs{sym::Expr(at)}}}); break;
            case 9:
                if (!scalar::is_float(t.dtype)) continue;
                made = add1(pick(2) ? "softmax" : "cumsum", {target}, {{"dim", at}});
                break;
            case 10: made = add1("roll", {target}, {{"shifts", Exprs{1}}, {"dims", Exprs{sym::Expr(at)}}}); break;
            case 0: made = add1("copy", {target, source(t.shape)}); break;
            case 1: made = add1(t.dtype == scalar::DType::boolean ? "bitwise_xor" : "add", {target, source(t.shape)}); break;
            case 2: made = add1(t.dtype == scalar::DType::boolean ? "logical_not" : "neg", {target}); break;
            case 3:
                if (!indexed) continue;
                part[dim] = (*n + 1) / 2;
                made = add1("slice_scatter", {target, source(part)}, {{"dim", at}, {"step", sym::Expr(2)}});
                break;
            case 4:
                if (!indexed) continue;
                part.erase(part.begin() + at);
                made = add1("select_scatter", {target, source(part)}, {{"dim", at}, {"index", sym::Expr(*n / 2)}});
                break;
            case 5: {
                if (!indexed) continue;
                const ValueId where = indices(3);
                made = add1("index_copy", {target, where, source(part)}, {{"dim", at}});
                break;
            }
            case 6: {
                if (!indexed || t.dtype == scalar::DType::boolean) continue;
                const ValueId where = indices(4);
                made = add1("index_add", {target, where, source(part)}, {{"dim", at}});
                break;
            }
            default: made = add1("where", {operand({graph::contiguous(scalar::DType::boolean, t.shape), 0, 2}), target, source(t.shape)});
            }
            // The target itself may have been picked as its own source.
            b_.set_into(made, target);
            meta(made) = {scalar::is_float(t.dtype) ? false : true, lo, hi, meta(made).unit, meta(made).growth};
            written_.insert(target.value);
            if (scalar::is_float(t.dtype) && pick(2)) add1("neg", {made});
        } catch (const base::UserError&) {
            ++result_.refused;
        }
    }
}

void Generator::choose_outputs() {
    const graph::Graph& g = b_.graph();
    std::set<uint32_t> read;
    for (const graph::Node& n : g.nodes)
        for (const auto& v : n.inputs)
            if (v) read.insert(v->value);
    std::vector<ValueId> ends, others;
    for (const graph::Node& n : g.nodes)
        for (const ValueId v : n.outputs)
            if (!n.into) (read.contains(v.value) ? others : ends).push_back(v);
    std::shuffle(others.begin(), others.end(), random_);
    others.resize(std::min<size_t>(others.size(), pick(3)));
    ends.insert(ends.end(), others.begin(), others.end());
    for (const ValueId v : ends) b_.output(v);
    if (!g.inputs.empty() && pick(10) == 0) b_.output(g.inputs[pick(g.inputs.size())].value);
    if (symbolic_ && pick(4) == 0) {
        graph::Output size;
        size.kind = graph::Output::Kind::size;
        size.size = sym::Expr::symbol("s0") * 2 + 1;
        b_.output(size);
    }
    if (!ends.empty() && pick(6) == 0) {
        const ValueId base = any_of(ends);
        const TensorType& t = b_.type(base);
        if (!is_symbolic(t) && graph::is_contiguous(t) && t.rank() > 0 && most(t.shape) > 1) {
            graph::Output view;
            view.kind = graph::Output::Kind::view;
            view.value = base;
            view.view_type = {t.dtype, {most(t.shape) / 2}, {1}};
            view.offset = 1;
            b_.output(view);
        }
    }
}

// Two arguments of one type that are only read may be one array.
void Generator::alias_inputs() {
    const graph::Graph& g = b_.graph();
    for (size_t i = 0; i < g.inputs.size(); ++i)
        for (size_t k = 0; k < i; ++k) {
            const ValueId a = g.inputs[i].value, b = g.inputs[k].value;
            InputPlan &p = result_.plans[g.value(a).name], &q = result_.plans[g.value(b).name];
            if (g.type(a) == g.type(b) && !written_.contains(a.value) && !written_.contains(b.value) && p.overlaps.empty() &&
                q.overlaps.empty() && p.lo == q.lo && p.hi == q.hi && p.special == q.special && pick(3) == 0)
                p.overlaps.push_back(g.value(b).name);
        }
}

RandomGraph make_random_graph(const graph::OpSet& ops, const Templates& templates, uint64_t seed) {
    return Generator(ops, templates, seed).make();
}

} // namespace codetta::test
