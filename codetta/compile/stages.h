// The borders between stages: each is timed, and dumped when the user asked, here and nowhere else.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "codetta/base/error.h"
#include "codetta/base/options.h"
#include "codetta/compile/compile.h"

namespace codetta::compile {

class Stages {
public:
    Stages(const base::Options& options, const std::string& name, Report* report);
    // Runs one stage and writes print(result) to <dump>/<name>.<number>_<stage>.txt.
    template <class Result>
    Result run(std::string_view stage, const std::function<Result()>& body, const std::function<std::string(const Result&)>& print) {
        const auto start = std::chrono::steady_clock::now();
        try {
            Result result = body();
            finish(stage, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count(),
                   dumping() ? print(result) : std::string());
            return result;
        } catch (const base::InternalError& e) {
            throw base::InternalError(e.message(), where(stage, e.place()), e.remedy());
        }
    }
    bool dumping() const { return !folder_.empty(); }
    void write(std::string_view file, const std::string& text) const;

private:
    void finish(std::string_view stage, double time_ms, const std::string& text);
    std::string where(std::string_view stage, const std::string& place) const;

    std::string folder_, name_;
    int number_ = 0;
    Report* report_;
};

} // namespace codetta::compile
