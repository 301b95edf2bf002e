#include <algorithm>

#include "tests/fuzz/differential/generator.h"

namespace codetta::test {

using graph::Attributes;
using graph::TensorType;
using graph::ValueId;
using scalar::DType;

// The node's results with what is known of them.
std::vector<ValueId> Generator::add(const std::string& op, Inputs inputs, Attributes attributes) {
    Meta result;
    result.crisp = is_copying(op);
    bool floats = false;
    for (const auto& v : inputs) {
        if (!v) continue;
        const Meta& m = meta(*v);
        floats = floats || scalar::is_float(b_.type(*v).dtype);
        result.crisp = result.crisp && m.crisp;
        result.unit = std::max(result.unit, m.unit);
        result.growth = std::max(result.growth, m.growth);
    }
    if (op == "tanh" || op == "sigmoid")
        result.growth = 0;
    else if (!is_copying(op))
        ++result.growth;
    const size_t values = b_.graph().values.size(), nodes = b_.graph().nodes.size();
    const std::vector<ValueId> made = b_.add(op, std::move(inputs), std::move(attributes));
    try {
        for (const ValueId v : made) CODETTA_USER_CHECK(most(b_.type(v).shape) <= most_elements_ && b_.type(v).rank() <= 6, "too large");
        if (ops_.get(op).lower) (void)ops_.lower(b_.graph(), b_.graph().nodes.back()); // refused as a frontend would
    } catch (const base::UserError&) {
        forget(values, nodes);
        throw;
    }
    for (const ValueId v : made) {
        const DType t = b_.type(v).dtype;
        Meta m = result;
        m.unit = std::max(m.unit, rounding_unit(t));
        if (!scalar::is_float(t))
            m.crisp = true, m.unit = 0;
        else if (!floats && op != "cast")
            m.crisp = false;
        meta(v) = m;
        values_.push_back(v);
    }
    return made;
}

// The builder only grows: what is too large stays out by taking its last node back.
void Generator::forget(size_t values, size_t nodes) {
    graph::Graph g = b_.finish();
    g.values.resize(values);
    g.nodes.resize(nodes);
    b_ = graph::GraphBuilder(ops_, std::move(g));
    std::erase_if(values_, [&](ValueId v) { return v.value >= values; });
}

sym::Expr Generator::mapped(int64_t size, std::map<int64_t, sym::Expr>& sizes) {
    if (size < 2) return size;
    const auto it = sizes.find(size);
    if (it != sizes.end()) return it->second;
    sym::Expr to = pick(3) == 0 ? sym::Expr(size) : any_of(pool_);
    if (to.constant() && *to.constant() < size && !to.is(0)) to = size;
    return sizes[size] = to;
}

void Generator::imitate(const Choice& choice, int level) {
    const ops::Sample& s = *choice.sample;
    const graph::Node& node = s.graph.nodes[0];
    const bool cast_to_whole = node.op == "cast" && !scalar::is_float(s.graph.type(node.outputs[0]).dtype);
    std::map<int64_t, sym::Expr> sizes;
    std::map<DType, DType> dtypes; // of operands that are of another dtype than the first
    std::vector<TensorType> types;
    const bool pointwise = ops_.get(node.op).kind == graph::OpKind::pointwise && node.op != "batch_norm";
    std::optional<Exprs> common;
    if (pointwise && level > 0 && pick(4) > 0) {
        if (!values_.empty() && pick(3) > 0)
            common = b_.type(any_of(values_)).shape;
        else {
            common.emplace();
            for (size_t d = pick(4); d > 0; --d) common->push_back(any_of(pool_));
        }
        if (most(*common) > most_elements_) common.reset();
    }
    for (const auto& v : node.inputs) {
        if (!v) continue;
        const size_t next = types.size();
        TensorType t = s.graph.type(*v);
        t.dtype = choice.dtypes[next];
        if (level > 1 && t.dtype != choice.dtypes[0] && t.dtype != DType::boolean) {
            const bool is_float = scalar::is_float(t.dtype);
            auto& other = dtypes.try_emplace(t.dtype, t.dtype).first->second;
            if (other == t.dtype && pick(2))
                other = is_float ? std::vector{DType::f32, DType::bf16, DType::f16, DType::f64}[pick(4)]
                                 : std::vector{DType::i64, DType::i32}[pick(2)];
            t.dtype = other;
        }
        if (level > 0 && common) {
            t.shape = *common;
            if (next > 0 && pick(4) == 0) {
                t.shape.erase(t.shape.begin(), t.shape.begin() + static_cast<std::ptrdiff_t>(pick(t.shape.size() + 1)));
                if (!t.shape.empty() && pick(2) == 0) t.shape[pick(t.shape.size())] = 1;
            }
        } else if (level > 0 && !sizes_belong_together(node.op)) {
            for (sym::Expr& e : t.shape) e = mapped(*e.constant(), sizes);
        }
        types.push_back(graph::contiguous(t.dtype, t.shape));
    }
    for (const TensorType& t : types) CODETTA_USER_CHECK(most(t.shape) <= most_elements_, "too large");
    Attributes attributes = node.attributes;
    if (level > 0 && !common && !sizes_belong_together(node.op))
        for (const char* name : {"shape", "normalized_shape", "sizes", "size", "num_weights"})
            if (auto it = attributes.find(name);
                it != attributes.end() && node.op != "view" && node.op != "expand" && node.op != "as_strided") {
                if (auto* list = std::get_if<Exprs>(&it->second))
                    for (sym::Expr& e : *list)
                        if (e.constant()) e = mapped(*e.constant(), sizes);
                if (auto* e = std::get_if<sym::Expr>(&it->second); e && e->constant()) *e = mapped(*e->constant(), sizes);
            }
    check(node, types, attributes);
    const bool crisp = (is_jumping(node.op) && (node.op != "div" || node.attributes.contains("rounding_mode"))) || cast_to_whole;
    Inputs inputs;
    size_t next = 0;
    for (const auto& v : node.inputs) {
        inputs.emplace_back();
        if (!v) continue;
        inputs.back() = operand({types[next], s.ranges[next].lo, s.ranges[next].hi, crisp, cast_to_whole});
        ++next;
    }
    add(node.op, inputs, attributes);
}

// Whether the op takes operands of these types, before anything is made for it.
void Generator::check(const graph::Node& node, const std::vector<TensorType>& types, const Attributes& attributes) {
    graph::Graph empty;
    empty.facts = b_.graph().facts;
    graph::GraphBuilder trial(ops_, std::move(empty));
    Inputs inputs;
    size_t next = 0;
    for (const auto& v : node.inputs) {
        inputs.emplace_back();
        if (!v) continue;
        inputs.back() = trial.input("x" + std::to_string(next), types[next]);
        ++next;
    }
    for (const ValueId v : trial.add(node.op, inputs, attributes))
        CODETTA_USER_CHECK(most(trial.type(v).shape) <= most_elements_, "too large");
    if (ops_.get(node.op).lower) (void)ops_.lower(trial.graph(), trial.graph().nodes.back());
}

void Generator::op_step(const Templates::Pair& pair) {
    const Choice& choice = any_of(pair.choices);
    for (const int level : {2, 1, 0}) try {
            return imitate(choice, level);
        } catch (const base::UserError&) {
            if (level == 0) throw;
            ++result_.refused;
        }
}

void Generator::view_step() {
    if (values_.empty()) return;
    const ValueId v = any_of(values_);
    if (written_.contains(v.value)) return;
    const TensorType t = b_.type(v);
    const auto rank = static_cast<int64_t>(t.rank());
    if (rank == 0) {
        add1("expand", {v}, {{"shape", Exprs{any_of(pool_)}}});
        return;
    }
    const auto dim = static_cast<int64_t>(pick(t.rank()));
    const sym::Expr extent = t.shape[static_cast<size_t>(dim)];
    const auto n = extent.constant();
    switch (pick(10)) {
    case 0: {
        Exprs order;
        for (int64_t d = 0; d < rank; ++d) order.emplace_back(d);
        std::shuffle(order.begin(), order.end(), random_);
        add1("permute", {v}, {{"dims", order}});
        return;
    }
    case 1: add1("view", {v}, {{"shape", Exprs{graph::element_count(t)}}}); return;
    case 2: {
        Exprs shape = t.shape;
        if (!n || *n < 2) return;
        int64_t k = 2;
        while (*n % k) ++k;
        shape[static_cast<size_t>(dim)] = *n / k;
        shape.insert(shape.begin() + dim + 1, k);
        add1("view", {v}, {{"shape", shape}});
        return;
    }
    case 3: add1("unsqueeze", {v}, {{"dim", dim}}); return;
    case 4:
        if (n && *n > 1)
            add1("slice", {v},
                 {{"dim", dim},
                  {"start", sym::Expr(static_cast<int64_t>(pick(static_cast<size_t>(*n - 1))))},
                  {"step", sym::Expr(1 + static_cast<int64_t>(pick(2)))}});
        else if (!n)
            add1("slice", {v}, {{"dim", dim}, {"start", sym::Expr(static_cast<int64_t>(pick(3)))}, {"end", extent - 1}});
        return;
    case 5: add1("flip", {v}, {{"dims", Exprs{dim}}}); return;
    case 6: add1("cat", {v, operand({t}), v}, {{"dim", dim}}); return;
    case 7: add1("cast", {v}, {{"dtype", std::vector{DType::f32, DType::bf16, DType::f16, DType::f64}[pick(4)]}}); return;
    case 8: add1("roll", {v}, {{"shifts", Exprs{sym::Expr(static_cast<int64_t>(pick(5)) - 2)}}, {"dims", Exprs{dim}}}); return;
    default:
        if (n && *n > 0) add1("select", {v}, {{"dim", dim}, {"index", sym::Expr(static_cast<int64_t>(pick(static_cast<size_t>(*n))))}});
    }
}

} // namespace codetta::test
