// What runs a graph on the caller's memory: compiled code, or the interpreter (to find faults, and as the judge in tests).
#pragma once

#include <memory>

#include "codetta/base/options.h"
#include "codetta/graph/graph.h"
#include "codetta/runtime/executable.h"

namespace codetta::python {

class Runner {
public:
    virtual ~Runner() = default;
    /// Arguments: one per input of the graph that is no constant, in order, then the size arguments. As runtime::Executable::run.
    virtual void run(std::span<const runtime::Argument> arguments, runtime::OutputAllocator& allocator, runtime::Results& results,
                     const runtime::CallOptions& options) const = 0;
    virtual size_t storage_count() const = 0; ///< how often a run calls the allocator
    virtual void refresh() {}                 ///< forget what was prepared from frozen weights
    virtual void forget(uint64_t) {}          ///< the frozen weight of this token died: free what was prepared from it
    virtual std::string description() const { return {}; }
};

std::unique_ptr<Runner> make_interpreter(graph::Graph graph);
std::unique_ptr<Runner> make_compiled(graph::Graph graph, const base::Options& options);

} // namespace codetta::python
