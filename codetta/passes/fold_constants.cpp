#include "codetta/passes/fold_constants.h"

#include <cmath>
#include <map>

#include "codetta/passes/rewrite.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/expr.h"

namespace codetta::passes {

namespace {

using scalar::HostArray;

constexpr int64_t kMostElements = int64_t{1} << 18; // of one value; larger ones are cheaper to compute where they are read
constexpr int64_t kMostWork = int64_t{1} << 24;     // elements over all nodes; the interpreter takes up to a microsecond each

std::optional<int64_t> static_elements(const TensorType& t) {
    int64_t n = 1;
    for (const sym::Expr& e : t.shape) {
        if (!e.constant()) return std::nullopt;
        n *= *e.constant();
        if (n > kMostElements) return std::nullopt;
    }
    return n;
}

bool has_symbol(const Node& n) {
    for (const auto& [name, value] : n.attributes) {
        if (const auto* e = std::get_if<sym::Expr>(&value); e && !e->constant()) return true;
        if (const auto* list = std::get_if<std::vector<sym::Expr>>(&value))
            for (const sym::Expr& e : *list)
                if (!e.constant()) return true;
    }
    return false;
}

bool is_view(const OpSet& ops, const Node& n) { return ops.get(n.op).kind == graph::OpKind::view; }

class Folder {
public:
    Folder(const Graph& g, const OpSet& ops)
        : g_(g), ops_(ops), folded_(g.values.size(), false), trivial_(g.values.size(), false), arrays_(g.values.size()) {}

    Graph run() {
        mark();
        std::vector<bool> wanted = roots();
        return rewrite(g_, ops_, [&](const Node& n, Rewriter& r) {
            if (n.outputs.size() != 1 || !wanted[n.outputs[0].value]) return false;
            ValueId fresh = constant(compute(n.outputs[0]), r);
            if (r.is_result(n.outputs[0]) && graph::find_input(r.builder().graph(), fresh)) fresh = r.builder().add1("clone", {fresh});
            r.replace(n.outputs[0], fresh);
            return true;
        });
    }

private:
    void mark() {
        for (const graph::Input& i : g_.inputs)
            if (i.data) folded_[i.value.value] = trivial_[i.value.value] = true;
        int64_t work = 0;
        for (const Node& n : g_.nodes) {
            if (n.into || n.outputs.size() != 1 || has_symbol(n)) continue;
            bool all = true, trivial = is_view(ops_, n) || n.inputs.empty();
            int64_t reads = 0;
            for (const auto& v : n.inputs) {
                if (!v) continue;
                all = all && folded_[v->value];
                trivial = trivial && trivial_[v->value];
                reads += static_elements(g_.type(*v)).value_or(kMostElements + 1);
            }
            std::optional<int64_t> elements = static_elements(g_.type(n.outputs[0]));
            if (!all || !elements || reads > kMostWork) continue;
            graph::OpKind kind = ops_.get(n.op).kind;
            if (kind == graph::OpKind::contract || kind == graph::OpKind::attention) continue; // costs more than its elements
            work += *elements + reads;
            if (work > kMostWork) return; // what is marked so far is folded
            folded_[n.outputs[0].value] = true;
            trivial_[n.outputs[0].value] = trivial;
        }
    }

    // Folded values that something else reads, unless they are a mere view of a generator or of a constant.
    std::vector<bool> roots() const {
        std::vector<bool> wanted(g_.values.size(), false);
        auto want = [&](ValueId v) { wanted[v.value] = folded_[v.value] && !trivial_[v.value]; };
        for (const Node& n : g_.nodes) {
            bool inside = n.outputs.size() == 1 && folded_[n.outputs[0].value];
            for (const auto& v : n.inputs)
                if (v && !inside) want(*v);
        }
        for (const graph::Output& o : g_.outputs)
            if (o.kind != graph::Output::Kind::size) want(o.value);
        return wanted;
    }

    const HostArray& compute(ValueId v) {
        if (!makers_) makers_ = graph::producers(g_);
        std::optional<HostArray>& array = arrays_[v.value];
        if (array) return *array;
        if (const graph::Input* i = graph::find_input(g_, v)) {
            array = i->data;
            return *array;
        }
        const Node& n = g_.nodes[*(*makers_)[v.value]];
        Graph one;
        std::vector<HostArray> operands;
        graph::GraphBuilder builder(ops_, std::move(one));
        std::vector<std::optional<ValueId>> inputs;
        for (const auto& operand : n.inputs) {
            inputs.emplace_back();
            if (!operand) continue;
            operands.push_back(compute(*operand));
            TensorType t = g_.type(*operand);
            inputs.back() = builder.input("x" + std::to_string(operands.size()), graph::contiguous(t.dtype, t.shape));
        }
        builder.output(builder.add1(n.op, inputs, n.attributes, n.location));
        Graph small = builder.finish();
        array = graph::interpret(small, ops_, operands, {}).at(0);
        return *array;
    }

    // The one value of all elements; nullopt when there are several (or none).
    static std::optional<scalar::Scalar> uniform(const HostArray& a) {
        std::optional<scalar::Scalar> first;
        std::vector<int64_t> at(a.extents().size(), 0);
        for (int64_t n = a.size(); n > 0; --n) {
            scalar::Scalar s = a.load(at);
            if (!first) first = s;
            bool same = scalar::is_float(s.dtype) ? (s.f == first->f && std::signbit(s.f) == std::signbit(first->f)) : s.i == first->i;
            if (!same) return std::nullopt;
            for (size_t d = at.size(); d-- > 0;) {
                if (++at[d] < a.extents()[d]) break;
                at[d] = 0;
            }
        }
        return first;
    }

    static ValueId constant(const HostArray& a, Rewriter& r) {
        std::optional<scalar::Scalar> value = uniform(a);
        if (!value) return r.builder().constant(a.clone());
        std::vector<sym::Expr> shape(a.extents().begin(), a.extents().end());
        graph::Attribute number = scalar::is_float(value->dtype) ? graph::Attribute(value->f) : graph::Attribute(value->i);
        return r.builder().add1("full", {}, {{"shape", shape}, {"value", number}, {"dtype", a.dtype()}});
    }

    const Graph& g_;
    const OpSet& ops_;
    std::vector<bool> folded_, trivial_; // per value
    std::vector<std::optional<HostArray>> arrays_;
    std::optional<std::vector<std::optional<uint32_t>>> makers_;
};

// The caller gets a tensor of its own, not the constant's memory.
Graph copy_returned_constants(Graph g, const OpSet& ops) {
    std::map<uint32_t, ValueId> copies;
    graph::GraphBuilder builder(ops, std::move(g));
    for (size_t i = 0; i < builder.graph().outputs.size(); ++i) {
        const graph::Output o = builder.graph().outputs[i];
        if (o.kind == graph::Output::Kind::size) continue;
        const graph::Input* input = graph::find_input(builder.graph(), o.value);
        if (!input || !input->data) continue;
        auto copy = copies.find(o.value.value);
        if (copy == copies.end()) copy = copies.emplace(o.value.value, builder.add1("clone", {o.value})).first;
        graph::Output& now = builder.graph().outputs[i];
        now.value = copy->second;
        if (o.kind == graph::Output::Kind::input) now.kind = graph::Output::Kind::value;
    }
    return builder.finish();
}

} // namespace

Graph fold_constants(Graph g, const OpSet& ops, const base::Options&) { return copy_returned_constants(Folder(g, ops).run(), ops); }

} // namespace codetta::passes
