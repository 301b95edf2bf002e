// Places buffers with known lifetimes in one block of memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace codetta::runtime {

struct BufferLife {
    int64_t bytes = 0;
    uint32_t first = 0, last = 0; ///< steps, inclusive
};

struct ArenaLayout {
    std::vector<int64_t> offsets;
    int64_t bytes = 0;
};

/// @post buffers whose lives share a step do not overlap; every offset is a multiple of 64; all ends are <= bytes; deterministic
ArenaLayout lay_out_arena(std::span<const BufferLife> buffers);

} // namespace codetta::runtime
