#include <map>
#include <set>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/graph/op_def.h"
#include "codetta/problem/problem.h"

namespace codetta::graph {

namespace {

bool is_axis_name(const std::string& s) {
    return s.size() > 1 && (s[0] == 'i' || s[0] == 'r') && s.find_first_not_of("0123456789", 1) == std::string::npos;
}

class Verifier {
public:
    Verifier(const Graph& g, const OpSet& ops) : g_(g), ops_(ops), defined_(g.values.size(), false) {}

    void run() {
        check_names();
        bind_symbols();
        for (const Input& i : g_.inputs) check_input(i);
        for (const Node& n : g_.nodes) check_node(n);
        for (size_t i = 0; i < g_.values.size(); ++i)
            CODETTA_USER_CHECK(defined_[i], "graph '{}': '%{}' is never made", g_.name, g_.values[i].name);
        for (const Output& o : g_.outputs) check_output(o);
    }

private:
    void check_names() {
        std::set<std::string> names;
        for (const Value& v : g_.values) {
            CODETTA_USER_CHECK(!v.name.empty() && names.insert(v.name).second, "graph '{}': the name '%{}' is empty or used twice", g_.name,
                               v.name);
            CODETTA_USER_CHECK(v.type.shape.size() == v.type.strides.size(), "graph '{}': '%{}' has {} sizes and {} strides", g_.name,
                               v.name, v.type.shape.size(), v.type.strides.size());
        }
    }

    void bind_symbols() {
        symbols_.insert(g_.size_arguments.begin(), g_.size_arguments.end());
        for (const Input& i : g_.inputs) {
            if (i.value.value >= g_.values.size()) continue;
            for (const sym::Expr& e : g_.type(i.value).shape)
                if (e.kind() == sym::Kind::symbol) symbols_.insert(e.name());
        }
        for (const std::string& s : symbols_) {
            CODETTA_USER_CHECK(problem::is_name(s), "graph '{}': '{}' is no name for a size", g_.name, s);
            CODETTA_USER_CHECK(!is_axis_name(s), "graph '{}': a size symbol may not be called '{}': i0, r0 ... are axes", g_.name, s);
        }
    }

    void check_symbols(const sym::Expr& e, const std::string& where) const {
        for (const std::string& s : sym::symbols(e))
            CODETTA_USER_CHECK(symbols_.contains(s), "graph '{}': {} needs the size '{}', which no input shape and no size argument gives",
                               g_.name, where, s);
    }

    void check_type(const TensorType& t, const std::string& where) const {
        for (const sym::Expr& e : t.shape) check_symbols(e, where);
        for (const sym::Expr& e : t.strides) check_symbols(e, where);
    }

    void define(ValueId v, const std::string& where) {
        CODETTA_USER_CHECK(v.value < g_.values.size() && !defined_[v.value], "graph '{}': {} makes a value that is made already or unknown",
                           g_.name, where);
        defined_[v.value] = true;
        check_type(g_.type(v), where);
    }

    void check_input(const Input& i) {
        define(i.value, "an input");
        CODETTA_USER_CHECK((i.kind == InputKind::constant) == i.data.has_value(),
                           "graph '{}': input '%{}': data belongs to constants alone", g_.name, g_.value(i.value).name);
        if (!i.data) return;
        const TensorType& t = g_.type(i.value);
        std::vector<sym::Expr> extents(i.data->extents().begin(), i.data->extents().end());
        CODETTA_USER_CHECK(i.data->dtype() == t.dtype && extents == t.shape, "graph '{}': the data of '%{}' is not {}", g_.name,
                           g_.value(i.value).name, to_string(t));
    }

    std::string where(const Node& n) const {
        std::string result =
            n.outputs.empty() || n.outputs[0].value >= g_.values.size() ? "a node" : "'%" + g_.value(n.outputs[0]).name + "'";
        return fmt::format("{} = {}(...){}", result, n.op, n.location.empty() ? "" : " at " + n.location);
    }

    void check_node(const Node& n) {
        for (const auto& v : n.inputs) {
            if (!v) continue;
            CODETTA_USER_CHECK(v->value < g_.values.size() && defined_[v->value], "graph '{}': {} reads a value before it is made", g_.name,
                               where(n));
            CODETTA_USER_CHECK(!stale_.contains(v->value), "graph '{}': {} reads '%{}' after it was overwritten", g_.name, where(n),
                               g_.value(*v).name);
        }
        Node checked = n;
        try {
            apply_signature(ops_.signature(n.op), checked);
        } catch (const base::UserError& e) {
            throw base::UserError(e.message(), where(n));
        }
        for (const auto& [key, value] : checked.attributes) {
            const std::string what = fmt::format("attribute '{}' of {}", key, where(n));
            if (const auto* e = std::get_if<sym::Expr>(&value)) check_symbols(*e, what);
            if (const auto* list = std::get_if<std::vector<sym::Expr>>(&value))
                for (const sym::Expr& e : *list) check_symbols(e, what);
        }
        std::vector<TensorType> types = ops_.infer(g_, checked);
        CODETTA_USER_CHECK(types.size() == n.outputs.size(), "graph '{}': {} has {} outputs, not {}", g_.name, where(n), types.size(),
                           n.outputs.size());
        for (size_t i = 0; i < types.size(); ++i) {
            define(n.outputs[i], where(n));
            const TensorType& t = g_.type(n.outputs[i]);
            if (t.dtype != types[i].dtype || !same_shape(t, types[i]))
                throw base::UserError(
                    fmt::format("'%{}' is {}, but the op gives {}", g_.value(n.outputs[i]).name, to_string(t), to_string(types[i])),
                    where(n));
        }
        if (n.into) check_into(n);
    }

    bool same_shape(const TensorType& a, const TensorType& b) const {
        if (a.shape.size() != b.shape.size()) return false;
        for (size_t i = 0; i < a.shape.size(); ++i)
            if (a.shape[i] != b.shape[i] && !g_.facts.proves(sym::eq(a.shape[i], b.shape[i]))) return false;
        return true;
    }

    void check_into(const Node& n) {
        CODETTA_USER_CHECK(n.into->value < g_.values.size(), "graph '{}': {}: the in-place target is unknown", g_.name, where(n));
        const Input* target = find_input(g_, *n.into);
        CODETTA_USER_CHECK(target && target->kind != InputKind::constant, "graph '{}': {} writes into '%{}', which is not an input",
                           g_.name, where(n), g_.value(*n.into).name);
        const TensorType& a = g_.type(n.outputs[0]);
        const TensorType& b = g_.type(*n.into);
        CODETTA_USER_CHECK(a.dtype == b.dtype && same_shape(a, b), "graph '{}': {} of type {} can't be written into '%{}' of type {}",
                           g_.name, where(n), to_string(a), g_.value(*n.into).name, to_string(b));
        // A second write continues the first: its operand 0 is the value that lies there.
        auto there = contents_.find(n.into->value);
        CODETTA_USER_CHECK(there == contents_.end() || (!n.inputs.empty() && n.inputs[0] == there->second),
                           "graph '{}': {} overwrites '%{}', which holds '%{}' by now", g_.name, where(n), g_.value(*n.into).name,
                           g_.value(there->second).name);
        stale_.insert(there == contents_.end() ? n.into->value : there->second.value);
        contents_[n.into->value] = n.outputs[0];
    }

    void check_output(const Output& o) const {
        if (o.kind == Output::Kind::size) return check_symbols(o.size, "an output");
        CODETTA_USER_CHECK(o.value.value < g_.values.size(), "graph '{}': an output is an unknown value", g_.name);
        const Input* input = find_input(g_, o.value);
        const std::string& name = g_.value(o.value).name;
        if (o.kind == Output::Kind::value)
            CODETTA_USER_CHECK(!input, "graph '{}': output '%{}' is an input: say so, or clone it", g_.name, name);
        if (o.kind == Output::Kind::input) CODETTA_USER_CHECK(input, "graph '{}': output '%{}' is not an input", g_.name, name);
        if (o.kind != Output::Kind::view) return;
        check_type(o.view_type, "a view output");
        check_symbols(o.offset, "a view output");
        CODETTA_USER_CHECK(o.view_type.dtype == g_.type(o.value).dtype, "graph '{}': a view of '%{}' changes its dtype", g_.name, name);
    }

    const Graph& g_;
    const OpSet& ops_;
    std::vector<bool> defined_;
    std::set<std::string> symbols_;
    std::map<uint32_t, ValueId> contents_; // of inputs that were overwritten
    std::set<uint32_t> stale_;             // values whose memory holds something newer
};

} // namespace

void verify(const Graph& g, const OpSet& ops) { Verifier(g, ops).run(); }

} // namespace codetta::graph
