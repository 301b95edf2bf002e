// What every command of the program shares: the console and the options of the option table.
#pragma once

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "codetta/base/options.h"
#include "codetta/base/target.h"
#include "codetta/cli/cli.h"

namespace CLI {
class App;
}

namespace codetta::cli {

/// Thrown for a command line that CLI11 takes and we don't; exit code `misused`.
struct Misuse : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Session {
    const Console& console;
    std::map<std::string, std::string> given; ///< options of the table that the command line names; empty: it doesn't
    bool json = false;

    template <class... Args>
    void say(fmt::format_string<Args...> format, Args&&... args) const {
        console.out(fmt::format(format, std::forward<Args>(args)...));
    }
    /// The environment's options, then the command line's. @throws Misuse
    base::Options options() const;
};

/// Adds a flag for each row of the option table: `--log-level info`, and `--freeze` alone for a true|false row.
void add_option_table(CLI::App& command, Session& session);

// Each adds one command; its callback does the work and throws what went wrong.
void add_compile(CLI::App& app, Session& session);
void add_run(CLI::App& app, Session& session);
void add_doctor(CLI::App& app, Session& session);
void add_ops(CLI::App& app, Session& session);
void add_options(CLI::App& app, Session& session);

/// "s0=5" as a name and a number. @throws Misuse
std::pair<std::string, int64_t> parse_assignment(const std::string& text, std::string_view flag);

} // namespace codetta::cli
