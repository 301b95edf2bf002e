#include "codetta/runtime/thread_pool.h"

#include "codetta/base/log.h"
#include "codetta/runtime/fork_safe_mutex.h"
#include "codetta/runtime/stall_watch.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace codetta::runtime {

namespace {

using Clock = std::chrono::steady_clock;

// Long enough to bridge the gap between the launches of a call and between two calls in a row; a sleeping worker needs some 50 us to come.
constexpr auto worker_spin = std::chrono::microseconds(200);
// Longer than the imbalance of a last chunk; then the core is given up, so that the system can move a preempted worker onto it.
constexpr auto join_spin = std::chrono::microseconds(50);
// A worker offers its core to others this often, between two jobs: whoever waits for it goes on then, and not in the middle of a chunk
// that a caller waits for. Well below the system's time slices.
constexpr auto yield_interval = std::chrono::microseconds(2000);
constexpr int pauses_between_clock_reads = 32;
constexpr int slot_count = 8;
constexpr int chunks_per_thread = 4;
constexpr unsigned mxcsr_flags = 0x3f; // sticky exception flags, no part of the environment that is copied

thread_local bool inside_task = false;

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

/// Spins until `done()` or until the time is over; whether it was done.
template <class Done>
bool spin_until(Done done, Clock::duration limit) {
    if (done()) return true;
    const Clock::time_point end = Clock::now() + limit;
    do {
        for (int i = 0; i < pauses_between_clock_reads; i++) {
            _mm_pause();
            if (done()) return true;
        }
    } while (Clock::now() < end);
    return done();
}

/// A job that workers may join. Slots live as long as the pool, so a worker that comes late may look at one at any time.
struct alignas(64) Slot {
    // `state`: bit 0 open, bits 1..15 the most helpers, bits 16..31 how many have joined. Joining is one compare-exchange: it succeeds only
    // while the job is open, and from then on the caller waits for this helper. Everything else in the slot is written before it opens.
    static constexpr uint32_t open_bit = 1;
    static constexpr uint32_t joined_one = 1u << 16;
    static uint32_t open_state(int helpers) { return open_bit | static_cast<uint32_t>(helpers) << 1; }
    static uint32_t joined(uint32_t state) { return state >> 16; }
    static uint32_t most_helpers(uint32_t state) { return (state & 0xffff) >> 1; }

    std::atomic<uint32_t> state = 0;
    std::atomic<bool> taken = false;
    unsigned mxcsr = 0;
    ThreadPool::Work work = nullptr;
    void* context = nullptr;
    int64_t grain = 1;
    int64_t divisor = 1;
    std::atomic<int64_t> tasks = 0;
    std::atomic<int> caller_core = -1;

    alignas(64) std::atomic<int64_t> next = 0;
    alignas(64) std::atomic<uint32_t> finished = 0; // helpers that are through; the caller sleeps on it
    std::atomic<bool> caller_sleeps = false;

    bool has_work() const { return next.load(std::memory_order_relaxed) < tasks.load(std::memory_order_relaxed); }

    void work_until_empty(int thread) {
        const int64_t all = tasks.load(std::memory_order_relaxed);
        int64_t begin = next.load(std::memory_order_relaxed);
        while (begin < all) {
            const int64_t remaining = all - begin;
            const int64_t size = std::min(remaining, std::max(grain, remaining / divisor));
            if (!next.compare_exchange_weak(begin, begin + size, std::memory_order_relaxed)) continue;
            work(context, begin, begin + size, thread);
            begin = next.load(std::memory_order_relaxed);
        }
    }
};

/// The mask of the main thread: one thread that the user pinned must not pin our workers too.
cpu_set_t process_affinity() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (::sched_getaffinity(::getpid(), sizeof mask, &mask) != 0 || CPU_COUNT(&mask) == 0) {
        for (int i = 0; i < std::min<long>(CPU_SETSIZE, std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))); i++) CPU_SET(i, &mask);
    }
    return mask;
}

/// Moves the calling thread off this core, on which somebody works whom it shall help: two on one core are slower than one.
void leave_core(int core) {
    cpu_set_t mask;
    if (::sched_getaffinity(0, sizeof mask, &mask) != 0 || !CPU_ISSET(core, &mask) || CPU_COUNT(&mask) < 2) return;
    cpu_set_t others = mask;
    CPU_CLR(core, &others);
    if (::sched_setaffinity(0, sizeof others, &others) == 0) ::sched_setaffinity(0, sizeof mask, &mask);
}

/// Cores that a container's quota allows, rounded up; INT_MAX without a quota.
int quota_cores() {
    double quota = -1, period = 1;
    if (std::ifstream v2("/sys/fs/cgroup/cpu.max"); v2) {
        std::string first;
        v2 >> first >> period;
        if (first != "max" && !first.empty()) quota = std::strtod(first.c_str(), nullptr);
    } else if (std::ifstream v1("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"); v1) {
        v1 >> quota;
        std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
    }
    if (quota <= 0 || period <= 0) return INT_MAX;
    return std::max(1, static_cast<int>((quota + period - 1) / period));
}

} // namespace

int usable_cores() {
    const cpu_set_t mask = process_affinity();
    return std::clamp(std::min(CPU_COUNT(&mask), quota_cores()), 1, ThreadPool::most_threads);
}

struct ThreadPool::State {
    const unsigned generation = fork_generation();
    std::array<Slot, slot_count> slots;
    alignas(64) std::atomic<uint32_t> epoch = 0; // grows with every job; idle workers watch it, then sleep on it
    std::atomic<int> sleepers = 0;
    std::atomic<bool> wake_pending = false; // somebody was woken and has not run yet: no need for another system call
    std::atomic<bool> stop = false;
    std::atomic<int> worker_count = 0;
    ForkSafeMutex start_mutex; // guards `threads` and `start_failed`
    std::vector<pthread_t> threads;
    bool start_failed = false;
    StallWatch stalls;

    Slot* take_slot() {
        for (Slot& slot : slots)
            if (!slot.taken.load(std::memory_order_relaxed) && !slot.taken.exchange(true, std::memory_order_acquire)) return &slot;
        return nullptr;
    }

    void start_workers(int wanted);
    void wake(int helpers);
    bool help(Slot& slot);
    void worker_loop();
    static void* worker_main(void* state);
    void stop_workers();
};

void* ThreadPool::State::worker_main(void* state) {
    static_cast<State*>(state)->worker_loop();
    return nullptr;
}

void ThreadPool::State::start_workers(int wanted) {
    if (worker_count.load(std::memory_order_relaxed) >= wanted) return;
    std::lock_guard lock(start_mutex);
    if (start_failed) return;
    // Signals are for the user's threads; a Python signal handler must not run on a worker.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const cpu_set_t mask = process_affinity();
    while (static_cast<int>(threads.size()) < wanted) {
        pthread_t thread;
        if (const int error = pthread_create(&thread, nullptr, worker_main, this); error != 0) {
            start_failed = true; // fewer helpers: slower, but right
            base::warn_once("thread_pool.start", "could not start a worker thread (error {}): running on {} threads", error,
                            threads.size() + 1);
            break;
        }
        pthread_setaffinity_np(thread, sizeof mask, &mask);
        pthread_setname_np(thread, "codetta-worker");
        threads.push_back(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    worker_count.store(static_cast<int>(threads.size()), std::memory_order_relaxed);
}

void ThreadPool::State::wake(int helpers) {
    epoch.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0 && !wake_pending.exchange(true, std::memory_order_seq_cst)) futex_wake(epoch, helpers);
}

/// Joins the slot's job if it is open and has a place; whether it did.
bool ThreadPool::State::help(Slot& slot) {
    uint32_t seen = slot.state.load(std::memory_order_acquire);
    if (!(seen & Slot::open_bit) || !slot.has_work()) return false;
    if (const int core = ::sched_getcpu(); core == slot.caller_core.load(std::memory_order_relaxed)) leave_core(core);
    do {
        if (!(seen & Slot::open_bit) || Slot::joined(seen) >= Slot::most_helpers(seen) || !slot.has_work()) return false;
    } while (!slot.state.compare_exchange_weak(seen, seen + Slot::joined_one, std::memory_order_acquire));
    const int thread = static_cast<int>(Slot::joined(seen)) + 1;

    const unsigned before = _mm_getcsr();
    _mm_setcsr(slot.mxcsr);
    slot.work_until_empty(thread);
    _mm_setcsr(before);

    // From the increment on the caller may go and the slot may serve another job; waking a stranger is harmless, the slot itself stays.
    slot.finished.fetch_add(1, std::memory_order_seq_cst);
    if (slot.caller_sleeps.load(std::memory_order_seq_cst)) futex_wake(slot.finished, INT_MAX);
    return true;
}

void ThreadPool::State::worker_loop() {
    inside_task = true;
    Clock::time_point last_yield = Clock::now();
    for (;;) {
        if (const Clock::time_point now = Clock::now(); now - last_yield > yield_interval) {
            ::sched_yield();
            last_yield = Clock::now();
        }
        const uint32_t seen = epoch.load(std::memory_order_seq_cst);
        if (stop.load(std::memory_order_relaxed)) return; // set before the epoch that we have seen, or one more is to come
        bool helped = false;
        for (Slot& slot : slots) helped |= help(slot);
        if (helped) continue;
        if (spin_until([&] { return epoch.load(std::memory_order_relaxed) != seen; }, worker_spin)) continue;
        sleepers.fetch_add(1, std::memory_order_seq_cst);
        wake_pending.store(false, std::memory_order_seq_cst); // a wake-up that found nobody must not silence the next one
        if (epoch.load(std::memory_order_seq_cst) == seen) futex_wait(epoch, seen);
        sleepers.fetch_sub(1, std::memory_order_seq_cst);
        wake_pending.store(false, std::memory_order_seq_cst);
    }
}

void ThreadPool::State::stop_workers() {
    stop.store(true, std::memory_order_relaxed);
    epoch.fetch_add(1, std::memory_order_seq_cst);
    futex_wake(epoch, INT_MAX);
    for (pthread_t thread : threads) pthread_join(thread, nullptr);
}

ThreadPool::ThreadPool() : state_(new State) {}

ThreadPool::~ThreadPool() {
    State* state = state_.load();
    if (state->generation != fork_generation()) return; // the threads are not ours to join: they stayed in the parent
    state->stop_workers();
    delete state;
}

/// The state of this process: after a fork the parent's workers are not here and its jobs are not ours, so the child starts afresh
/// (and leaves the copy of the parent's state alone).
ThreadPool::State& ThreadPool::state() {
    State* state = state_.load(std::memory_order_acquire);
    if (state->generation == fork_generation()) [[likely]]
        return *state;
    auto* fresh = new State;
    if (state_.compare_exchange_strong(state, fresh)) return *fresh;
    delete fresh;
    return *state;
}

int ThreadPool::workers() const { return state_.load()->worker_count.load(std::memory_order_relaxed); }

void ThreadPool::run(int64_t tasks, int64_t grain, int threads, Work work, void* context) {
    if (tasks <= 0) return;
    grain = std::max<int64_t>(1, grain);
    const int helpers = static_cast<int>(std::min<int64_t>(std::min(threads, most_threads), (tasks + grain - 1) / grain)) - 1;
    Slot* slot = nullptr;
    State* state = nullptr;
    Clock::time_point start;
    if (helpers > 0 && !inside_task) {
        state = &this->state();
        start = Clock::now();
        if (state->stalls.helpers_pay(start)) {
            state->start_workers(helpers);
            slot = state->take_slot();
        }
    }
    if (slot == nullptr) {
        const bool was_inside = std::exchange(inside_task, true);
        work(context, 0, tasks, 0);
        inside_task = was_inside;
        return;
    }
    slot->mxcsr = _mm_getcsr() & ~mxcsr_flags;
    slot->work = work;
    slot->context = context;
    slot->grain = grain;
    slot->divisor = static_cast<int64_t>(helpers + 1) * chunks_per_thread;
    slot->tasks.store(tasks, std::memory_order_relaxed);
    slot->caller_core.store(::sched_getcpu(), std::memory_order_relaxed);
    slot->next.store(0, std::memory_order_relaxed);
    slot->finished.store(0, std::memory_order_relaxed);
    slot->state.store(Slot::open_state(helpers), std::memory_order_release);
    state->wake(helpers);

    inside_task = true;
    slot->work_until_empty(0);
    inside_task = false;

    // Nobody joins from here on; those who have joined are in their last chunk.
    const uint32_t joined = Slot::joined(slot->state.exchange(0, std::memory_order_acq_rel));
    const auto all_finished = [&] { return slot->finished.load(std::memory_order_acquire) == joined; };
    const Clock::time_point own_end = Clock::now();
    Clock::time_point end = own_end;
    if (!all_finished()) {
        if (!spin_until(all_finished, join_spin)) {
            slot->caller_sleeps.store(true, std::memory_order_seq_cst);
            for (uint32_t finished; (finished = slot->finished.load(std::memory_order_seq_cst)) != joined;)
                futex_wait(slot->finished, finished);
            slot->caller_sleeps.store(false, std::memory_order_relaxed);
        }
        end = Clock::now();
    }
    state->stalls.record(helpers + 1, own_end - start, end - own_end, end);
    slot->taken.store(false, std::memory_order_release);
}

} // namespace codetta::runtime
