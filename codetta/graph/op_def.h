// One entry per op: everything the compiler knows of it.
//
// Rules that every op keeps:
// - Operands have equal dtypes except where the summary says so; frontends insert `cast` nodes. There is no promotion in here.
// - A Python scalar operand is the attribute `scalar` (a number in compute precision, as in torch), not a tensor.
// - Floats of 16 bits are computed in f32 inside an op and rounded once at its result by scalar::Prim::narrow; reductions accumulate in f32
// (f64 for
//   f64, i64 for integer sums). Fusion may drop a narrow between two ops, never a `cast` node.
// - A result has contiguous strides unless the builder is told otherwise; operands may have any strides.
// - Ops that return an updated copy of operand 0 (index_copy, slice_scatter ...) lower to a first stage `base`, which copies operand 0 to
// `out`, and further
//   stages that write parts of `out`. A node with `into` aliases `out` with the operand and drops `base`.
#pragma once

#include <functional>
#include <span>

#include "codetta/base/verdict.h"
#include "codetta/graph/graph.h"
#include "codetta/graph/signature.h"
#include "codetta/problem/problem.h"

namespace codetta::graph {

// A node with the types of its operands: what rules see. Made by OpSet::view, which knows the signature (defaults of attributes).
struct NodeView {
    const Graph* graph = nullptr;
    const Node* node = nullptr;
    const Signature* signature = nullptr;
    size_t input_count() const { return node->inputs.size(); }
    bool has_input(size_t i) const { return i < node->inputs.size() && node->inputs[i].has_value(); }
    TensorType input(size_t i) const { return graph->type(*node->inputs[i]); } // by value: a builder may grow the graph meanwhile
    size_t output_count() const { return node->outputs.size(); }
    TensorType output(size_t i = 0) const { return graph->type(node->outputs[i]); }
    const sym::Facts& facts() const { return graph->facts; }

    // Attribute or else its default of the signature; InternalError when there is neither.
    bool has(std::string_view name) const;
    const Attribute& attribute(std::string_view name) const;
    bool flag(std::string_view name) const;
    int64_t integer(std::string_view name) const;
    double number(std::string_view name) const; // InternalError when it is a symbolic expression
    std::string text(std::string_view name) const;
    sym::Expr expr(std::string_view name) const;
    std::vector<sym::Expr> exprs(std::string_view name) const;
    std::vector<int64_t> integers(std::string_view name) const; // exprs that are literals
    scalar::DType dtype(std::string_view name) const;
};

enum class OpKind : uint8_t { pointwise, view, move, contract, reduce, normalise, index, attention, factory, scan };
std::string_view to_string(OpKind k);

class GraphBuilder;

// Exactly one of lower and decompose is set.
struct OpDef {
    std::string name;      // ATen's base name where one exists: `add`, `linear`, `native_layer_norm`
    std::string signature; // see signature.h; parsed once, checked at every node
    OpKind kind = OpKind::pointwise;
    std::string summary; // one sentence with the source (ATen doc)
    // Result types from operand types and attributes; UserError on a misfit (the caller adds the op's name and place).
    std::function<std::vector<TensorType>(const NodeView&)> infer;
    // The op's meaning: operand i of the Problem is the i-th present input, then one `out` operand per output, with the types' shapes and
    // strides.
    std::function<problem::Problem(const NodeView&)> lower;
    // The op in terms of others; returns one value per output. The node's inputs are values of the builder's graph.
    std::function<std::vector<ValueId>(const NodeView&, GraphBuilder&)> decompose;
    // Graph texts of one node or a few, small shapes, several dtypes: the tests of the op here, on every target and against torch.
    std::vector<std::string> samples;
};

// The vocabulary is passed explicitly; ops::list() makes it.
class OpSet {
public:
    explicit OpSet(std::vector<OpDef> ops); // InternalError on a duplicate name or a malformed signature
    const OpDef* find(std::string_view name) const;
    const OpDef& get(std::string_view name) const; // UserError with the nearest name
    const Signature& signature(std::string_view name) const;
    std::span<const OpDef> all() const { return ops_; }
    NodeView view(const Graph& g, const Node& n) const;
    // Infers with the op's name and the node's location in the error.
    std::vector<TensorType> infer(const Graph& g, const Node& n) const;
    problem::Problem lower(const Graph& g, const Node& n) const; // InternalError when the op decomposes

private:
    std::vector<OpDef> ops_;
    std::vector<Signature> signatures_;
    std::map<std::string, size_t, std::less<>> by_name_;
};

// Builds or rewrites a graph; checks and infers what it adds. Names of new values are numbers.
class GraphBuilder {
public:
    GraphBuilder(const OpSet& ops, Graph graph);
    ValueId input(std::string name, TensorType type, InputKind kind = InputKind::argument, bool frozen = false);
    ValueId constant(scalar::HostArray data);
    std::vector<ValueId> add(std::string op, std::vector<std::optional<ValueId>> inputs, Attributes attributes = {},
                             std::string location = {});
    ValueId add1(std::string op, std::vector<std::optional<ValueId>> inputs, Attributes attributes = {},
                 std::string location = {});                                     // the op's only output
    // A node as it is in another graph, with operands of this one: no inference; its results keep names (when free) and types.
    std::vector<ValueId> add(Node node, std::span<const Value> results);
    void reserve_names(const Graph& g); // new names are numbers that g has not
    void set_location(std::string location) { location_ = std::move(location); } // of nodes added without one
    void set_strides(ValueId v, std::vector<sym::Expr> strides);                 // the layout that the caller of the graph was promised
    void set_into(ValueId result, ValueId target);                               // result is outputs[0] of its node
    void output(ValueId v);                                                      // kind input for an input, else value
    void output(Output o) { graph_.outputs.push_back(std::move(o)); }
    TensorType type(ValueId v) const { return graph_.type(v); }
    const OpSet& ops() const { return *ops_; }
    Graph& graph() { return graph_; }
    const Graph& graph() const { return graph_; }
    Graph finish() { return std::move(graph_); }

private:
    ValueId new_value(std::string name, TensorType type);
    const OpSet* ops_;
    Graph graph_;
    std::map<std::string, ValueId, std::less<>> by_name_;
    size_t next_name_ = 0;
    std::string location_;
};

// Operands are defined before use and once, types are as inferred, in-place targets are inputs that nobody reads later, size symbols are
// bound. UserError naming node and location.
void verify(const Graph& g, const OpSet& ops);

// Values of the size symbols for these arguments (one array per input that is not a constant); UserError when a size does not fit.
sym::Bindings bind_sizes(const Graph& g, std::span<const scalar::HostArray> arguments, std::span<const int64_t> size_arguments);

// Runs g on host arrays (one per input that is not a constant, in order): each node through its Problem. Returns the outputs as arrays (a
// `size` as a 0-d i64). In-place targets are written. exact: floats are computed and kept in f64 (results too): the judge's value.
std::vector<scalar::HostArray> interpret(const Graph& g, const OpSet& ops, std::span<const scalar::HostArray> arguments,
                                         std::span<const int64_t> size_arguments, bool exact = false);

} // namespace codetta::graph
