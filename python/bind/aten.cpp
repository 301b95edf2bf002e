// The captured graph: filled from Python, judged and imported in C++.
//
// Arguments arrive as plain data: None, bool, int, float, str, lists, and tagged pairs ("value", id), ("size", text), ("dtype", text),
// ("opaque", text).
#include "codetta/base/error.h"
#include "codetta/frontends/aten/import.h"
#include "codetta/frontends/aten/translator.h"
#include "codetta/graph/graph.h"
#include "codetta/ops/list.h"
#include "python/bind/bind.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
namespace aten = codetta::frontends::aten;

namespace codetta::python {
namespace {

std::vector<sym::Expr> parse_exprs(const std::vector<std::string>& texts) {
    std::vector<sym::Expr> exprs;
    for (const std::string& text : texts) exprs.push_back(sym::parse_expr(text));
    return exprs;
}

aten::Argument tagged(nb::handle object) {
    const nb::tuple pair = nb::cast<nb::tuple>(object);
    const auto tag = nb::cast<std::string>(pair[0]);
    if (tag == "value") return {aten::TensorRef{nb::cast<uint32_t>(pair[1])}};
    const auto text = nb::cast<std::string>(pair[1]);
    if (tag == "size") return {sym::parse_expr(text)};
    if (tag == "dtype") return {scalar::parse_dtype(text)};
    CODETTA_CHECK(tag == "opaque", "unknown tag '{}' of an argument", tag);
    return {aten::Opaque{text}};
}

aten::Argument to_argument(nb::handle object) {
    if (object.is_none()) return {};
    if (nb::isinstance<nb::bool_>(object)) return {nb::cast<bool>(object)};
    if (nb::isinstance<nb::int_>(object)) return {nb::cast<int64_t>(object)};
    if (nb::isinstance<nb::float_>(object)) return {nb::cast<double>(object)};
    if (nb::isinstance<nb::str>(object)) return {nb::cast<std::string>(object)};
    if (nb::isinstance<nb::tuple>(object)) return tagged(object);
    CODETTA_CHECK(nb::isinstance<nb::list>(object), "an argument of the captured graph has a type that is not plain data");
    aten::Argument::List list;
    for (nb::handle item : nb::cast<nb::list>(object)) list.push_back(to_argument(item));
    return {std::move(list)};
}

uint32_t add_value(aten::ImportedGraph& graph, std::string name, const std::optional<std::string>& dtype,
                   const std::vector<std::string>& shape, const std::vector<std::string>& strides, const std::string& offset,
                   uint64_t storage, std::string refusal) {
    aten::ImportedValue value;
    value.name = std::move(name);
    if (dtype) value.dtype = scalar::parse_dtype(*dtype);
    value.shape = parse_exprs(shape);
    value.strides = parse_exprs(strides);
    value.offset = sym::parse_expr(offset);
    value.storage = storage;
    value.refusal = std::move(refusal);
    graph.values.push_back(std::move(value));
    return static_cast<uint32_t>(graph.values.size() - 1);
}

/// Copies a strided array of the caller into the value as its constant contents.
void set_data(aten::ImportedGraph& graph, uint32_t value, uintptr_t address, const std::vector<int64_t>& extents,
              const std::vector<int64_t>& strides) {
    aten::ImportedValue& target = graph.values.at(value);
    target.data = scalar::HostArray::borrow(target.dtype, extents, strides, reinterpret_cast<void*>(address)).clone();
}

uint32_t add_node(aten::ImportedGraph& graph, std::string name, std::string target,
                  const std::vector<std::pair<std::string, nb::object>>& arguments, const std::vector<std::optional<uint32_t>>& results,
                  std::string location) {
    aten::ImportedNode node;
    node.name = std::move(name);
    node.target = std::move(target);
    for (const auto& [argument, object] : arguments) node.arguments.emplace_back(argument, to_argument(object));
    node.results = results;
    node.location = std::move(location);
    graph.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(graph.nodes.size() - 1);
}

graph::Graph import_segment(const aten::Importer& importer, const std::vector<uint32_t>& nodes,
                            const std::vector<std::tuple<uint32_t, bool, bool>>& inputs, const std::vector<std::string>& sizes,
                            const std::vector<nb::object>& outputs) {
    aten::Selection selection;
    selection.nodes = nodes;
    for (const auto& [value, parameter, frozen] : inputs) selection.inputs.push_back({value, parameter, frozen});
    selection.size_arguments = sizes;
    for (const nb::object& output : outputs) selection.outputs.push_back(to_argument(output));
    return importer.import(selection);
}

} // namespace

void bind_aten(nb::module_& module) {
    nb::class_<graph::Graph>(module, "Graph", "A graph of tensor ops; str() gives its text.")
        .def("__str__", [](const graph::Graph& g) { return graph::to_string(g); })
        .def_prop_ro("node_count", [](const graph::Graph& g) { return g.nodes.size(); })
        .def_prop_ro("output_kinds", [](const graph::Graph& g) {
            std::vector<std::string> kinds;
            for (const graph::Output& output : g.outputs)
                kinds.emplace_back(output.kind == graph::Output::Kind::value   ? "value"
                                   : output.kind == graph::Output::Kind::input ? "input"
                                   : output.kind == graph::Output::Kind::view  ? "view"
                                                                               : "size");
            return kinds;
        });

    nb::class_<aten::ImportedGraph>(module, "ImportedGraph", "A captured ATen graph as plain data.")
        .def("__init__",
             [](aten::ImportedGraph* graph, std::string name) {
                 new (graph) aten::ImportedGraph{.name = std::move(name), .symbols = {}, .facts = {}, .values = {}, .nodes = {}};
             })
        .def("set_range",
             [](aten::ImportedGraph& g, const std::string& symbol, int64_t lo, int64_t hi) {
                 g.symbols.insert(symbol);
                 g.facts.set_range(symbol, {lo, hi});
             })
        .def("set_multiple", [](aten::ImportedGraph& g, const std::string& symbol, int64_t of) { g.facts.set_multiple(symbol, of); })
        .def("assume", // false: the condition is no news, or can't be kept
             [](aten::ImportedGraph& g, const std::string& condition) {
                 const sym::Condition c = sym::parse_condition(condition);
                 return !g.facts.proves(c) && g.facts.assume(c);
             })
        .def("add_value", &add_value, nb::arg("name"), nb::arg("dtype").none(), nb::arg("shape"), nb::arg("strides"), nb::arg("offset"),
             nb::arg("storage"), nb::arg("refusal"))
        .def("set_data", &set_data, nb::arg("value"), nb::arg("address"), nb::arg("extents"), nb::arg("strides"))
        .def("add_node", &add_node, nb::arg("name"), nb::arg("target"), nb::arg("arguments"), nb::arg("results"), nb::arg("location"))
        .def("print_node", [](const aten::ImportedGraph& g, uint32_t node) { return aten::to_string(g, g.nodes.at(node)); });

    module.def(
        "known_targets",
        [] {
            std::vector<std::string> names;
            for (std::string_view name : aten::known_targets()) names.emplace_back(name);
            return names;
        },
        "The ATen operations that have a row in the table.");

    nb::class_<aten::Importer>(module, "Importer", "Says which nodes of a captured graph can be compiled and makes graphs of them.")
        .def(nb::init<const aten::ImportedGraph&>(), nb::keep_alive<1, 2>())
        .def(
            "refusal", [](const aten::Importer& importer, uint32_t node) { return importer.can_import(node).reason(); }, nb::arg("node"),
            "Why the node cannot be compiled; empty when it can.")
        .def("import_segment", &import_segment, nb::arg("nodes"), nb::arg("inputs"), nb::arg("sizes"), nb::arg("outputs"));
}

} // namespace codetta::python
