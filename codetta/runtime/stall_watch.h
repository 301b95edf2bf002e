// Decides whether helpers are worth waiting for.
//
// On an overloaded machine the system may take a helper's core away in the middle of a chunk, and the caller then waits for the helper's
// next turn, often longer than the work would have taken alone. The watch weighs the time that callers stalled against the time they
// worked: with n threads, working alone is quicker when stalled > (n - 1) * worked. Then helpers are left out for a while, longer each time
// in a row, and tried again. One busy core among many never gets there.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace codetta::runtime {

/// Safe from many threads; approximate under contention, which changes nothing but times.
class StallWatch {
public:
    using Clock = std::chrono::steady_clock;
    using Duration = std::chrono::nanoseconds;

    static constexpr Duration least_stall = std::chrono::milliseconds(1); ///< less is no evidence
    static constexpr Duration window = std::chrono::milliseconds(20);     ///< of time in runs; older evidence fades
    static constexpr Duration first_pause = std::chrono::milliseconds(5);
    static constexpr Duration longest_pause = std::chrono::milliseconds(160);

    bool helpers_pay(Clock::time_point now) const {
        return now.time_since_epoch().count() >= paused_until_.load(std::memory_order_relaxed);
    }

    /// Tells of one run that ended at `now`.
    void record(int threads, Duration worked, Duration stalled, Clock::time_point now);

private:
    std::atomic<int64_t> worked_ns_ = 0, stalled_ns_ = 0;
    std::atomic<int64_t> pause_ns_ = Duration(first_pause).count(); ///< the next one
    std::atomic<int64_t> paused_until_ = INT64_MIN;
};

} // namespace codetta::runtime
