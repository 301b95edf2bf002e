// Finds what a user may have meant: the known name with the smallest edit distance.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace codetta::base {

/// The number of single-character insertions, removals, replacements and swaps of neighbours that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name` (the first of equals), or an empty view when none is near enough to be a likely slip.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// The tail of an error message: "; did you mean 'x'?" or "; known are 'x', 'y'".
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

} // namespace codetta::base
