#include "codetta/compile/report_text.h"

#include <fmt/format.h>

namespace codetta::compile {

std::string in_short(const std::string& name, const Report& r, const std::string& target) {
    double total = 0;
    for (const StageTime& s : r.stages) total += s.time_ms;
    const auto count = [](size_t n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
    return fmt::format("{}: {}{}, {}, {} on the reference kernel; {:.0f} ms for {}\n", name, r.nodes ? count(r.nodes, "op") + ", " : "",
                       count(r.regions, "region"), count(r.kernels, "kernel"), r.on_reference, total, target);
}

std::string at_length(const Report& r) {
    std::string text;
    for (const RegionReport& region : r.region_reports) {
        text += fmt::format("region {}: {} {}{}{}\n", region.name, region.provider, region.template_name,
                            region.variants > 1 ? fmt::format(", {} variants by size", region.variants) : "",
                            region.ops.empty() ? "" : "; " + region.ops);
        for (const std::string& k : region.kernels) text += fmt::format("  kernel {}\n", k);
        for (const std::string& reason : region.not_taken) text += fmt::format("  not {}\n", reason);
        for (const std::string& reason : region.not_fused) text += fmt::format("  {}\n", reason);
    }
    for (const StageTime& s : r.stages) text += fmt::format("stage {:<7} {:8.2f} ms\n", s.stage, s.time_ms);
    return text;
}

} // namespace codetta::compile
