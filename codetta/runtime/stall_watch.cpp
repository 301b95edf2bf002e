#include "codetta/runtime/stall_watch.h"

#include <algorithm>

namespace codetta::runtime {

void StallWatch::record(int threads, Duration worked, Duration stalled, Clock::time_point now) {
    const int64_t all_worked = worked_ns_.fetch_add(worked.count(), std::memory_order_relaxed) + worked.count();
    const int64_t all_stalled = stalled_ns_.fetch_add(stalled.count(), std::memory_order_relaxed) + stalled.count();
    if (all_stalled >= Duration(least_stall).count() && all_stalled > (threads - 1) * all_worked) {
        const int64_t pause = pause_ns_.load(std::memory_order_relaxed);
        paused_until_.store((now + Duration(pause)).time_since_epoch().count(), std::memory_order_relaxed);
        pause_ns_.store(std::min(2 * pause, Duration(longest_pause).count()), std::memory_order_relaxed);
        worked_ns_.store(0, std::memory_order_relaxed);
        stalled_ns_.store(0, std::memory_order_relaxed);
    } else if (all_worked + all_stalled >= Duration(window).count()) {
        pause_ns_.store(Duration(first_pause).count(), std::memory_order_relaxed);
        worked_ns_.store(all_worked / 2, std::memory_order_relaxed);
        stalled_ns_.store(all_stalled / 2, std::memory_order_relaxed);
    }
}

} // namespace codetta::runtime
