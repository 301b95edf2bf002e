// Files that are either whole or absent: written beside, flushed, renamed; and read back with a size cap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace codetta::base {

/// Writes `content` to `path` so that a reader (or a crash) sees the old file or the new one, never a part. Parent folders are made.
/// @throws UserError naming `path` and the cause (no space, no permission, ...); no temporary file is left behind
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

constexpr size_t default_file_cap_bytes = size_t(1) << 30;

/// The whole content of a regular file.
/// @throws UserError naming `path` when it is missing, no regular file, unreadable or larger than `cap_bytes`
std::string read_file(const std::filesystem::path& path, size_t cap_bytes = default_file_cap_bytes);

} // namespace codetta::base
