// Rebuilds a graph node by node, with some nodes replaced. What most passes are written with.
#pragma once

#include <functional>
#include <set>

#include "codetta/graph/op_def.h"

namespace codetta::passes {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::OpSet;
using graph::TensorType;
using graph::ValueId;

class Rewriter {
public:
    Rewriter(const Graph& old, const OpSet& ops); // starts with the inputs
    const Graph& old() const { return old_; }
    GraphBuilder& builder() { return builder_; }
    ValueId now(ValueId old) const;   // what users of the old value read
    Node mapped(const Node& n) const; // n with operands of the new graph

    void keep(const Node& n);
    void replace(ValueId old, ValueId now);   // by a value made for it: takes over outputs and promised strides
    void forward(const Node& n, ValueId now); // users of n's result read `now`; n stays where the caller needs a tensor of its own
    bool is_result(ValueId old) const { return results_.contains(old.value); } // an output of kind value or view
    Graph finish();

private:
    const Graph& old_;
    GraphBuilder builder_;
    std::vector<ValueId> now_, output_;
    std::set<uint32_t> results_; // old values that the caller gets
    std::set<uint32_t> taken_;   // new values that the caller gets
};

// Calls `visit` for each node; where it returns false the node is kept.
Graph rewrite(const Graph& g, const OpSet& ops, const std::function<bool(const Node&, Rewriter&)>& visit);

// How often each value is read, outputs included.
std::vector<size_t> use_counts(const Graph& g);
// Inputs whose memory a node writes.
std::set<uint32_t> overwritten_inputs(const Graph& g);
// The graph without the nodes for which keep is false, and without their values.
Graph without_nodes(Graph g, const std::vector<bool>& keep);

} // namespace codetta::passes
