#include "codetta/problem/region.h"

#include <algorithm>

#include <fmt/format.h>

namespace codetta::problem {

std::string summary(const std::vector<Origin>& origins) {
    constexpr size_t most_named = 4;
    std::vector<std::string> names;
    std::string location;
    for (const bool views : {false, true}) {
        for (const Origin& o : origins) {
            if (o.moves_only != views) continue;
            if (location.empty()) location = o.location;
            if (std::find(names.begin(), names.end(), o.op) == names.end()) names.push_back(o.op);
        }
        if (!names.empty()) break;
    }
    std::string text;
    for (size_t i = 0; i < std::min(names.size(), most_named); ++i) text += (i ? "+" : "") + names[i];
    if (names.size() > most_named) text += fmt::format("+{} more", names.size() - most_named);
    return text + (location.empty() ? "" : " ") + location;
}

} // namespace codetta::problem
