#include "codetta/runtime/stall_watch.h"

#include <gtest/gtest.h>

namespace codetta::runtime {
namespace {

using namespace std::chrono_literals;

TEST(StallWatch, LittleWaitingIsNoReason) {
    StallWatch watch;
    StallWatch::Clock::time_point now{};
    for (int i = 0; i < 10000; i++) {
        now += 110us;
        watch.record(2, 100us, 10us, now);
        ASSERT_TRUE(watch.helpers_pay(now));
    }
}

TEST(StallWatch, WaitingLongerThanWorkingPausesHelpers) {
    StallWatch watch;
    const StallWatch::Clock::time_point now{};
    watch.record(2, 100us, 900us, now);
    EXPECT_TRUE(watch.helpers_pay(now)) << "less than a millisecond is no evidence";
    watch.record(2, 100us, 4ms, now);
    EXPECT_FALSE(watch.helpers_pay(now));
    EXPECT_FALSE(watch.helpers_pay(now + 4999us));
    EXPECT_TRUE(watch.helpers_pay(now + 5ms));
}

TEST(StallWatch, PausesGrowWhileNothingGetsBetterAndShrinkAgain) {
    StallWatch watch;
    StallWatch::Clock::time_point now{};
    for (StallWatch::Duration pause : {5ms, 10ms, 20ms, 40ms, 80ms, 160ms, 160ms}) {
        watch.record(2, 1ms, 4ms, now);
        EXPECT_FALSE(watch.helpers_pay(now + pause - 1us));
        EXPECT_TRUE(watch.helpers_pay(now + pause));
        now += pause;
    }
    for (int i = 0; i < 20; i++) watch.record(2, 1ms, 10us, now);
    watch.record(2, 0ms, 100ms, now);
    EXPECT_FALSE(watch.helpers_pay(now + 4999us));
    EXPECT_TRUE(watch.helpers_pay(now + 5ms)) << "a good time made the pause short again";
}

TEST(StallWatch, ManyThreadsAreWorthWaitingFor) {
    StallWatch watch;
    StallWatch::Clock::time_point now{};
    for (int i = 0; i < 100; i++) {
        now += 4ms;
        watch.record(64, 1ms, 3ms, now);
        ASSERT_TRUE(watch.helpers_pay(now)) << "alone it would have taken 64 ms";
    }
}

} // namespace
} // namespace codetta::runtime
