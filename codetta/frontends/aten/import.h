// From a captured ATen graph to Graphs: which nodes Codetta understands, and the Graph of a chosen part.
#pragma once

#include "codetta/base/verdict.h"
#include "codetta/frontends/aten/imported_graph.h"
#include "codetta/graph/op_def.h"

namespace codetta::frontends::aten {

struct SelectedInput {
    uint32_t value = 0;
    bool parameter = false;
    bool frozen = false;
};

/// A part of the graph that becomes one Graph. `nodes` in execution order; what they read is made by one of them, an input or a constant.
struct Selection {
    std::vector<uint32_t> nodes;
    std::vector<SelectedInput> inputs;
    std::vector<std::string> size_arguments; ///< symbols given as integers at each call
    std::vector<Argument> outputs;           ///< TensorRef or Expr
};

class Importer {
public:
    /// @pre `graph` outlives the importer
    explicit Importer(const ImportedGraph& graph);

    /// Yes when the node's target has a row in the table, its arguments fit, and the types of the results come out as the capture promised.
    /// Independent of every other node.
    base::Verdict can_import(uint32_t node) const;

    /// @pre can_import holds for every selected node
    /// @post one output per Selection::outputs, in order: an input itself for an input, a size for an Expr; tensors that share storage with an
    /// input or with each other become views of one memory unless that input is written in the part; every other tensor is fresh with the
    /// capture's strides. `aten.copy_` into an input becomes `into`.
    /// @throws UserError naming the node and its source line
    graph::Graph import(const Selection& selection) const;

private:
    const ImportedGraph* graph_;
    graph::OpSet ops_;
};

} // namespace codetta::frontends::aten
