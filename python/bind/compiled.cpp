#include "codetta/compile/compile.h"
#include "codetta/compile/report_text.h"
#include "codetta/runtime/detect_machine.h"
#include "python/bind/runner.h"

namespace codetta::python {
namespace {

class Compiled : public Runner {
public:
    Compiled(runtime::Executable executable, compile::Report report, std::string target)
        : executable_(std::move(executable)), report_(std::move(report)), target_(std::move(target)) {}

    void run(std::span<const runtime::Argument> arguments, runtime::OutputAllocator& allocator, runtime::Results& results,
             const runtime::CallOptions& options) const override {
        executable_.run(arguments, allocator, results, options);
    }
    size_t storage_count() const override { return executable_.program().storages.size(); }
    void refresh() override { executable_.refresh(); }
    void forget(uint64_t token) override { executable_.forget(token); }
    std::string description() const override {
        return compile::in_short(executable_.program().name, report_, target_) + compile::at_length(report_);
    }

private:
    runtime::Executable executable_;
    compile::Report report_;
    std::string target_;
};

} // namespace

std::unique_ptr<Runner> make_compiled(graph::Graph graph, const base::Options& options) {
    compile::Report report;
    const base::Target target = runtime::host_target(options.target);
    runtime::Executable executable = compile::compile(std::move(graph), target, options, {}, &report);
    return std::make_unique<Compiled>(std::move(executable), std::move(report), target.name);
}

} // namespace codetta::python
