#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/compile/compile.h"
#include "codetta/runtime/detect_machine.h"
#include "python/bind/runner.h"

namespace codetta::python {
namespace {

class Compiled : public Runner {
public:
    Compiled(runtime::Executable executable, compile::Report report) : executable_(std::move(executable)), report_(std::move(report)) {}

    void run(std::span<const runtime::Argument> arguments, runtime::OutputAllocator& allocator, runtime::Results& results,
             const runtime::CallOptions& options) const override {
        executable_.run(arguments, allocator, results, options);
    }
    size_t storage_count() const override { return executable_.program().storages.size(); }
    void refresh() override { executable_.refresh(); }
    std::string description() const override {
        std::string text = fmt::format("{} nodes, {} regions, {} kernels, {} on reference\n", report_.nodes, report_.regions,
                                       report_.kernels, report_.on_reference);
        for (const std::string& recipe : report_.recipes) text += "  " + recipe + "\n";
        for (const compile::StageTime& stage : report_.stages) text += fmt::format("  stage {}: {:.1f} ms\n", stage.stage, stage.time_ms);
        return text;
    }

private:
    runtime::Executable executable_;
    compile::Report report_;
};

} // namespace

std::unique_ptr<Runner> make_compiled(graph::Graph graph, const base::Options& options) {
    compile::Report report;
    runtime::Executable executable = compile::compile(std::move(graph), runtime::host_target(options.target), options, {}, &report);
    return std::make_unique<Compiled>(std::move(executable), std::move(report));
}

} // namespace codetta::python
