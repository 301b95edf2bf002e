#include "tests/fuzz/differential/check.h"

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "tests/fuzz/differential/compare.h"
#include "tests/fuzz/differential/memory.h"
#include "tests/support/run_graph.h"

namespace codetta::test {

using scalar::HostArray;

namespace {

// One graph, one target, one call after the other.
class Checker {
public:
    Checker(const RandomGraph& g, const graph::OpSet& ops, uint64_t seed, CheckCounts* counts)
        : g_(g), ops_(ops), seed_(seed), counts_(counts) {}

    std::optional<Failure> run(const base::Target& target) {
        try {
            compile::Report report;
            const runtime::Executable executable = compile::compile(g_.graph, ops_, target, {}, {}, &report);
            if (counts_) counts_->on_reference += report.on_reference;
            for (const sym::Bindings& sizes : g_.runs)
                if (auto failure = one_call(executable, sizes)) return failure;
        } catch (const std::exception& e) {
            const std::string text = stage_ + std::string(": ") + e.what();
            return Failure{text.substr(0, text.find_first_of("0123456789%")), text};
        }
        return std::nullopt;
    }

private:
    std::optional<Failure> one_call(const runtime::Executable& executable, const sym::Bindings& sizes) {
        stage_ = "interpret";
        const Interpreted exact = interpreted(g_, ops_, sizes, seed_, true), rounded = interpreted(g_, ops_, sizes, seed_, false);
        std::string at = "call";
        for (const auto& [name, n] : sizes) at += fmt::format(" {}={}", name, n);
        stage_ = "call";
        // Every third graph by several threads, the others in guarded memory.
        const bool threads = seed_ % 3 == 0;
        GuardedMemory memory(seed_ % 3 == 1);
        HostOutputs plain_outputs;
        GuardedOutputs guarded_outputs(memory);
        HostOutputs& allocator = threads ? plain_outputs : guarded_outputs;
        std::vector<HostArray> arguments = make_arguments(g_, sizes, seed_), got;
        if (!threads) arguments = memory.copies(arguments);
        try {
            const auto call_it = [&] { got = call(executable, arguments, size_arguments(g_.graph, sizes), allocator, threads ? 3 : 1); };
            if (threads)
                call_it();
            else if (!runs_without_fault(call_it))
                return Failure{"memory", at + ": memory past an array is touched"};
        } catch (const base::IndexError& e) {
            if (rounded.index_error.empty()) return Failure{"index", fmt::format("{}: {}", at, e.what())};
            if (counts_) ++counts_->index_errors;
            return std::nullopt;
        }
        if (!rounded.index_error.empty()) return Failure{"no index error", fmt::format("{}: must fail: {}", at, rounded.index_error)};
        if (counts_) ++counts_->calls;
        std::optional<std::optional<Interpreted>> disturbed_too; // made when needed
        const auto judge = [&](const char* what, size_t i, const HostArray& have, const auto& of, double unit) -> std::optional<Failure> {
            std::vector<HostArray> others = {of(rounded)[i]};
            auto why = differs(have, of(exact)[i], others, unit);
            if (why) {
                if (!disturbed_too) disturbed_too = disturbed(g_, ops_, sizes, seed_);
                if (*disturbed_too && (*disturbed_too)->index_error.empty()) {
                    others.push_back(of(**disturbed_too)[i]);
                    why = differs(have, of(exact)[i], others, unit);
                }
            }
            if (why) return Failure{what, fmt::format("{}: {} {}{}", at, what, i, *why)};
            if (counts_) ++counts_->compared;
            return std::nullopt;
        };
        for (size_t i = 0; i < got.size(); ++i) {
            const graph::Output& o = g_.graph.outputs[i];
            double unit = 0;
            if (o.kind != graph::Output::Kind::size) {
                const graph::Value& v = g_.graph.value(o.value);
                const auto it = g_.unit.find(v.name);
                unit = std::max(rounding_unit(v.type.dtype), it == g_.unit.end() ? 0 : it->second);
            }
            const auto outputs = [](const Interpreted& in) -> const std::vector<HostArray>& { return in.outputs; };
            if (auto failure = judge("output", i, got[i], outputs, unit)) return failure;
        }
        for (size_t i = 0; i < arguments.size(); ++i) {
            const auto of = [](const Interpreted& in) -> const std::vector<HostArray>& { return in.arguments; };
            if (auto failure = judge("argument", i, arguments[i], of, argument_unit(i))) return failure;
        }
        return std::nullopt;
    }

    // Of what is written into the argument; one that is only read stays as it was.
    double argument_unit(size_t argument) const {
        for (const graph::Input& input : g_.graph.inputs) {
            if (input.data || argument-- != 0) continue;
            double unit = rounding_unit(g_.graph.type(input.value).dtype);
            for (const graph::Node& n : g_.graph.nodes)
                if (n.into == input.value)
                    if (const auto it = g_.unit.find(g_.graph.value(n.outputs[0]).name); it != g_.unit.end())
                        unit = std::max(unit, it->second);
            return unit;
        }
        return 0;
    }

    const RandomGraph& g_;
    const graph::OpSet& ops_;
    uint64_t seed_;
    CheckCounts* counts_;
    std::string stage_ = "compile";
};

} // namespace

std::optional<Failure> check(const RandomGraph& g, const graph::OpSet& ops, const base::Target& target, uint64_t seed,
                             CheckCounts* counts) {
    return Checker(g, ops, seed, counts).run(target);
}

} // namespace codetta::test
