#include "codetta/cli/run_command.h"

#include <cstdlib>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "codetta/base/error.h"

namespace codetta::cli {

namespace {

/// "ids=0..30522"
std::pair<std::string, Range> parse_range(const std::string& text) {
    const size_t equals = text.find('='), dots = text.find("..", equals == std::string::npos ? 0 : equals);
    char *lo_end = nullptr, *hi_end = nullptr;
    if (equals == 0 || equals == std::string::npos || dots == std::string::npos)
        throw Misuse(fmt::format("--range {}: write name=lo..hi, as ids=0..100", text));
    const std::string lo = text.substr(equals + 1, dots - equals - 1), hi = text.substr(dots + 2);
    const Range range{std::strtod(lo.c_str(), &lo_end), std::strtod(hi.c_str(), &hi_end)};
    if (lo.empty() || hi.empty() || *lo_end != '\0' || *hi_end != '\0' || range.hi < range.lo)
        throw Misuse(fmt::format("--range {}: write name=lo..hi, as ids=0..100", text));
    return {text.substr(0, equals), range};
}

struct Texts {
    std::vector<std::string> sizes, ranges;
};

} // namespace

void add_run(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("run", "run a graph, a problem, a kernel or a host program on random data");
    auto wishes = std::make_shared<RunWishes>();
    auto texts = std::make_shared<Texts>();
    command->add_option("file", wishes->file, "a text that starts with graph, problem, kernel or program: written by hand, or dumped")
        ->required();
    command->add_option("--size", texts->sizes, "name=number: the value of a size, or of a kernel's integer")->expected(1)->take_all();
    command->add_option("--range", texts->ranges, "name=lo..hi: the values of an input")->expected(1)->take_all();
    command->add_option("--seed", wishes->seed, "another seed gives other data");
    command->add_option("--repeat", wishes->repeat, "how many calls; the fastest is told")->check(CLI::PositiveNumber);
    command->add_option("--elements", wishes->elements, "of kernels: elements of each buffer")->check(CLI::PositiveNumber);
    command->add_option("--kernels", wishes->kernels, "of host programs: the file with the kernels (default: the _build.txt beside it)");
    command->add_flag("--interpret", wishes->interpret, "by the interpreter instead of compiled code");
    command->add_flag("--compare", wishes->compare, "compiled code against the interpreter in double; fails when it is too far off");
    command->add_flag("--print", wishes->print, "print the results' first elements");
    add_option_table(*command, session);
    command->callback([&session, wishes, texts] {
        for (const std::string& text : texts->sizes)
            wishes->sizes.insert_or_assign(parse_assignment(text, "--size").first, parse_assignment(text, "--size").second);
        for (const std::string& text : texts->ranges) wishes->ranges.insert(parse_range(text));
        const StageFile file = read_stage_file(wishes->file);
        bool good = true;
        switch (file.stage) {
        case Stage::graph: good = run_graph(session, *wishes, file); break;
        case Stage::problems: good = run_problems(session, *wishes, file); break;
        case Stage::kernels: good = run_kernels(session, *wishes, file); break;
        case Stage::program: good = run_program(session, *wishes, file); break;
        }
        if (!good) throw base::UserError("results differ", file.path);
    });
}

} // namespace codetta::cli
