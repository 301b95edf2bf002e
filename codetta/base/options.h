// The one table of options. A row's name is the torch.compile(options=...) key; `log_level` is also `--log-level` and CODETTA_LOG_LEVEL.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace codetta::base {

enum class Mode { default_mode, reduce_overhead, max_autotune, max_autotune_no_cudagraphs };
enum class Numerics { contract, eager };
enum class Fallback { allow, error };

struct Options {
    Mode mode = Mode::default_mode;
    bool freeze = false;
    Numerics numerics = Numerics::contract;
    Fallback fallback = Fallback::allow;
    std::string target = "auto";
    int threads = 0;
    std::string dump;
    std::string log_level = "warning";
    bool verify = false;
    bool perf_map = false;
    bool interpreter = false;

    friend bool operator==(const Options&, const Options&) = default;
};

struct OptionRow {
    std::string_view name;
    std::string_view values;   ///< "true|false", "a|b|c", "name", "number", "folder"
    std::string_view sentence; ///< what it does
    void (*set)(Options& options, std::string_view value);
    std::string (*get)(const Options& options);
};

std::span<const OptionRow> option_table();

/// Sets one option from text.
/// @throws UserError: "unknown option 'x'; did you mean 'y'?" or "option 'x': unknown value 'v'; did you mean 'w'?"
void set_option(Options& options, std::string_view name, std::string_view value);

/// `options` with every pair set, in order.
Options apply_options(Options options, std::span<const std::pair<std::string, std::string>> pairs);

/// `options` with every CODETTA_<NAME> that the environment holds set; other variables are ignored.
/// @throws UserError naming the variable when a value is bad
Options apply_environment(Options options = {});

/// "log_level" -> "--log-level"
std::string option_flag(std::string_view name);
/// "log_level" -> "CODETTA_LOG_LEVEL"
std::string option_variable(std::string_view name);

/// One `name = value` a line, in table order; what a dump or a bug report shows.
std::string to_string(const Options& options);

/// The rows of docs/options.md.
std::string print_options_table();

} // namespace codetta::base
