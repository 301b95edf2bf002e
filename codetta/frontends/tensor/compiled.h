// From a recorded program to something that can be called on plain buffers.
//
//   Compiled f = compile({x}, {y}, {{"target", "x86_avx2"}});
//   std::vector<Array> results = f({{pointer, {rows, 768}}});   // makes the results
//   f({{pointer, {rows, 768}}}, {{out, {rows, 3072}}});         // writes them where you say
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codetta/frontends/tensor/tensor.h"
#include "codetta/graph/graph.h"

namespace codetta::frontends::tensor {

/// (name, value) of rows of docs/options.md. What the environment says (CODETTA_...) is set first.
using OptionList = std::vector<std::pair<std::string, std::string>>;

class Compiled {
public:
    /// One call. Safe from many threads at once; deterministic.
    /// @throws UserError naming the argument that does not fit, IndexError for an index out of range; it can be called again after each
    std::vector<Array> operator()(const std::vector<Buffer>& inputs) const;
    /// The same into the caller's memory, which may overlap neither the inputs nor itself.
    void operator()(const std::vector<Buffer>& inputs, const std::vector<Buffer>& outputs) const;

    /// Frozen weights were changed in place: the next call packs them again.
    void refresh();

    std::string explain() const; ///< who computes each part and why, and what each stage of the compiler took
    const graph::Graph& graph() const;

    struct State;
    explicit Compiled(std::shared_ptr<State> state) : state_(std::move(state)) {}

private:
    std::shared_ptr<State> state_;
};

/// The recorded program that computes `outputs` from `inputs` (in the order of a call's arguments), as the compiler takes it; to_string of
/// it is what `codetta compile` reads.
/// @throws UserError when an input is needed but not listed, listed twice, or shares its name with another
graph::Graph trace(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const std::string& name = "program");

Compiled compile(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const OptionList& options = {},
                 const std::string& name = "program");

} // namespace codetta::frontends::tensor
