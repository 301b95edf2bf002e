// codetta compile: a graph through every stage, a problem from `choose` on, a kernel through the code generator.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "codetta/base/atomic_file.h"
#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"
#include "codetta/cli/session.h"
#include "codetta/cli/stage_file.h"
#include "codetta/codegen/compile.h"
#include "codetta/compile/compile.h"
#include "codetta/compile/report_text.h"
#include "codetta/graph/graph.h"
#include "codetta/ops/list.h"
#include "codetta/problem/problem.h"
#include "codetta/runtime/detect_machine.h"
#include "codetta/sym/expr.h"
#include "codetta/targets/list.h"
#include "codetta/tile/program.h"
#include "codetta/tile/verify.h"

namespace codetta::cli {

namespace {

struct Wishes {
    std::string file, stage;
    bool explain = false, assembly = false, llvm = false;
    std::vector<std::string> sizes;
};

constexpr std::array<std::string_view, 6> stages = {"graph", "passes", "fuse", "choose", "plan", "build"};

/// A folder that goes away again.
struct TemporaryFolder {
    TemporaryFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "codetta-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw base::UserError("can't make a temporary folder", pattern);
        path = pattern;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    std::filesystem::path path;
};

nlohmann::json as_json(const std::string& name, const compile::Report& r, const base::Target& target) {
    nlohmann::json json = {
        {"name", name}, {"target", target.name}, {"ops", r.nodes}, {"kernels", r.kernels}, {"on_reference", r.on_reference}};
    json["regions"] = nlohmann::json::array();
    for (const compile::RegionReport& region : r.region_reports)
        json["regions"].push_back({{"name", region.name},
                                   {"ops", region.ops},
                                   {"provider", region.provider},
                                   {"template", region.template_name},
                                   {"kernels", region.kernels},
                                   {"variants", region.variants},
                                   {"not_taken", region.not_taken},
                                   {"not_fused", region.not_fused}});
    for (const compile::StageTime& s : r.stages) json["stage_ms"][s.stage] = s.time_ms;
    return json;
}

/// Prints the stage's text and the assembly that the conductor left in `folder`.
void print_dumped(const Session& session, const Wishes& wishes, const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        const std::string name = file.filename().string();
        if ((!wishes.stage.empty() && name.ends_with("_" + wishes.stage + ".txt")) || (wishes.assembly && name.ends_with(".s")))
            session.say("{}", base::read_file(file));
    }
}

void compile_model(const Session& session, const Wishes& wishes, const StageFile& file) {
    base::Options options = session.options();
    sym::Bindings hints;
    for (const std::string& text : wishes.sizes) hints.insert(parse_assignment(text, "--size"));
    const base::Target target = runtime::host_target(options.target);
    for (const std::string& part : file.parts) {
        std::optional<TemporaryFolder> temporary;
        if ((wishes.assembly || !wishes.stage.empty()) && options.dump.empty()) options.dump = temporary.emplace().path.string();
        compile::Report report;
        std::string name;
        if (file.stage == Stage::graph) {
            graph::Graph g = read_graph(file, ops::list());
            for (graph::Input& input : g.inputs) input.frozen |= options.freeze && input.kind == graph::InputKind::parameter;
            name = g.name;
            compile::compile(std::move(g), target, options, hints, &report);
        } else {
            problem::Problem p = parse_part(file, part, problem::parse_problem);
            name = p.name;
            compile::compile(std::move(p), target, options, hints, &report);
        }
        if (session.json)
            session.say("{}\n", as_json(name, report, target).dump(2));
        else if (!wishes.assembly && wishes.stage.empty())
            session.say("{}", compile::in_short(name, report, target.name) + (wishes.explain ? compile::at_length(report) : ""));
        if (!session.json) print_dumped(session, wishes, options.dump.empty() ? "." : options.dump);
        if (temporary) options.dump.clear();
    }
}

void compile_kernels(const Session& session, const Wishes& wishes, const StageFile& file) {
    const base::Options options = session.options();
    const tile::AtomSet atoms = targets::atoms();
    // Code may be made for machines that this one is not.
    const base::Target target = options.target == "auto" ? runtime::host_target() : base::make_target(options.target);
    for (const std::string& part : file.parts) {
        const tile::Program program = parse_part(file, part, tile::parse_program);
        tile::verify(program, atoms);
        if (wishes.llvm) session.say("{}", codegen::llvm_ir(program, atoms, target));
        if (wishes.assembly) session.say("{}", codegen::assembly(program, atoms, target));
        if (wishes.llvm || wishes.assembly) continue;
        const base::CodeImage image = codegen::compile(program, atoms, target);
        session.say("{}: {} bytes of {} for {}\n", program.name, image.bytes.size(),
                    image.kind == base::CodeKind::x86_elf ? "machine code" : "PTX", target.name);
        if (wishes.explain)
            for (const base::CodeEntry& entry : image.entries) session.say("  {}{}\n", entry.symbol, base::to_string(entry.signature));
    }
}

} // namespace

void add_compile(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("compile", "compile a graph, a problem or a kernel and tell what came of it");
    auto wishes = std::make_shared<Wishes>();
    command->add_option("file", wishes->file, "a text that starts with graph, problem or kernel: written by hand, or dumped")->required();
    command->add_flag("--explain", wishes->explain, "who computes each region and why others don't, and the time of each stage");
    command->add_option("--stage", wishes->stage, "print the text of one stage: graph, passes, fuse, choose, plan or build");
    command->add_flag("--asm", wishes->assembly, "print the assembly of each kernel");
    command->add_flag("--llvm", wishes->llvm, "of kernels: print the LLVM IR");
    command->add_option("--size", wishes->sizes, "name=number: a likely value of a size, a hint for the choice")->expected(1)->take_all();
    command->add_flag("--json", session.json, "the report as JSON");
    add_option_table(*command, session);
    command->callback([&session, wishes] {
        if (!wishes->stage.empty() && std::ranges::find(stages, wishes->stage) == stages.end())
            throw Misuse(fmt::format("--stage: there is no stage '{}'{}", wishes->stage, base::did_you_mean(wishes->stage, stages)));
        const StageFile file = read_stage_file(wishes->file);
        if (file.stage == Stage::kernels) return compile_kernels(session, *wishes, file);
        if (file.stage == Stage::program) throw base::UserError("a host program is already compiled; codetta run runs it", file.path);
        compile_model(session, *wishes, file);
    });
}

} // namespace codetta::cli
