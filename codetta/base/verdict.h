// Verdict: yes, or one sentence why not. Returned by value from everything that may refuse.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace codetta::base {

/// @post bool(Verdict::yes()) and !bool(Verdict::no(...)); reason() is empty exactly for yes
class [[nodiscard]] Verdict {
public:
    static Verdict yes() { return Verdict(); }

    template <class... Args>
    static Verdict no(fmt::format_string<Args...> format, Args&&... args) {
        Verdict verdict;
        verdict.reason_ = fmt::format(format, std::forward<Args>(args)...);
        if (verdict.reason_.empty()) verdict.reason_ = "no reason given";
        return verdict;
    }

    explicit operator bool() const { return reason_.empty(); }
    const std::string& reason() const { return reason_; }

    friend bool operator==(const Verdict&, const Verdict&) = default;

private:
    std::string reason_;
};

} // namespace codetta::base
