#include "codetta/base/nearest_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace codetta::base {

int edit_distance(std::string_view a, std::string_view b) {
    const size_t columns = b.size() + 1;
    std::vector<int> before(columns), above(columns), row(columns);
    for (size_t j = 0; j < columns; j++) above[j] = static_cast<int>(j);
    for (size_t i = 1; i <= a.size(); i++) {
        row[0] = static_cast<int>(i);
        for (size_t j = 1; j < columns; j++) {
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(above);
        above.swap(row);
    }
    return above[b.size()];
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
    std::string_view best;
    int best_distance = std::max(2, static_cast<int>(name.size()) / 3) + 1;
    for (std::string_view candidate : candidates) {
        const int distance = edit_distance(name, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
    if (const std::string_view nearest = nearest_name(name, candidates); !nearest.empty())
        return fmt::format("; did you mean '{}'?", nearest);
    std::string known;
    for (std::string_view candidate : candidates) known += fmt::format("{}'{}'", known.empty() ? "" : ", ", candidate);
    return fmt::format("; known are {}", known);
}

} // namespace codetta::base
