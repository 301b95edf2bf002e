#include "codetta/base/hash.h"

#include "codetta/base/error.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace codetta::base {

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed) { return XXH3_64bits_withSeed(data, size, seed); }

uint64_t hash_string(std::string_view text, uint64_t seed) { return hash_bytes(text.data(), text.size(), seed); }

uint64_t hash_combine(uint64_t a, uint64_t b) {
    const uint64_t pair[2] = {a, b};
    return hash_bytes(pair, sizeof pair);
}

std::string hash_digits(uint64_t hash, int digits) {
    CODETTA_CHECK(digits >= 1 && digits <= 16, "a hash has 1 to 16 digits, not {}", digits);
    return fmt::format("{:016x}", hash).substr(16 - static_cast<size_t>(digits));
}

} // namespace codetta::base
