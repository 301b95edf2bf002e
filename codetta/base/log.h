// Codetta's log: one logger named "codetta" on stderr. The level comes from the option `log_level` (CODETTA_LOG_LEVEL).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace codetta::base {

enum class LogLevel { trace, debug, info, warning, error, off };

/// Messages below `level` are dropped from now on.
void set_log_level(LogLevel level);
LogLevel log_level();

/// @throws UserError naming the nearest level when `name` is none
LogLevel parse_log_level(std::string_view name);

void log_message(LogLevel level, const std::string& message);

template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
    if (log_level() <= LogLevel::debug) log_message(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
    if (log_level() <= LogLevel::info) log_message(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
    if (log_level() <= LogLevel::warning) log_message(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
    if (log_level() <= LogLevel::error) log_message(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
}

/// Logs `message` as a warning (or at `level`) the first time that `key` is seen in this process.
/// @post returns true exactly when it logged or would have logged, i.e. the first time
bool log_once(std::string_view key, const std::string& message, LogLevel level = LogLevel::warning);

template <class... Args>
bool warn_once(std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
    return log_once(key, fmt::format(format, std::forward<Args>(args)...), LogLevel::warning);
}

} // namespace codetta::base
