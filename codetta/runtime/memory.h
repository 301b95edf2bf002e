// Blocks of host memory, and a pool that lends arenas to calls.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "codetta/runtime/fork_safe_mutex.h"

namespace codetta::runtime {

constexpr size_t memory_alignment_bytes = 64;

/// An owned block, 64-byte aligned, not initialised.
class Memory {
public:
    Memory() = default;
    /// @throws UserError "no memory: ..." when the system has none; `purpose` completes "... bytes for <purpose>"
    Memory(size_t bytes, const char* purpose);
    Memory(Memory&&) noexcept;
    Memory& operator=(Memory&&) noexcept;
    ~Memory();

    std::byte* data() const { return data_; }
    size_t bytes() const { return bytes_; }

private:
    std::byte* data_ = nullptr;
    size_t bytes_ = 0;
};

/// Lends blocks and keeps a few that came back, so that a warm call allocates nothing. Safe from many threads.
class ArenaPool {
public:
    static constexpr size_t most_kept = 8;

    ArenaPool();
    /// A block of at least `bytes`: the smallest kept one that fits, else a new one.
    Memory take(size_t bytes);
    void give_back(Memory&& memory);
    size_t kept() const;

private:
    mutable ForkSafeMutex mutex_;
    std::vector<Memory> kept_; // room for most_kept is reserved
};

} // namespace codetta::runtime
