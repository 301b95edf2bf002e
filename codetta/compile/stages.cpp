#include "codetta/compile/stages.h"

#include <filesystem>

#include <fmt/format.h>

#include "codetta/base/atomic_file.h"
#include "codetta/base/log.h"

namespace codetta::compile {

Stages::Stages(const base::Options& options, const std::string& name, Report* report)
    : folder_(options.dump), name_(name), report_(report) {}

void Stages::write(std::string_view file, const std::string& text) const {
    base::write_file_atomically(std::filesystem::path(folder_) / fmt::format("{}.{}", name_, file), text);
}

void Stages::finish(std::string_view stage, double time_ms, const std::string& text) {
    base::log_debug("{}: {} took {:.1f} ms", name_, stage, time_ms);
    if (report_) report_->stages.push_back({std::string(stage), time_ms});
    if (dumping()) write(fmt::format("{}_{}.txt", number_, stage), text);
    ++number_;
}

std::string Stages::where(std::string_view stage, const std::string& place) const {
    std::string at = fmt::format("stage {} of {}", stage, name_);
    if (!place.empty()) at += ", " + place;
    if (dumping()) at += ", earlier stages in " + folder_;
    return at;
}

} // namespace codetta::compile
