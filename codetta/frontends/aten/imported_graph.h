// A captured ATen graph as plain data: what torch.compile's graph (or a .pt2 file) says, before Codetta gives it a meaning.
//
// Tensors are numbered; sizes are already symbolic expressions, so that size arithmetic is no node. Arguments carry their names of the ATen
// schema; those at their default may be left out.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "codetta/scalar/dtype.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/facts.h"

namespace codetta::frontends::aten {

/// A tensor in the graph, with what the capture says about it (for results: a promise that the caller relies on).
struct ImportedValue {
    std::string name;
    scalar::DType dtype = scalar::DType::f32;
    std::vector<sym::Expr> shape, strides;
    sym::Expr offset;                      ///< first element within its storage
    uint64_t storage = 0;                  ///< equal numbers: the same memory (views); 0: unknown, taken as memory of its own
    std::string refusal;                   ///< why Codetta cannot hold this tensor: `dtype complex64`, `device meta`; empty: it can
    std::optional<scalar::HostArray> data; ///< of a constant
};

struct TensorRef {
    uint32_t value = 0; ///< index into ImportedGraph::values
    friend bool operator==(const TensorRef&, const TensorRef&) = default;
};

/// Something with no meaning for Codetta: a device, a memory format, a generator, a sub-graph.
struct Opaque {
    std::string text;
    friend bool operator==(const Opaque&, const Opaque&) = default;
};

struct Argument {
    using List = std::vector<Argument>;
    std::variant<std::monostate, bool, int64_t, double, std::string, scalar::DType, sym::Expr, TensorRef, Opaque, List> value;
    bool is_none() const { return std::holds_alternative<std::monostate>(value); }
};

struct ImportedNode {
    std::string name;   ///< unique in the graph
    std::string target; ///< `aten.add.Tensor`
    std::vector<std::pair<std::string, Argument>> arguments;
    std::vector<std::optional<uint32_t>> results; ///< values; nullopt: a result that is no tensor or that nobody names
    std::string location;                         ///< `model.py:12`, the model's source line
};

struct ImportedGraph {
    std::string name = "graph";
    std::set<std::string> symbols; ///< every symbolic integer; nothing need be known of one
    sym::Facts facts;
    std::vector<ImportedValue> values;
    std::vector<ImportedNode> nodes; ///< in execution order
};

/// Every tensor that the node reads, in order of the arguments, lists included, with repetitions.
std::vector<uint32_t> tensors_read(const ImportedNode& node);

/// `aten.add.Tensor(self=%x, other=2)`, for messages and tests.
std::string to_string(const ImportedGraph& graph, const ImportedNode& node);

} // namespace codetta::frontends::aten
