// Where every value of a graph lies while its program runs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "codetta/graph/graph.h"
#include "codetta/problem/region.h"
#include "codetta/runtime/host_program.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/expr.h"

namespace codetta::plan {

// Names that are unique in a program and made of letters, digits and `_`.
class Names {
public:
    std::string unique(const std::string& wanted);

private:
    std::set<std::string> used_;
};

// Fills inputs, sizes, requirements, constants, storages and outputs of `program`, and answers where values lie. Values that nobody outside sees get buffers as they are first asked for.
class Places {
public:
    Places(const graph::Graph& g, runtime::HostProgram& program, Names& names);
    // The place of a region's operand, used at step `step`; buffers live from their first to their last use.
    runtime::PointerArgument place(problem::ValueId value, const problem::Operand& operand, uint32_t step);
    // Memory of a variant's own, for one step.
    runtime::PointerArgument temporary(const std::string& name, const sym::Expr& bytes, uint32_t step);

private:
    void add_inputs();
    void add_sizes();
    void add_outputs();
    runtime::PointerArgument storage_of(graph::ValueId v);

    const graph::Graph& g_;
    runtime::HostProgram& program_;
    Names& names_;
    std::map<uint32_t, runtime::PointerArgument> by_value_;
};

// Bytes from the first to past the last element of a strided array; 0 when it is empty and of constant shape.
sym::Expr span_bytes(scalar::DType dtype, const std::vector<sym::Expr>& shape, const std::vector<sym::Expr>& strides);

} // namespace codetta::plan
