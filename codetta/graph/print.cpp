#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "codetta/base/hash.h"
#include "codetta/graph/graph.h"

namespace codetta::graph {

namespace {

constexpr int64_t kLargeConstant = 64; // elements; above, the text carries a hash only

std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

template <class F>
void for_each_element(const scalar::HostArray& a, F&& f) {
    std::vector<int64_t> at(a.extents().size(), 0);
    for (int64_t n = a.size(); n > 0; --n) {
        f(a.load(at));
        for (size_t d = at.size(); d-- > 0;) {
            if (++at[d] < a.extents()[d]) break;
            at[d] = 0;
        }
    }
}

std::string element_text(const scalar::Scalar& s) {
    if (s.dtype == scalar::DType::boolean) return s.i ? "true" : "false";
    if (!scalar::is_float(s.dtype)) return fmt::format("{}", s.i);
    if (s.f != s.f) return "nan";
    return s.dtype == scalar::DType::f64 ? fmt::format("{}", s.f) : fmt::format("{}", static_cast<float>(s.f));
}

std::string content_hash(const scalar::HostArray& a) {
    uint64_t h = base::hash_string(scalar::to_string(a.dtype()));
    for (int64_t e : a.extents()) h = base::hash_combine(h, static_cast<uint64_t>(e));
    for_each_element(a, [&](const scalar::Scalar& s) {
        uint64_t bits = static_cast<uint64_t>(s.i);
        if (scalar::is_float(s.dtype)) std::memcpy(&bits, &s.f, sizeof bits);
        h = base::hash_combine(h, bits);
    });
    return base::hash_digits(h, 16);
}

std::string data_text(const scalar::HostArray& a) {
    if (a.size() > kLargeConstant) return fmt::format("data(hash \"{}\")", content_hash(a));
    std::string text;
    for_each_element(a, [&](const scalar::Scalar& s) { text += (text.empty() ? "" : ", ") + element_text(s); });
    return "data([" + text + "])";
}

class Printer {
public:
    explicit Printer(const Graph& g) : g_(g) {}

    std::string run() {
        std::string text = "graph " + g_.name + "(";
        std::vector<std::string> inputs;
        for (const Input& i : g_.inputs)
            if (!i.data) inputs.push_back(input_text(i));
        bool tall = inputs.size() > 4;
        for (size_t i = 0; i < inputs.size(); ++i) text += (i ? (tall ? "," : ", ") : "") + std::string(tall ? "\n    " : "") + inputs[i];
        text += ")";
        for (size_t i = 0; i < g_.size_arguments.size(); ++i) text += (i ? ", " : " sizes ") + g_.size_arguments[i];
        if (std::string facts = sym::to_string(g_.facts); !facts.empty()) text += " where " + facts;
        text += " {\n";
        for (const Input& i : g_.inputs)
            if (i.data) text += fmt::format("  {} = {}\n", typed(i.value), data_text(*i.data));
        for (const Node& n : g_.nodes) text += "  " + node_text(n) + "\n";
        text += "  return";
        for (size_t i = 0; i < g_.outputs.size(); ++i) text += (i ? ", " : " ") + output_text(g_.outputs[i]);
        return text + "\n}\n";
    }

private:
    std::string name(ValueId v) const {
        return v.value < g_.values.size() ? "%" + g_.value(v).name : fmt::format("%<invalid {}>", v.value);
    }

    std::string typed(ValueId v) const { return v.value < g_.values.size() ? name(v) + ": " + to_string(g_.type(v)) : name(v); }

    std::string input_text(const Input& i) const {
        return typed(i.value) + (i.kind == InputKind::parameter ? " parameter" : "") + (i.frozen ? " frozen" : "");
    }

    std::string node_text(const Node& n) const {
        std::string text, arguments;
        for (ValueId v : n.outputs) text += (text.empty() ? "" : ", ") + typed(v);
        for (const auto& v : n.inputs) arguments += (arguments.empty() ? "" : ", ") + (v ? name(*v) : "_");
        for (const auto& [key, value] : n.attributes) arguments += (arguments.empty() ? "" : ", ") + key + "=" + to_string(value);
        text += fmt::format(" = {}({})", n.op, arguments);
        if (n.into) text += " into " + name(*n.into);
        if (!n.location.empty()) text += "  # " + one_line(n.location);
        return text;
    }

    std::string output_text(const Output& o) const {
        if (o.kind == Output::Kind::size) return "size(" + sym::to_string(o.size) + ")";
        if (o.kind != Output::Kind::view) return name(o.value);
        std::string strides;
        for (const sym::Expr& s : o.view_type.strides) strides += (strides.empty() ? "" : ", ") + sym::to_string(s);
        TensorType plain = contiguous(o.view_type.dtype, o.view_type.shape);
        return fmt::format("view({}, {} strides [{}], offset {})", name(o.value), to_string(plain), strides, sym::to_string(o.offset));
    }

    const Graph& g_;
};

} // namespace

std::string to_string(const Graph& g) { return Printer(g).run(); }

ConstantStore large_constants(const Graph& g) {
    ConstantStore store;
    for (const Input& i : g.inputs)
        if (i.data && i.data->size() > kLargeConstant) store.emplace(content_hash(*i.data), *i.data);
    return store;
}

} // namespace codetta::graph
