#include "codetta/base/log.h"

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <mutex>
#include <set>

namespace codetta::base {

namespace {

constexpr std::array<std::string_view, 6> level_names = {"trace", "debug", "info", "warning", "error", "off"};

spdlog::level::level_enum to_spdlog(LogLevel level) {
    switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: return spdlog::level::off;
    }
    return spdlog::level::off;
}

// Not in spdlog's registry: two copies of Codetta in one process (the runtime and the compiler) must not fight over the name.
// Never destroyed: a message may be logged while the process ends.
spdlog::logger& logger() {
    static spdlog::logger* const instance = [] {
        auto* made = new spdlog::logger("codetta", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
        made->set_pattern("[%n] %^%l%$: %v");
        made->set_level(spdlog::level::warn);
        return made;
    }();
    return *instance;
}

} // namespace

void set_log_level(LogLevel level) { logger().set_level(to_spdlog(level)); }

LogLevel log_level() {
    const spdlog::level::level_enum current = logger().level();
    for (int i = 0; i < static_cast<int>(level_names.size()); i++)
        if (to_spdlog(static_cast<LogLevel>(i)) == current) return static_cast<LogLevel>(i);
    return LogLevel::off;
}

LogLevel parse_log_level(std::string_view name) {
    for (size_t i = 0; i < level_names.size(); i++)
        if (level_names[i] == name) return static_cast<LogLevel>(i);
    throw UserError(fmt::format("unknown log level '{}'{}", name, did_you_mean(name, level_names)));
}

void log_message(LogLevel level, const std::string& message) { logger().log(to_spdlog(level), message); }

bool log_once(std::string_view key, const std::string& message, LogLevel level) {
    static std::mutex* const mutex = new std::mutex;
    static auto* const seen = new std::set<std::string, std::less<>>;
    {
        std::lock_guard lock(*mutex);
        if (seen->contains(key)) return false;
        seen->emplace(key);
    }
    log_message(level, message);
    return true;
}

} // namespace codetta::base
