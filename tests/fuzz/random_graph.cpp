#include "tests/fuzz/random_graph.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "codetta/base/error.h"
#include "codetta/base/hash.h"

namespace codetta::test {

namespace {

using graph::Attributes;
using graph::TensorType;
using graph::ValueId;
using scalar::DType;
using scalar::HostArray;
using Exprs = std::vector<sym::Expr>;

constexpr int64_t most_elements = 3000;

// Results jump where these meet rounded operands, so their float operands are values that nothing has rounded.
const std::set<std::string, std::less<>> jumping = {"sign",
                                                    "floor",
                                                    "ceil",
                                                    "trunc",
                                                    "round",
                                                    "eq",
                                                    "ne",
                                                    "lt",
                                                    "le",
                                                    "gt",
                                                    "ge",
                                                    "logical_not",
                                                    "logical_and",
                                                    "logical_or",
                                                    "logical_xor",
                                                    "remainder",
                                                    "fmod",
                                                    "argmax",
                                                    "argmin",
                                                    "any",
                                                    "all",
                                                    "isnan",
                                                    "isinf",
                                                    "max_pool2d_with_indices",
                                                    "threshold_backward",
                                                    "hardswish_backward",
                                                    "hardsigmoid_backward",
                                                    "leaky_relu_backward",
                                                    "elu_backward",
                                                    "softplus_backward",
                                                    "reciprocal",
                                                    "div"};

const std::set<std::string, std::less<>> copying = {
    "permute", "expand", "unsqueeze", "squeeze", "slice", "select", "alias",        "view",  "diagonal",  "unfold", "cat",
    "stack",   "repeat", "roll",      "flip",    "clone", "gather", "index_select", "index", "embedding", "tril",   "triu"};

// Their operands' sizes hang together in ways that their rules do not check: only dtypes and values vary.
const std::set<std::string, std::less<>> sizes_belong_together = {"as_strided",
                                                                  "as_strided_scatter",
                                                                  "native_group_norm_backward",
                                                                  "native_layer_norm_backward",
                                                                  "batch_norm_backward",
                                                                  "convolution",
                                                                  "convolution_transposed",
                                                                  "convolution_weight_gradient",
                                                                  "convolution_backward",
                                                                  "max_pool2d_with_indices",
                                                                  "max_pool2d_with_indices_backward",
                                                                  "avg_pool2d",
                                                                  "avg_pool2d_backward",
                                                                  "adaptive_avg_pool2d",
                                                                  "adaptive_avg_pool2d_backward",
                                                                  "slice_backward",
                                                                  "select_backward",
                                                                  "attention_backward"};

struct Meta {
    bool crisp = false; // the same bits in every interpretation
    double lo = -HUGE_VAL, hi = HUGE_VAL;
    double unit = 0;
    int growth = 0; // ops since the value was last bounded
};

class Generator {
public:
    Generator(const graph::OpSet& ops, const Templates& templates, uint64_t seed)
        : ops_(ops), templates_(templates), random_(seed * 0x9e3779b97f4a7c15 + 1), b_(ops, {}) {}

    RandomGraph make() {
        special_ = pick(8) == 0;
        symbolic_ = pick(5) < 2;
        set_sizes();
        const size_t nodes = 10 + pick(16);
        for (size_t attempt = 0; b_.graph().nodes.size() < nodes && attempt < 4 * nodes; ++attempt) {
            try {
                if (pick(6) == 0)
                    view_step();
                else
                    op_step();
            } catch (const base::UserError&) {
                ++result_.refused;
            }
        }
        if (pick(3) == 0) write_in_place();
        choose_outputs();
        alias_inputs();
        result_.graph = b_.finish();
        result_.graph.name = "random";
        for (const graph::Value& v : result_.graph.values) result_.unit[v.name] = metas_[value_index(v.name)].unit;
        return std::move(result_);
    }

private:
    size_t pick(size_t n) { return n == 0 ? 0 : random_() % n; }
    template <class T>
    const T& any_of(const std::vector<T>& list) {
        return list[pick(list.size())];
    }
    uint32_t value_index(const std::string& name) const {
        for (uint32_t i = 0; i < result_.graph.values.size(); ++i)
            if (result_.graph.values[i].name == name) return i;
        return 0;
    }

    void set_sizes() {
        const std::vector<int64_t> common = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 65};
        for (int i = 0; i < 4; ++i) pool_.emplace_back(any_of(common));
        if (pick(12) == 0) pool_.emplace_back(0);
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

    Meta& meta(ValueId v) {
        if (metas_.size() <= v.value) metas_.resize(v.value + 1);
        return metas_[v.value];
    }

    int64_t most(const Exprs& shape) const {
        int64_t worst = 0;
        for (const sym::Bindings& sizes : result_.runs) {
            int64_t n = 1;
            for (const sym::Expr& e : shape) n *= sym::evaluate(e, sizes);
            worst = std::max(worst, n);
        }
        return worst;
    }

    bool symbolic(const TensorType& t) const {
        for (const sym::Expr& e : t.shape)
            if (!e.constant()) return true;
        return false;
    }

    // A layout that the caller might have: packed, transposed, with gaps, repeated or overlapping.
    Exprs layout(const Exprs& shape, bool& overlaps) {
        Exprs strides = graph::contiguous(DType::f32, shape).strides;
        overlaps = false;
        const size_t kind = pick(8);
        if (shape.empty() || kind < 4) return strides;
        if (kind == 4) { // another order of the dimensions
            std::vector<size_t> order(shape.size());
            for (size_t d = 0; d < order.size(); ++d) order[d] = d;
            std::shuffle(order.begin(), order.end(), random_);
            sym::Expr next = 1;
            for (size_t d : order) {
                strides[d] = next;
                next = next * sym::max(shape[d], 1);
            }
            return strides;
        }
        if (kind == 5) { // gaps
            const int64_t gap = 2 + static_cast<int64_t>(pick(2));
            for (sym::Expr& s : strides) s = s * gap;
            return strides;
        }
        overlaps = true;
        if (kind == 6)
            strides[pick(strides.size())] = 0;
        else
            for (sym::Expr& s : strides) s = 1 + static_cast<int64_t>(pick(2));
        return strides;
    }

    ValueId fresh(const TensorType& like, double lo, double hi) {
        bool overlaps = false;
        TensorType t{like.dtype, like.shape, layout(like.shape, overlaps)};
        const bool parameter = !symbolic(t) && pick(4) == 0;
        const std::string name = "x" + std::to_string(b_.graph().inputs.size());
        const ValueId v = b_.input(name, t, parameter ? graph::InputKind::parameter : graph::InputKind::argument, parameter && pick(3) > 0);
        const bool special = special_ && scalar::is_float(t.dtype) && pick(2) == 0;
        result_.plans[name] = {lo, hi, special, {}};
        meta(v) = {true, special ? -HUGE_VAL : lo, special ? HUGE_VAL : hi, rounding_unit(t.dtype), 0};
        if (overlaps) overlapping_.insert(v.value);
        values_.push_back(v);
        return v;
    }

    // The node's results with what is known of them.
    std::vector<ValueId> add(const std::string& op, std::vector<std::optional<ValueId>> inputs, Attributes attributes = {}) {
        Meta result;
        result.crisp = copying.contains(op);
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
        else if (!copying.contains(op))
            ++result.growth;
        const size_t values = b_.graph().values.size(), nodes = b_.graph().nodes.size();
        const std::vector<ValueId> made = b_.add(op, std::move(inputs), std::move(attributes));
        for (const ValueId v : made)
            if (most(b_.type(v).shape) > most_elements || b_.type(v).rank() > 6) {
                forget(values, nodes);
                throw base::UserError("too large");
            }
        try {
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

    void forget(size_t values, size_t nodes) {
        // The builder only grows: what is too large stays out by taking its last node back.
        graph::Graph g = b_.finish();
        g.values.resize(values);
        g.nodes.resize(nodes);
        b_ = graph::GraphBuilder(ops_, std::move(g));
        std::erase_if(values_, [&](ValueId v) { return v.value >= values; });
    }

    ValueId add1(const std::string& op, std::vector<std::optional<ValueId>> inputs, Attributes attributes = {}) {
        return add(op, std::move(inputs), std::move(attributes))[0];
    }

    bool fits(ValueId v, double lo, double hi) { return meta(v).lo >= lo && meta(v).hi <= hi; }

    // v with values in the range.
    ValueId bounded(ValueId v, double lo, double hi) {
        const DType t = b_.type(v).dtype;
        if (t == DType::boolean || fits(v, lo, hi)) return v;
        ValueId result = v;
        if (scalar::is_float(t)) {
            const bool usual = lo <= -2 && hi >= 2;
            if (usual && meta(v).growth <= 2) return v;
            result = add1("tanh", {v});
            if (hi - lo != 2) result = add1("mul", {result}, {{"scalar", (hi - lo) * 0.499}});
            if (lo + hi != 0) result = add1("add", {result}, {{"scalar", (lo + hi) / 2}});
        } else {
            result = add1("remainder", {v}, {{"scalar", static_cast<int64_t>(std::floor(hi - lo))}});
            if (lo != 0) result = add1("add", {result}, {{"scalar", static_cast<int64_t>(lo)}});
        }
        meta(result).lo = lo, meta(result).hi = hi, meta(result).growth = 0;
        return result;
    }

    // v in another shape: by a view, or cut and repeated.
    std::optional<ValueId> reshaped(ValueId v, const Exprs& shape) {
        const TensorType t = b_.type(v);
        if (t.shape == shape) return v;
        const sym::Expr have = graph::element_count(t), want = sym::product(shape);
        if (have == want && !want.is(0)) return add1("view", {v}, {{"shape", shape}});
        if (!have.constant() || !want.constant() || have.is(0) || want.is(0)) return std::nullopt;
        ValueId flat = t.rank() == 1 ? v : add1("view", {v}, {{"shape", Exprs{have}}});
        const int64_t times = (*want.constant() + *have.constant() - 1) / *have.constant();
        if (times > 1) flat = add1("repeat", {flat}, {{"repeats", Exprs{times}}});
        if (times * *have.constant() != *want.constant()) flat = add1("slice", {flat}, {{"dim", int64_t{0}}, {"end", want}});
        return shape.size() == 1 ? flat : add1("view", {flat}, {{"shape", shape}});
    }

    ValueId operand(const TensorType& want, double lo, double hi, bool crisp) {
        if (pick(5) > 0)
            for (int attempt = 0; attempt < 12; ++attempt) {
                if (values_.empty()) break;
                const ValueId v = pick(2) ? values_[values_.size() - 1 - pick(std::min<size_t>(values_.size(), 6))] : any_of(values_);
                const TensorType t = b_.type(v);
                if (t.dtype != want.dtype || written_.contains(v.value)) continue;
                if (attempt < 8 && t.shape != want.shape) continue;
                if (crisp && scalar::is_float(t.dtype) && (!meta(v).crisp || !fits(v, lo, hi))) continue;
                if (const auto same = reshaped(v, want.shape)) return bounded(*same, lo, hi);
            }
        return fresh(want, lo, hi);
    }

    // Another dtype of the same sort.
    DType other(DType t, double lo) {
        if (t == DType::boolean || pick(2) == 0) return t;
        if (scalar::is_float(t)) return std::vector{DType::f32, DType::bf16, DType::f16, DType::f64}[pick(4)];
        return std::vector{DType::i64, DType::i32, DType::i16, DType::i8, DType::u8}[pick(lo >= 0 ? 5 : 4)];
    }

    // The sample with other sizes and dtypes. level: how much of it changes.
    void imitate(const ops::Sample& s, int level) {
        const graph::Node& node = s.graph.nodes[0];
        const bool cast_to_whole = node.op == "cast" && !scalar::is_float(s.graph.type(node.outputs[0]).dtype);
        if (cast_to_whole && special_) return;
        std::map<int64_t, sym::Expr> sizes;
        std::map<DType, DType> dtypes;
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
            if (most(*common) > most_elements) common.reset();
        }
        size_t next = 0;
        for (const auto& v : node.inputs) {
            if (!v) continue;
            TensorType t = s.graph.type(*v);
            if (level > 0) {
                if (!dtypes.contains(t.dtype)) dtypes[t.dtype] = level > 1 ? other(t.dtype, s.ranges[next].lo) : t.dtype;
                t.dtype = dtypes[t.dtype];
                if (common) {
                    t.shape = *common;
                    if (next > 0 && pick(4) == 0) {
                        t.shape.erase(t.shape.begin(), t.shape.begin() + static_cast<std::ptrdiff_t>(pick(t.shape.size() + 1)));
                        if (!t.shape.empty() && pick(2) == 0) t.shape[pick(t.shape.size())] = 1;
                    }
                } else if (!sizes_belong_together.contains(node.op)) {
                    for (sym::Expr& e : t.shape) e = mapped(*e.constant(), sizes);
                }
            }
            types.push_back(graph::contiguous(t.dtype, t.shape));
            ++next;
        }
        for (const TensorType& t : types)
            if (most(t.shape) > most_elements) throw base::UserError("too large");
        Attributes attributes = node.attributes;
        if (level > 0 && !common && !sizes_belong_together.contains(node.op))
            for (const char* name : {"shape", "normalized_shape", "sizes", "size", "num_weights"})
                if (auto it = attributes.find(name);
                    it != attributes.end() && node.op != "view" && node.op != "expand" && node.op != "as_strided") {
                    if (auto* list = std::get_if<Exprs>(&it->second))
                        for (sym::Expr& e : *list)
                            if (e.constant()) e = mapped(*e.constant(), sizes);
                    if (auto* e = std::get_if<sym::Expr>(&it->second); e && e->constant()) *e = mapped(*e->constant(), sizes);
                }
        check(node, types, attributes);
        const bool crisp = (jumping.contains(node.op) && (node.op != "div" || node.attributes.contains("rounding_mode"))) || cast_to_whole;
        std::vector<std::optional<ValueId>> inputs;
        next = 0;
        for (const auto& v : node.inputs) {
            inputs.emplace_back();
            if (!v) continue;
            inputs.back() = operand(types[next], s.ranges[next].lo, s.ranges[next].hi, crisp);
            ++next;
        }
        add(node.op, inputs, attributes);
    }

    // Whether the op takes operands of these types, before anything is made for it.
    void check(const graph::Node& node, const std::vector<TensorType>& types, const Attributes& attributes) {
        graph::Graph empty;
        empty.facts = b_.graph().facts;
        graph::GraphBuilder trial(ops_, std::move(empty));
        std::vector<std::optional<ValueId>> inputs;
        size_t next = 0;
        for (const auto& v : node.inputs) {
            inputs.emplace_back();
            if (!v) continue;
            inputs.back() = trial.input("x" + std::to_string(next), types[next]);
            ++next;
        }
        for (const ValueId v : trial.add(node.op, inputs, attributes))
            if (most(trial.type(v).shape) > most_elements) throw base::UserError("too large");
        if (ops_.get(node.op).lower) (void)ops_.lower(trial.graph(), trial.graph().nodes.back());
    }

    sym::Expr mapped(int64_t size, std::map<int64_t, sym::Expr>& sizes) {
        if (size < 2) return size;
        auto it = sizes.find(size);
        if (it != sizes.end()) return it->second;
        sym::Expr to = pick(3) == 0 ? sym::Expr(size) : any_of(pool_);
        if (to.constant() && *to.constant() < size && !to.is(0)) to = size;
        return sizes[size] = to;
    }

    void op_step() {
        const auto& samples = any_of(templates_.of_op);
        const ops::Sample& s = any_of(samples);
        for (int level : {2, 1, 0}) try {
                return imitate(s, level);
            } catch (const base::UserError&) {
                if (level == 0) throw;
                ++result_.refused;
            }
    }

    void view_step() {
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
        switch (pick(9)) {
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
            const auto n = shape[static_cast<size_t>(dim)].constant();
            if (!n || *n < 2) return;
            int64_t k = 2;
            while (*n % k) ++k;
            shape[static_cast<size_t>(dim)] = *n / k;
            shape.insert(shape.begin() + dim + 1, k);
            add1("view", {v}, {{"shape", shape}});
            return;
        }
        case 3: add1("unsqueeze", {v}, {{"dim", dim}}); return;
        case 4: {
            const auto n = t.shape[static_cast<size_t>(dim)].constant();
            if (n && *n > 1)
                add1("slice", {v},
                     {{"dim", dim},
                      {"start", sym::Expr(static_cast<int64_t>(pick(static_cast<size_t>(*n - 1))))},
                      {"step", sym::Expr(1 + static_cast<int64_t>(pick(2)))}});
            return;
        }
        case 5: add1("flip", {v}, {{"dims", Exprs{dim}}}); return;
        case 6: add1("cat", {v, operand(t, -2, 2, false), v}, {{"dim", dim}}); return;
        case 7: {
            const DType to = std::vector{DType::f32, DType::bf16, DType::f16, DType::f64}[pick(4)];
            add1("cast", {v}, {{"dtype", to}});
            return;
        }
        default: {
            const auto n = t.shape[static_cast<size_t>(dim)].constant();
            if (n && *n > 0) add1("select", {v}, {{"dim", dim}, {"index", sym::Expr(static_cast<int64_t>(pick(static_cast<size_t>(*n))))}});
        }
        }
    }

    bool is_read_only(ValueId v) const {
        const graph::Input* i = graph::find_input(b_.graph(), v);
        return !i || i->kind != graph::InputKind::argument || overlapping_.contains(v.value);
    }

    // Some argument takes over a value of its type, by a copy or by an update of a part.
    void write_in_place() {
        for (int attempt = 0; attempt < 30 && written_.size() < 2; ++attempt) {
            const ValueId target = any_of(values_), v = any_of(values_);
            if (is_read_only(target) || written_.contains(target.value) || target == v || written_.contains(v.value)) continue;
            const TensorType a = b_.type(target), b = b_.type(v);
            if (a.dtype != b.dtype || a.shape != b.shape) continue;
            ValueId made;
            const bool add_to = scalar::is_float(a.dtype) && pick(3) == 0;
            if (add_to)
                made = add1("add", {target, v});
            else
                made = add1("copy", {target, v});
            b_.set_into(made, target);
            written_.insert(target.value);
            if (scalar::is_float(a.dtype) && pick(2)) add1("neg", {made});
        }
    }

    void choose_outputs() {
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
            if (!symbolic(t) && graph::is_contiguous(t) && t.rank() > 0 && most(t.shape) > 1) {
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
    void alias_inputs() {
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

    const graph::OpSet& ops_;
    const Templates& templates_;
    std::mt19937_64 random_;
    graph::GraphBuilder b_;
    RandomGraph result_;
    std::vector<ValueId> values_;
    std::vector<Meta> metas_;
    std::set<uint32_t> overlapping_, written_;
    Exprs pool_;
    bool special_ = false, symbolic_ = false;
};

} // namespace

double rounding_unit(DType t) {
    switch (t) {
    case DType::bf16: return 0x1p-8;
    case DType::f16: return 0x1p-11;
    case DType::f32: return 0x1p-24;
    case DType::f64: return 0x1p-53;
    default: return 0;
    }
}

Templates::Templates(const graph::OpSet& ops) {
    std::map<std::string, std::vector<ops::Sample>> by_op;
    for (ops::Sample& s : ops::samples(ops))
        if (s.graph.nodes.size() == 1) by_op[s.op].push_back(std::move(s));
    for (const graph::OpDef& op : ops.all())
        if (auto it = by_op.find(op.name); it != by_op.end()) of_op.push_back(std::move(it->second));
}

RandomGraph make_random_graph(const graph::OpSet& ops, const Templates& templates, uint64_t seed) {
    return Generator(ops, templates, seed).make();
}

std::vector<HostArray> make_arguments(const RandomGraph& g, const sym::Bindings& sizes, uint64_t seed) {
    std::vector<HostArray> arrays;
    std::map<std::string, HostArray> by_name;
    for (const graph::Input& input : g.graph.inputs) {
        if (input.data) continue;
        const graph::Value& v = g.graph.value(input.value);
        const auto it = g.plans.find(v.name);
        const InputPlan plan = it == g.plans.end() ? InputPlan{} : it->second;
        if (!plan.overlaps.empty() && by_name.contains(plan.overlaps[0])) {
            arrays.push_back(by_name[plan.overlaps[0]]);
            continue;
        }
        std::vector<int64_t> extents, strides;
        int64_t elements = 1;
        for (size_t d = 0; d < v.type.rank(); ++d) {
            extents.push_back(sym::evaluate(v.type.shape[d], sizes));
            strides.push_back(sym::evaluate(v.type.strides[d], sizes));
            elements = extents[d] == 0 || elements == 0 ? 0 : elements + (extents[d] - 1) * strides[d];
        }
        HostArray flat(v.type.dtype, {elements});
        std::mt19937_64 random(base::hash_combine(seed, base::hash_bytes(v.name.data(), v.name.size())));
        for (int64_t e = 0; e < elements; ++e) {
            double value = plan.lo + (plan.hi - plan.lo) * static_cast<double>(random() >> 11) * 0x1p-53;
            if (plan.special && random() % 12 == 0) value = std::vector{std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0}[random() % 5];
            const bool whole = !scalar::is_float(v.type.dtype);
            flat.store(std::vector<int64_t>{e}, whole ? scalar::make_integer(v.type.dtype, static_cast<int64_t>(std::floor(value)))
                                                      : scalar::make_float(v.type.dtype, value));
        }
        arrays.push_back(by_name[v.name] = flat.view(extents, strides, 0));
    }
    return arrays;
}

} // namespace codetta::test
