#include "codetta/runtime/context.h"

#include <utility>

namespace codetta::runtime {

Context::Context(const ContextOptions& options) : threads_(0), perf_map_(options.perf_map) { set_threads(options.threads); }

std::shared_ptr<Context> Context::shared() {
    // Never destroyed: worker threads may outlive the order in which a process tears down.
    static auto* const instance = new std::shared_ptr<Context>(std::make_shared<Context>());
    return *instance;
}

void Context::set_threads(int threads) { threads_.store(threads > 0 ? threads : usable_cores(), std::memory_order_relaxed); }

std::shared_ptr<Memory> Context::find_prepared(const std::string& key) {
    std::lock_guard lock(mutex_);
    const auto found = prepared_.find(key);
    return found == prepared_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<Memory> Context::share_prepared(const std::string& key, std::shared_ptr<Memory> memory) {
    std::lock_guard lock(mutex_);
    std::erase_if(prepared_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Memory>& entry = prepared_[key];
    if (std::shared_ptr<Memory> theirs = entry.lock()) return theirs;
    entry = memory;
    return memory;
}

size_t Context::prepared_bytes() {
    std::lock_guard lock(mutex_);
    size_t bytes = 0;
    for (const auto& [key, entry] : prepared_)
        if (const std::shared_ptr<Memory> memory = entry.lock()) bytes += memory->bytes();
    return bytes;
}

} // namespace codetta::runtime
