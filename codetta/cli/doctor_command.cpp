// codetta doctor: what this machine offers, what is missing and what that costs.
#include <CLI/CLI.hpp>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "codetta/base/error.h"
#include "codetta/cli/session.h"
#include "codetta/codegen/compile.h"
#include "codetta/compile/compile.h"
#include "codetta/graph/graph.h"
#include "codetta/runtime/context.h"
#include "codetta/runtime/detect_machine.h"

namespace codetta::cli {

namespace {

struct Line {
    std::string name, value;
    enum class State { good, missing, bad } state = State::good;
};

std::string kib(int64_t bytes) { return bytes >= 1 << 20 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10); }

std::string find_program(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::string folders = path ? path : "";
    for (size_t at = 0; at <= folders.size();) {
        const size_t end = std::min(folders.find(':', at), folders.size());
        const std::string candidate = folders.substr(at, end - at) + "/" + name;
        if (access(candidate.c_str(), X_OK) == 0) return candidate;
        at = end + 1;
    }
    return {};
}

Line target_line(std::string_view name, const base::Target& machine) {
    const base::Target target = base::make_target(name);
    if (target.vector_bits == 0)
        return {std::string(name), "code can be made (codetta compile kernel.txt --target sm90); running it is not built yet",
                Line::State::missing};
    if (const base::Verdict able = base::can_run(machine, target); !able) return {std::string(name), able.reason(), Line::State::missing};
    return {std::string(name), machine.name == name ? "yes, the one that is used" : "yes", Line::State::good};
}

/// The whole line on a small program: compiled, called and checked.
Line self_test() {
    const graph::Graph g = graph::parse_graph(
        "graph doctor(%x: f32[4, 8], %w: f32[8, 8]) { %0: f32[4, 8] = linear(%x, %w)  %1: f32[4, 8] = relu(%0)  return %1 }");
    try {
        compile::Report report;
        compile::compile(g, runtime::host_target(), {}, {}, &report);
        double total = 0;
        for (const compile::StageTime& s : report.stages) total += s.time_ms;
        return {"self-test", fmt::format("linear + relu compiled in {:.0f} ms", total), Line::State::good};
    } catch (const std::exception& e) {
        return {"self-test", e.what(), Line::State::bad};
    }
}

std::vector<Line> examine(const base::Target& machine) {
    std::vector<Line> lines;
    utsname system = {};
    uname(&system);
    lines.push_back({"codetta", std::string(version)});
    lines.push_back({"LLVM", codegen::llvm_version()});
    lines.push_back({"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)});
    lines.push_back(
        {"cores", fmt::format("{} that this process may use, {} threads per call", machine.cores, runtime::Context::shared()->threads())});
    lines.push_back({"caches", fmt::format("L1 {}, L2 {}, L3 {}", kib(machine.l1_bytes), kib(machine.l2_bytes), kib(machine.l3_bytes))});
    lines.push_back({"features", fmt::format("{}", fmt::join(machine.features, " "))});
    for (const std::string_view name : base::known_targets()) lines.push_back(target_line(name, machine));
    void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    lines.push_back(driver ? Line{"GPU driver", "found"}
                           : Line{"GPU driver", "libcuda.so.1 is not installed; only needed for GPUs", Line::State::missing});
    if (driver) dlclose(driver);
    const std::string ptxas = find_program("ptxas");
    lines.push_back(ptxas.empty() ? Line{"ptxas", "not in PATH; only needed to look at GPU kernels", Line::State::missing}
                                  : Line{"ptxas", ptxas});
    try {
        const std::string options = base::to_string(base::apply_environment()), defaults = base::to_string(base::Options());
        lines.push_back({"environment", options == defaults ? "no CODETTA_ variable changes an option"
                                                            : "CODETTA_ variables change options; codetta options lists them"});
    } catch (const base::UserError& e) {
        lines.push_back({"environment", e.what(), Line::State::bad});
    }
    lines.push_back(self_test());
    return lines;
}

} // namespace

void add_doctor(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("doctor", "what this machine offers, and what is missing");
    command->add_flag("--json", session.json, "as JSON");
    command->callback([&session] {
        const std::vector<Line> lines = examine(runtime::detect_machine());
        bool good = true;
        nlohmann::json json;
        for (const Line& line : lines) {
            good &= line.state != Line::State::bad;
            const char* state = line.state == Line::State::good ? "ok" : line.state == Line::State::missing ? "--" : "!!";
            if (session.json)
                json[line.name] = {{"value", line.value},
                                   {"state", line.state == Line::State::good      ? "ok"
                                             : line.state == Line::State::missing ? "missing"
                                                                                  : "bad"}};
            else
                session.say("{}  {:<12} {}\n", state, line.name, line.value);
        }
        if (session.json) session.say("{}\n", json.dump(2));
        if (!good) throw base::UserError("something is wrong; see the lines marked !!", "codetta doctor");
    });
}

} // namespace codetta::cli
