#include "codetta/frontends/aten/imported_graph.h"

#include <fmt/format.h>

namespace codetta::frontends::aten {

namespace {

void collect(const Argument& argument, std::vector<uint32_t>& out) {
    if (const auto* tensor = std::get_if<TensorRef>(&argument.value)) out.push_back(tensor->value);
    if (const auto* list = std::get_if<Argument::List>(&argument.value))
        for (const Argument& item : *list) collect(item, out);
}

struct ArgumentPrinter {
    const ImportedGraph& graph;

    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
    std::string operator()(scalar::DType v) const { return std::string(scalar::to_string(v)); }
    std::string operator()(const sym::Expr& v) const { return sym::to_string(v); }
    std::string operator()(const TensorRef& v) const { return "%" + graph.values.at(v.value).name; }
    std::string operator()(const Opaque& v) const { return "<" + v.text + ">"; }
    std::string operator()(const Argument::List& list) const {
        std::string text = "[";
        for (const Argument& item : list) text += (text.size() > 1 ? ", " : "") + std::visit(*this, item.value);
        return text + "]";
    }
};

} // namespace

std::vector<uint32_t> tensors_read(const ImportedNode& node) {
    std::vector<uint32_t> values;
    for (const auto& [name, argument] : node.arguments) collect(argument, values);
    return values;
}

std::string to_string(const ImportedGraph& graph, const ImportedNode& node) {
    std::string text = node.target + "(";
    bool first = true;
    for (const auto& [name, argument] : node.arguments) {
        text += fmt::format("{}{}={}", first ? "" : ", ", name, std::visit(ArgumentPrinter{graph}, argument.value));
        first = false;
    }
    return text + ")";
}

} // namespace codetta::frontends::aten
