// Hashes that are the same in every process and on every machine (xxh3), so that names and files may hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace codetta::base {

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = 0);
uint64_t hash_string(std::string_view text, uint64_t seed = 0);

/// Mixes two hashes; the order of the arguments matters.
uint64_t hash_combine(uint64_t a, uint64_t b);

/// The lowest `digits` (1..16) hexadecimal digits of a hash, for generated names.
std::string hash_digits(uint64_t hash, int digits = 6);

} // namespace codetta::base
