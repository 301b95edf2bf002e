#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/graph/op_def.h"
#include "codetta/problem/interpret.h"

namespace codetta::graph {

namespace {

std::vector<int64_t> evaluated(const std::vector<sym::Expr>& list, const sym::Bindings& sizes) {
    std::vector<int64_t> result;
    for (const sym::Expr& e : list) result.push_back(sym::evaluate(e, sizes));
    return result;
}

class Interpreter {
public:
    Interpreter(const Graph& g, const OpSet& ops, sym::Bindings sizes, bool exact)
        : g_(g), ops_(ops), sizes_(std::move(sizes)), exact_(exact), arrays_(g.values.size()) {}

    std::vector<scalar::HostArray> run(std::span<const scalar::HostArray> arguments) {
        size_t next = 0;
        for (const Input& i : g_.inputs) arrays_[i.value.value] = i.data ? *i.data : arguments[next++];
        for (const Node& n : g_.nodes) {
            try {
                run(n);
            } catch (const base::IndexError& e) {
                throw base::IndexError(e.message(), fmt::format("op '{}'{}", n.op, n.location.empty() ? "" : " at " + n.location));
            }
        }
        std::vector<scalar::HostArray> outputs;
        for (const Output& o : g_.outputs) outputs.push_back(output(o));
        return outputs;
    }

private:
    // Memory with the strides that the type promises.
    scalar::HostArray fresh(const TensorType& t) const {
        scalar::DType dtype = exact_ && scalar::is_float(t.dtype) ? scalar::DType::f64 : t.dtype;
        std::vector<int64_t> extents = evaluated(t.shape, sizes_), strides = evaluated(t.strides, sizes_);
        int64_t elements = 1;
        for (size_t d = 0; d < extents.size(); ++d)
            elements = extents[d] == 0 ? 0 : elements == 0 ? 0 : elements + (extents[d] - 1) * strides[d];
        return scalar::HostArray(dtype, {elements}).view(extents, strides, 0);
    }

    void run(const Node& n) {
        const OpDef& op = ops_.get(n.op);
        std::vector<scalar::HostArray> results = op.lower ? lowered(n) : decomposed(n, op);
        for (size_t i = 0; i < results.size(); ++i) arrays_[n.outputs[i].value] = results[i];
        if (n.into) {
            copy(results[0], arrays_[n.into->value]);
            arrays_[n.outputs[0].value] = arrays_[n.into->value];
        }
    }

    std::vector<scalar::HostArray> lowered(const Node& n) {
        Graph small; // only the node's values, with the strides that their arrays have
        small.facts = g_.facts;
        Node node = n;
        std::vector<scalar::HostArray> arrays, results;
        auto add = [&](ValueId v, const scalar::HostArray& array) {
            TensorType t = g_.type(v);
            t.strides.assign(array.strides().begin(), array.strides().end());
            arrays.push_back(array);
            small.values.push_back({"v" + g_.value(v).name, std::move(t)});
            return ValueId(small.values.size() - 1);
        };
        for (auto& v : node.inputs)
            if (v) v = add(*v, arrays_[v->value]);
        for (auto& v : node.outputs) {
            results.push_back(fresh(g_.type(v)));
            v = add(v, results.back());
        }
        problem::interpret(ops_.lower(small, node), arrays, sizes_, exact_);
        return results;
    }

    std::vector<scalar::HostArray> decomposed(const Node& n, const OpDef& op) {
        Graph empty;
        empty.name = n.op;
        empty.facts = g_.facts;
        GraphBuilder builder(ops_, std::move(empty));
        Node node = n;
        std::vector<scalar::HostArray> arguments;
        for (auto& v : node.inputs) {
            if (!v) continue;
            arguments.push_back(arrays_[v->value]);
            v = builder.input(fmt::format("x{}", arguments.size()), g_.type(*v));
        }
        Signature signature = ops_.signature(n.op);
        std::vector<ValueId> results = op.decompose(NodeView{&builder.graph(), &node, &signature}, builder);
        Graph inner = builder.finish();
        Interpreter sub(inner, ops_, sizes_, exact_);
        sub.run(arguments);
        std::vector<scalar::HostArray> arrays;
        for (size_t i = 0; i < results.size(); ++i) {
            const scalar::HostArray& a = sub.arrays_[results[i].value];
            const TensorType& want = g_.type(n.outputs[i]);
            CODETTA_CHECK(inner.type(results[i]).dtype == want.dtype, "op '{}': output {} of its decomposition is {}, not {}", n.op, i,
                          to_string(inner.type(results[i])), to_string(want));
            arrays.push_back(fresh(want));
            copy(a, arrays.back());
        }
        return arrays;
    }

    static void copy(const scalar::HostArray& from, const scalar::HostArray& to) {
        std::vector<int64_t> at(from.extents().size(), 0);
        for (int64_t n = from.size(); n > 0; --n) {
            to.store(at, from.load(at));
            for (size_t d = at.size(); d-- > 0;) {
                if (++at[d] < from.extents()[d]) break;
                at[d] = 0;
            }
        }
    }

    scalar::HostArray output(const Output& o) const {
        switch (o.kind) {
        case Output::Kind::size: {
            scalar::HostArray a(scalar::DType::i64, {});
            a.as<int64_t>()[0] = sym::evaluate(o.size, sizes_);
            return a;
        }
        case Output::Kind::input:
        case Output::Kind::value: return arrays_[o.value.value];
        case Output::Kind::view: break;
        }
        return arrays_[o.value.value].view(evaluated(o.view_type.shape, sizes_), evaluated(o.view_type.strides, sizes_),
                                           sym::evaluate(o.offset, sizes_));
    }

    const Graph& g_;
    const OpSet& ops_;
    sym::Bindings sizes_;
    bool exact_;
    std::vector<scalar::HostArray> arrays_;
};

} // namespace

sym::Bindings bind_sizes(const Graph& g, std::span<const scalar::HostArray> arguments, std::span<const int64_t> size_arguments) {
    sym::Bindings sizes;
    std::vector<const Input*> inputs;
    for (const Input& i : g.inputs)
        if (!i.data) inputs.push_back(&i);
    CODETTA_USER_CHECK(inputs.size() == arguments.size(), "graph '{}' takes {} tensors, not {}", g.name, inputs.size(), arguments.size());
    CODETTA_USER_CHECK(g.size_arguments.size() == size_arguments.size(), "graph '{}' takes {} sizes, not {}", g.name,
                       g.size_arguments.size(), size_arguments.size());
    for (size_t i = 0; i < size_arguments.size(); ++i) sizes[g.size_arguments[i]] = size_arguments[i];
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Value& v = g.value(inputs[i]->value);
        CODETTA_USER_CHECK(arguments[i].dtype() == v.type.dtype && arguments[i].extents().size() == v.type.shape.size(),
                           "graph '{}': input '%{}' must be {}", g.name, v.name, to_string(v.type));
        for (size_t d = 0; d < v.type.shape.size(); ++d)
            if (v.type.shape[d].kind() == sym::Kind::symbol) sizes.emplace(v.type.shape[d].name(), arguments[i].extents()[d]);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Value& v = g.value(inputs[i]->value);
        for (size_t d = 0; d < v.type.shape.size(); ++d) {
            int64_t want = sym::evaluate(v.type.shape[d], sizes), got = arguments[i].extents()[d];
            CODETTA_USER_CHECK(want == got, "graph '{}': size {} of input '%{}' is {}, but {} = {} is needed", g.name, d, v.name, got,
                               sym::to_string(v.type.shape[d]), want);
        }
    }
    for (const Value& v : g.values)
        for (const sym::Expr& e : v.type.shape)
            if (!e.constant())
                CODETTA_USER_CHECK(sym::evaluate(e, sizes) >= 0, "graph '{}': size {} of '%{}' is below 0", g.name, sym::to_string(e),
                                   v.name);
    return sizes;
}

std::vector<scalar::HostArray> interpret(const Graph& g, const OpSet& ops, std::span<const scalar::HostArray> arguments,
                                         std::span<const int64_t> size_arguments, bool exact) {
    return Interpreter(g, ops, bind_sizes(g, arguments, size_arguments), exact).run(arguments);
}

} // namespace codetta::graph
