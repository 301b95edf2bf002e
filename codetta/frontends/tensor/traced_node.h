// The recorded program: a node per op or leaf, shared by those that read it.
#pragma once

#include "codetta/frontends/tensor/tensor.h"
#include "codetta/graph/op_def.h"
#include "codetta/scalar/host_array.h"

namespace codetta::frontends::tensor {

/// The vocabulary, made once.
const graph::OpSet& vocabulary();

struct TracedNode {
    enum class Kind : uint8_t { op, input, parameter, constant };
    Kind kind = Kind::op;
    std::vector<graph::TensorType> types; // one per result
    sym::Facts facts;                     // of the sizes in the types and in all that they were made from

    std::string op;
    std::vector<std::optional<Tensor>> operands;
    graph::Attributes attributes;
    std::string location;

    std::string name;           // input, parameter
    std::optional<Buffer> data; // parameter
    bool frozen = false;
    std::optional<scalar::HostArray> content; // constant
};

/// The parameters that `outputs` need, in the order in which trace() makes them inputs of the graph.
std::vector<std::shared_ptr<const TracedNode>> parameters_of(const std::vector<Tensor>& outputs);

} // namespace codetta::frontends::tensor
