// A fork/join pool for short parallel loops.
//
// The caller works too, and never waits for a worker that has not started: a worker kept off its core by another process costs nothing but
// its help. When helpers cost more waiting than they save, they are left out for a while (stall_watch.h). Both sides spin for a bounded
// time and then sleep in the kernel. Chunks are handed out dynamically, large ones first.
#pragma once

#include <atomic>
#include <cstdint>

namespace codetta::runtime {

/// The cores that this process may use: its affinity mask, and its cgroup's quota rounded up.
int usable_cores();

class ThreadPool {
public:
    /// Runs tasks [begin, end) on a thread; `thread` is below the `threads` of the run, and no two threads of a run share it at a time.
    /// Throws nothing.
    using Work = void (*)(void* context, int64_t begin, int64_t end, int thread);

    static constexpr int most_threads = 1024; ///< of one run; more are not used

    ThreadPool();
    ~ThreadPool(); ///< no run may be in progress
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    /// Runs each of the tasks 0 .. tasks-1 once, in chunks of at least `grain` (but for the last), on at most `threads` threads including
    /// the caller's; returns when all are done and their writes are visible. Workers have the caller's floating-point environment
    /// (rounding, flush to zero) meanwhile. Safe from many threads at once. From inside a task it runs all tasks on the calling thread.
    /// Tasks must not wait for each other: there may be one thread only. Usable after fork().
    void run(int64_t tasks, int64_t grain, int threads, Work work, void* context);

    /// How many worker threads exist now (they are started when first needed, and kept).
    int workers() const;

    struct State;

private:
    State& state();
    std::atomic<State*> state_;
};

} // namespace codetta::runtime
