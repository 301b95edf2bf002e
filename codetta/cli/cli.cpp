#include "codetta/cli/cli.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "codetta/base/error.h"
#include "codetta/base/log.h"
#include "codetta/base/nearest_name.h"
#include "codetta/cli/session.h"

namespace codetta::cli {

base::Options Session::options() const {
    try {
        base::Options options = base::apply_environment();
        for (const auto& [name, value] : given)
            if (!value.empty()) base::set_option(options, name, value);
        base::set_log_level(base::parse_log_level(options.log_level));
        return options;
    } catch (const base::UserError& e) {
        throw Misuse(e.what());
    }
}

void add_option_table(CLI::App& command, Session& session) {
    for (const base::OptionRow& row : base::option_table()) {
        const std::string flag = base::option_flag(row.name);
        const std::string text = fmt::format("{} ({}; also {})", row.sentence, row.values, base::option_variable(row.name));
        std::string& value = session.given[std::string(row.name)];
        CLI::Option* option = row.values == "true|false" ? command.add_flag(flag, value, text) : command.add_option(flag, value, text);
        option->group("Options of the compiler");
    }
}

std::pair<std::string, int64_t> parse_assignment(const std::string& text, std::string_view flag) {
    const size_t equals = text.find('=');
    int64_t value = 0;
    const char* begin = text.data() + (equals == std::string::npos ? text.size() : equals + 1);
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (equals == 0 || error != std::errc() || end != text.data() + text.size())
        throw Misuse(fmt::format("{} {}: write name=number, as s0=5", flag, text));
    return {text.substr(0, equals), value};
}

namespace {

/// CLI11 would call an unknown command an unexpected argument.
void check_command(const CLI::App& app, const std::vector<std::string>& arguments) {
    if (arguments.empty() || arguments[0].starts_with('-')) return;
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(command->get_name());
    if (std::ranges::find(names, arguments[0]) != names.end()) return;
    const std::vector<std::string_view> known(names.begin(), names.end());
    throw Misuse(fmt::format("there is no command '{}'{}", arguments[0], base::did_you_mean(arguments[0], known)));
}

/// "there is no flag '--targt'; did you mean '--target'?", or what else was too much.
std::string describe_extras(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    const CLI::App& command = chosen.empty() ? app : *chosen[0];
    std::vector<std::string> extras = command.remaining();
    const auto flag = std::ranges::find_if(extras, [](const std::string& word) { return word.starts_with('-'); });
    if (flag == extras.end()) return fmt::format("there is nothing to do with '{}'", extras.empty() ? "" : extras[0]);
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string given = flag->substr(0, flag->find('='));
    return fmt::format("there is no flag '{}'{}", given, base::did_you_mean(given, known));
}

} // namespace

int run(const std::vector<std::string>& arguments, const Console& console) {
    const auto complain = [&](std::string_view text) {
        console.err(console.color ? fmt::format("\x1b[31;1mcodetta:\x1b[0m {}\n", text) : fmt::format("codetta: {}\n", text));
    };
    Session session{console, {}, false};
    CLI::App app("Codetta: compiles models to fast machine code; this program shows and runs every stage.", "codetta");
    app.set_version_flag("--version", std::string(version));
    app.require_subcommand(0, 1);
    try {
        add_compile(app, session);
        add_run(app, session);
        add_doctor(app, session);
        add_ops(app, session);
        add_options(app, session);
        check_command(app, arguments);
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend())); // CLI11 takes words from the back
        if (app.get_subcommands().empty()) console.out(app.help());
        return fine;
    } catch (const CLI::CallForHelp&) {
        const auto chosen = app.get_subcommands();
        console.out(chosen.empty() ? app.help() : chosen[0]->help());
        return fine;
    } catch (const CLI::Success& e) {
        console.out(std::string(e.what()) + "\n");
        return fine;
    } catch (const CLI::ExtrasError&) {
        complain(describe_extras(app));
        console.err("Run with --help for more information.\n");
        return misused;
    } catch (const CLI::ParseError& e) {
        complain(e.what());
        console.err("Run with --help for more information.\n");
        return misused;
    } catch (const Misuse& e) {
        complain(e.what());
        return misused;
    } catch (const base::InternalError& e) {
        complain(fmt::format("internal error (a bug in Codetta): {}", e.what()));
        return wrong;
    } catch (const std::exception& e) {
        complain(e.what());
        return wrong;
    }
}

} // namespace codetta::cli
