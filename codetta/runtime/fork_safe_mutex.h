// A mutex that fork() leaves usable in the child: it is never held across a fork by a thread that the child lacks.
#pragma once

#include <mutex>

namespace codetta::runtime {

/// Before a fork every live ForkSafeMutex is locked, after it unlocked again in parent and child. Therefore: never lock one while holding
/// another, never make or destroy one while holding one, and never fork while holding one.
class ForkSafeMutex {
public:
    ForkSafeMutex();
    ~ForkSafeMutex();
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }
    bool try_lock() { return mutex_.try_lock(); }

private:
    std::mutex mutex_;
};

/// Grows by one in the child of every fork.
unsigned fork_generation();

} // namespace codetta::runtime
