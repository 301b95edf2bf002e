#include "codetta/base/options.h"

#include "codetta/base/error.h"
#include "codetta/base/log.h"
#include "codetta/base/nearest_name.h"
#include "codetta/base/target.h"

#include <array>
#include <charconv>
#include <cstdlib>

namespace codetta::base {

namespace {

constexpr std::array<std::string_view, 4> mode_names = {"default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"};
constexpr std::array<std::string_view, 2> numerics_names = {"contract", "eager"};
constexpr std::array<std::string_view, 2> fallback_names = {"allow", "error"};
constexpr std::array<std::string_view, 2> bool_names = {"false", "true"};
constexpr int most_threads = 4096;

[[noreturn]] void throw_unknown_value(std::string_view value, std::span<const std::string_view> names) {
    throw UserError(fmt::format("unknown value '{}'{}", value, did_you_mean(value, names)));
}

size_t parse_choice(std::string_view value, std::span<const std::string_view> names) {
    for (size_t i = 0; i < names.size(); i++)
        if (names[i] == value) return i;
    throw_unknown_value(value, names);
}

/// Python's and the shell's spellings are all welcome.
bool parse_bool(std::string_view value) {
    if (value == "true" || value == "True" || value == "1" || value == "on" || value == "yes") return true;
    if (value == "false" || value == "False" || value == "0" || value == "off" || value == "no") return false;
    throw_unknown_value(value, bool_names);
}

int parse_threads(std::string_view value) {
    int threads = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), threads);
    if (error != std::errc() || end != value.data() + value.size() || threads < 0 || threads > most_threads)
        throw UserError(fmt::format("unknown value '{}'; give a number from 0 to {}", value, most_threads));
    return threads;
}

std::string parse_target(std::string_view value) {
    std::vector<std::string_view> names = {"auto"};
    names.insert(names.end(), known_targets().begin(), known_targets().end());
    return std::string(names[parse_choice(value, names)]);
}

std::string print_bool(bool value) { return value ? "true" : "false"; }

constexpr OptionRow rows[] = {
    {"mode", "default|reduce-overhead|max-autotune|max-autotune-no-cudagraphs",
     "Inductor's mode names; until there is a tuner, max-autotune does what default does. No mode implies freeze.",
     [](Options& o, std::string_view v) { o.mode = static_cast<Mode>(parse_choice(v, mode_names)); },
     [](const Options& o) { return std::string(mode_names[static_cast<size_t>(o.mode)]); }},
    {"freeze", "true|false", "Treat parameters and buffers as constants: weights are packed once; call refresh() after changing them.",
     [](Options& o, std::string_view v) { o.freeze = parse_bool(v); }, [](const Options& o) { return print_bool(o.freeze); }},
    {"numerics", "contract|eager", "contract: at least as exact as eager; eager: reproduce eager's rounding between ops.",
     [](Options& o, std::string_view v) { o.numerics = static_cast<Numerics>(parse_choice(v, numerics_names)); },
     [](const Options& o) { return std::string(numerics_names[static_cast<size_t>(o.numerics)]); }},
    {"fallback", "allow|error", "allow: run what cannot be compiled in eager, visibly; error: refuse it when compiling.",
     [](Options& o, std::string_view v) { o.fallback = static_cast<Fallback>(parse_choice(v, fallback_names)); },
     [](const Options& o) { return std::string(fallback_names[static_cast<size_t>(o.fallback)]); }},
    {"target", "auto|name", "The machine to make code for: auto (this one), x86_avx2, x86_avx512, x86_amx or sm90.",
     [](Options& o, std::string_view v) { o.target = parse_target(v); }, [](const Options& o) { return o.target; }},
    {"threads", "number", "Threads of one call; 0 = torch's number, or one per core that the process may use.",
     [](Options& o, std::string_view v) { o.threads = parse_threads(v); }, [](const Options& o) { return std::to_string(o.threads); }},
    {"dump", "folder", "Write the text of every stage of each compilation into this folder; each file can be fed back.",
     [](Options& o, std::string_view v) { o.dump = v; }, [](const Options& o) { return o.dump; }},
    {"log_level", "trace|debug|info|warning|error|off", "What Codetta says on stderr.",
     [](Options& o, std::string_view v) {
         (void)parse_log_level(v);
         o.log_level = v;
     },
     [](const Options& o) { return o.log_level; }},
    {"verify", "true|false", "Run the verifier at every stage border and the interpreter beside the first call of each kernel.",
     [](Options& o, std::string_view v) { o.verify = parse_bool(v); }, [](const Options& o) { return print_bool(o.verify); }},
    {"perf_map", "true|false", "Append the names of generated kernels to /tmp/perf-<pid>.map, so that perf can show them.",
     [](Options& o, std::string_view v) { o.perf_map = parse_bool(v); }, [](const Options& o) { return print_bool(o.perf_map); }},
    {"interpreter", "true|false", "Run graphs in the interpreter instead of compiled code: very slow, for finding faults.",
     [](Options& o, std::string_view v) { o.interpreter = parse_bool(v); }, [](const Options& o) { return print_bool(o.interpreter); }},
};

} // namespace

std::span<const OptionRow> option_table() { return rows; }

void set_option(Options& options, std::string_view name, std::string_view value) {
    std::vector<std::string_view> names;
    for (const OptionRow& row : rows) {
        names.push_back(row.name);
        if (row.name != name) continue;
        try {
            row.set(options, value);
        } catch (const UserError& error) {
            throw UserError(error.message(), fmt::format("option '{}'", name));
        }
        return;
    }
    throw UserError(fmt::format("unknown option '{}'{}", name, did_you_mean(name, names)));
}

Options apply_options(Options options, std::span<const std::pair<std::string, std::string>> pairs) {
    for (const auto& [name, value] : pairs) set_option(options, name, value);
    return options;
}

Options apply_environment(Options options) {
    for (const OptionRow& row : rows) {
        const std::string variable = option_variable(row.name);
        const char* value = std::getenv(variable.c_str());
        if (value == nullptr || *value == '\0') continue;
        try {
            row.set(options, value);
        } catch (const UserError& error) {
            throw UserError(error.message(), fmt::format("environment variable {}", variable));
        }
    }
    return options;
}

std::string option_flag(std::string_view name) {
    std::string flag = "--";
    for (char c : name) flag += c == '_' ? '-' : c;
    return flag;
}

std::string option_variable(std::string_view name) {
    std::string variable = "CODETTA_";
    for (char c : name) variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return variable;
}

std::string to_string(const Options& options) {
    std::string text;
    for (const OptionRow& row : rows) text += fmt::format("{} = {}\n", row.name, row.get(options));
    return text;
}

std::string print_options_table() {
    std::string text = "| option | flag | variable | values | default | what it does |\n|---|---|---|---|---|---|\n";
    const Options defaults;
    for (const OptionRow& row : rows) {
        std::string values;
        for (char c : row.values) values += c == '|' ? std::string("\\|") : std::string(1, c);
        text += fmt::format("| `{}` | `{}` | `{}` | {} | {} | {} |\n", row.name, option_flag(row.name), option_variable(row.name), values,
                            row.get(defaults).empty() ? "(none)" : row.get(defaults), row.sentence);
    }
    return text;
}

} // namespace codetta::base
