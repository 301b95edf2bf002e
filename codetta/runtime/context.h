// Context: what executables share: the thread pool, memory for temporaries, packed weights.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codetta/runtime/fork_safe_mutex.h"
#include "codetta/runtime/memory.h"
#include "codetta/runtime/thread_pool.h"

namespace codetta::runtime {

struct ContextOptions {
    int threads = 0; ///< threads of one call; 0 = usable_cores()
    bool perf_map = false;
};

class Context {
public:
    explicit Context(const ContextOptions& options = {});

    /// The one that the whole process uses unless somebody makes an own one; lives until the process ends.
    static std::shared_ptr<Context> shared();

    ThreadPool& pool() { return pool_; }
    ArenaPool& arenas() { return arenas_; }
    int threads() const { return threads_.load(std::memory_order_relaxed); }
    void set_threads(int threads); ///< for later calls; 0 = usable_cores()
    bool perf_map() const { return perf_map_; }

    /// The memory that was prepared under `key`, if some executable still holds it; else null.
    std::shared_ptr<Memory> find_prepared(const std::string& key);
    /// Remembers `memory` weakly. When somebody else was quicker, returns theirs.
    std::shared_ptr<Memory> share_prepared(const std::string& key, std::shared_ptr<Memory> memory);
    /// Bytes of all prepared memory that some executable still holds.
    size_t prepared_bytes();
    /// Grows when the user says that weights were changed in place; prepared memory of an older generation is out of date.
    uint64_t prepared_generation() const { return prepared_generation_.load(std::memory_order_acquire); }
    void refresh_prepared() { prepared_generation_.fetch_add(1, std::memory_order_acq_rel); }

private:
    ThreadPool pool_;
    ArenaPool arenas_;
    std::atomic<int> threads_;
    bool perf_map_;
    std::atomic<uint64_t> prepared_generation_ = 0;
    ForkSafeMutex mutex_;
    std::map<std::string, std::weak_ptr<Memory>> prepared_;
};

} // namespace codetta::runtime
