// What a row of the table works with: the node's arguments by name on one side, a graph builder on the other.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codetta/frontends/aten/imported_graph.h"
#include "codetta/graph/op_def.h"

namespace codetta::frontends::aten {

using graph::ValueId;
using Operands = std::vector<std::optional<ValueId>>;

/// Translates one node. Every reader throws a UserError when the argument has another form than asked for: that refuses the node.
class Translator {
public:
    /// @pre `values` maps every tensor that the node reads
    Translator(const ImportedGraph& imported, const ImportedNode& node, graph::GraphBuilder& builder, std::map<uint32_t, ValueId>& values);

    const ImportedNode& node() const { return *node_; }
    graph::GraphBuilder& builder() { return *builder_; }

    // --- arguments; `has` is false for one that is left out or None
    bool has(std::string_view name) const;
    bool is_tensor(std::string_view name) const;
    bool is_number(std::string_view name) const; ///< bool, int, float or a size
    bool flag(std::string_view name, bool otherwise) const;
    int64_t integer(std::string_view name, std::optional<int64_t> otherwise = std::nullopt) const;
    sym::Expr size(std::string_view name, std::optional<sym::Expr> otherwise = std::nullopt) const;
    graph::Attribute number(std::string_view name) const; ///< int64_t, double, bool or Expr
    double real(std::string_view name, double otherwise) const;
    std::string text(std::string_view name, std::string_view otherwise) const;
    std::optional<scalar::DType> dtype(std::string_view name) const;
    std::vector<int64_t> integers(std::string_view name) const; ///< a list, or one number as a list of one
    std::vector<sym::Expr> sizes(std::string_view name) const;
    scalar::DType number_dtype(std::string_view name) const;    ///< boolean, i64 or f64 of a number
    /// Refuses the node when the argument is there and is not this value: for what Codetta has no form of.
    void expect_absent(std::string_view name) const;

    // --- tensors
    ValueId tensor(std::string_view name) const;
    std::optional<ValueId> optional_tensor(std::string_view name) const;
    std::vector<std::optional<ValueId>> tensors(std::string_view name) const; ///< a list; None gives nullopt
    graph::TensorType type(ValueId v) const { return builder_->type(v); }
    graph::TensorType type(std::string_view name) const { return builder_->type(tensor(name)); }
    ValueId cast(ValueId v, scalar::DType to); ///< v itself when it has that dtype
    /// The dtype that these arguments (tensors and numbers) are computed in, by torch's rules.
    scalar::DType promoted(std::initializer_list<std::string_view> names) const;
    /// A dimension in 0 .. rank-1; negative ones count from the end.
    int64_t dimension(int64_t dim, size_t rank) const;
    std::vector<int64_t> dimensions(std::string_view name, size_t rank) const; ///< sorted; absent or empty: all

    // --- results
    size_t result_count() const { return node_->results.size(); }
    bool wanted(size_t i) const { return i < node_->results.size() && node_->results[i].has_value(); }
    const ImportedValue& promised(size_t i = 0) const; ///< what the capture says about result i
    /// Result i is v. Refuses the node when dtype or shape are not those that were promised; casts nothing.
    void result(ValueId v, size_t i = 0);
    ValueId add(std::string op, Operands operands, graph::Attributes attributes = {});
    std::vector<ValueId> add_many(std::string op, Operands operands, graph::Attributes attributes = {});

    [[noreturn]] void refuse(const std::string& why) const;

private:
    const Argument* find(std::string_view name) const;
    ValueId mapped(const TensorRef& tensor) const;
    [[noreturn]] void refuse_form(std::string_view name, std::string_view wanted) const;

    const ImportedGraph* imported_;
    const ImportedNode* node_;
    graph::GraphBuilder* builder_;
    std::map<uint32_t, ValueId>* values_;
};

/// One row of the table: an ATen overload, the op it becomes, how. `op` may be empty where the function knows it.
struct Row {
    std::string_view target;
    std::string_view op;
    void (*translate)(Translator&, std::string_view op);
};

// The table, one part per family.
std::span<const Row> pointwise_rows();
std::span<const Row> view_rows();
std::span<const Row> factory_rows();
std::span<const Row> reduce_rows();
std::span<const Row> contract_rows();
std::span<const Row> normalise_rows();
std::span<const Row> index_rows();
std::span<const Row> backward_rows();
std::span<const Row> convolution_rows();

const Row* find_row(std::string_view target);
std::vector<std::string_view> known_targets(); ///< sorted

} // namespace codetta::frontends::aten
