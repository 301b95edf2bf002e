#include "codetta/runtime/fork_safe_mutex.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace codetta::runtime {

namespace {

/// Every live ForkSafeMutex, and the count of forks. Never destroyed: other threads may fork while the process ends.
struct Registry {
    std::mutex mutex;
    std::vector<ForkSafeMutex*> live;
    std::atomic<unsigned> generation = 0;
};

Registry& registry();

void lock_all() {
    registry().mutex.lock();
    for (ForkSafeMutex* mutex : registry().live) mutex->lock();
}

void unlock_all() {
    for (ForkSafeMutex* mutex : registry().live) mutex->unlock();
    registry().mutex.unlock();
}

void unlock_all_in_child() {
    registry().generation.fetch_add(1, std::memory_order_relaxed);
    unlock_all();
}

Registry& registry() {
    static Registry* const instance = [] {
        auto* made = new Registry;
        pthread_atfork(lock_all, unlock_all, unlock_all_in_child);
        return made;
    }();
    return *instance;
}

} // namespace

ForkSafeMutex::ForkSafeMutex() {
    std::lock_guard lock(registry().mutex);
    registry().live.push_back(this);
}

ForkSafeMutex::~ForkSafeMutex() {
    std::lock_guard lock(registry().mutex);
    std::erase(registry().live, this);
}

unsigned fork_generation() { return registry().generation.load(std::memory_order_relaxed); }

} // namespace codetta::runtime
