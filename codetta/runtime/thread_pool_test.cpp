#include "codetta/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <immintrin.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace codetta::runtime {
namespace {

/// A run with a C++ function as its work.
void run(ThreadPool& pool, int64_t tasks, int64_t grain, int threads, std::function<void(int64_t, int64_t, int)> work) {
    pool.run(
        tasks, grain, threads,
        [](void* context, int64_t begin, int64_t end, int thread) {
            (*static_cast<std::function<void(int64_t, int64_t, int)>*>(context))(begin, end, thread);
        },
        &work);
}

void expect_each_task_once(ThreadPool& pool, int64_t tasks, int64_t grain, int threads) {
    std::vector<std::atomic<int>> counts(static_cast<size_t>(tasks));
    std::atomic<int> wrong_chunks = 0;
    run(pool, tasks, grain, threads, [&](int64_t begin, int64_t end, int thread) {
        if (thread < 0 || thread >= threads || begin >= end || (end - begin < grain && end != tasks)) wrong_chunks++;
        for (int64_t i = begin; i < end; i++) counts[static_cast<size_t>(i)]++;
    });
    EXPECT_EQ(wrong_chunks, 0);
    for (const std::atomic<int>& count : counts) ASSERT_EQ(count, 1);
}

TEST(ThreadPool, RunsEachTaskOnce) {
    ThreadPool pool;
    for (int threads : {1, 2, 3, 8})
        for (int64_t tasks : {0, 1, 2, 3, 7, 64, 1000})
            for (int64_t grain : {1, 3, 100}) expect_each_task_once(pool, tasks, grain, threads);
}

TEST(ThreadPool, StartsNoMoreWorkersThanAsked) {
    ThreadPool pool;
    EXPECT_EQ(pool.workers(), 0);
    expect_each_task_once(pool, 100, 1, 1);
    EXPECT_EQ(pool.workers(), 0);
    expect_each_task_once(pool, 100, 1, 3);
    EXPECT_EQ(pool.workers(), 2);
    expect_each_task_once(pool, 100, 1, 2);
    EXPECT_EQ(pool.workers(), 2);
    expect_each_task_once(pool, 2, 1, 8); // two tasks: one helper at most
    EXPECT_EQ(pool.workers(), 2);
}

TEST(ThreadPool, SmallJobsStayOnTheCaller) {
    ThreadPool pool;
    const std::thread::id me = std::this_thread::get_id();
    run(pool, 8, 8, 4, [&](int64_t begin, int64_t end, int thread) {
        EXPECT_EQ(std::this_thread::get_id(), me);
        EXPECT_EQ(begin, 0);
        EXPECT_EQ(end, 8);
        EXPECT_EQ(thread, 0);
    });
    EXPECT_EQ(pool.workers(), 0);
}

TEST(ThreadPool, ThreadNumbersAreNotShared) {
    ThreadPool pool;
    for (int round = 0; round < 200; round++) {
        std::array<std::atomic<int>, 4> inside{};
        std::atomic<int> clashes = 0;
        run(pool, 64, 1, 4, [&](int64_t, int64_t, int thread) {
            if (inside[static_cast<size_t>(thread)].fetch_add(1) != 0) clashes++;
            for (int i = 0; i < 50; i++) _mm_pause();
            inside[static_cast<size_t>(thread)].fetch_sub(1);
        });
        ASSERT_EQ(clashes, 0);
    }
}

TEST(ThreadPool, WritesOfAllThreadsAreVisibleAfterwards) {
    ThreadPool pool;
    std::vector<int64_t> plain(1000);
    for (int64_t round = 1; round <= 500; round++) {
        run(pool, 1000, 10, 2, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; i++) plain[static_cast<size_t>(i)] += round;
        });
        ASSERT_EQ(std::accumulate(plain.begin(), plain.end(), int64_t(0)), 1000 * round * (round + 1) / 2);
    }
}

TEST(ThreadPool, NestedRunsStayOnTheirThread) {
    ThreadPool pool;
    std::atomic<int64_t> sum = 0;
    std::atomic<int> strangers = 0;
    run(pool, 16, 1, 4, [&](int64_t begin, int64_t end, int) {
        const std::thread::id me = std::this_thread::get_id();
        for (int64_t i = begin; i < end; i++)
            run(pool, 100, 1, 4, [&](int64_t b, int64_t e, int) {
                if (std::this_thread::get_id() != me) strangers++;
                for (int64_t j = b; j < e; j++) sum += j;
            });
    });
    EXPECT_EQ(sum, 16 * 4950);
    EXPECT_EQ(strangers, 0);
    expect_each_task_once(pool, 100, 1, 4); // and the pool is as before
}

TEST(ThreadPool, ManyCallersAtOnce) {
    ThreadPool pool;
    std::vector<std::thread> callers;
    std::atomic<int> wrong = 0;
    for (int caller = 0; caller < 20; caller++) // more than the pool has slots
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 200; round++) {
                std::atomic<int64_t> sum = 0;
                run(pool, 100, 1, 3, [&](int64_t begin, int64_t end, int) {
                    for (int64_t i = begin; i < end; i++) sum += i * (caller + 1);
                });
                if (sum != 4950 * (caller + 1)) wrong++;
            }
        });
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, WorkersHaveTheCallersFloatingPointEnvironment) {
    ThreadPool pool;
    const unsigned before = _mm_getcsr();
    // Flush to zero, denormals are zero, rounding towards zero.
    const unsigned wanted = (before & ~0x6000u & ~0x3fu) | 0x8040u | 0x6000u;
    std::set<unsigned> inside;
    std::mutex mutex;
    const auto collect = [&](int64_t, int64_t, int) {
        std::lock_guard lock(mutex);
        inside.insert(_mm_getcsr() & ~0x3fu);
        std::this_thread::sleep_for(std::chrono::microseconds(100)); // let others come
    };
    _mm_setcsr(wanted);
    run(pool, 64, 1, 4, collect);
    _mm_setcsr(before);
    EXPECT_EQ(inside, std::set<unsigned>{wanted});
    inside.clear();
    run(pool, 64, 1, 4, collect);
    EXPECT_EQ(inside, std::set<unsigned>{before & ~0x3fu}) << "and the next run has its own again";
}

TEST(ThreadPool, SleepingWorkersAreWoken) {
    ThreadPool pool;
    for (int round = 0; round < 5; round++) {
        std::set<std::thread::id> threads;
        std::mutex mutex;
        for (int tries = 0; tries < 100 && threads.size() < 2; tries++) // a helper may come late on a busy machine
            run(pool, 40, 1, 2, [&](int64_t, int64_t, int) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                std::lock_guard lock(mutex);
                threads.insert(std::this_thread::get_id());
            });
        EXPECT_EQ(threads.size(), 2u);
        std::this_thread::sleep_for(std::chrono::milliseconds(5)); // longer than any spin
    }
}

TEST(ThreadPool, UsesThreadsOfTheProcessMaskOnly) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one core only";
    EXPECT_LE(usable_cores(), CPU_COUNT(&before));
    int first = 0;
    while (!CPU_ISSET(first, &before)) first++;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cores(), 1);
    ThreadPool pool;
    std::atomic<int> elsewhere = 0;
    run(pool, 200, 1, 3, [&](int64_t, int64_t, int) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (::sched_getcpu() != first) elsewhere++;
    });
    EXPECT_EQ(elsewhere, 0);
    ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(ThreadPool, WorksInAForkedChild) {
    ThreadPool pool;
    expect_each_task_once(pool, 100, 1, 3);
    // Other threads use the pool and its locks while we fork.
    std::jthread busy([&](std::stop_token stop) {
        while (!stop.stop_requested()) run(pool, 50, 1, 3, [](int64_t, int64_t, int) {});
    });
    for (int round = 0; round < 20; round++) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::alarm(20); // a hang must not hang the test
            const bool fresh = pool.workers() == 2;
            std::set<std::thread::id> threads;
            std::mutex mutex;
            bool right = true;
            for (int tries = 0; tries < 500 && threads.size() < 2; tries++) { // a helper may come late on a busy machine
                std::atomic<int64_t> sum = 0;
                run(pool, 100, 1, 2, [&](int64_t begin, int64_t end, int) {
                    for (int64_t i = begin; i < end; i++) sum += i;
                    std::this_thread::sleep_for(std::chrono::microseconds(200));
                    std::lock_guard lock(mutex);
                    threads.insert(std::this_thread::get_id());
                });
                right &= sum == 4950;
            }
            ::_exit(right && threads.size() == 2 && fresh && pool.workers() == 1 ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round << ", status " << status;
    }
    busy.request_stop();
    busy.join();
    expect_each_task_once(pool, 100, 1, 3); // the parent's pool is as before
}

TEST(ThreadPool, ComesAndGoesQuickly) {
    for (int i = 0; i < 50; i++) {
        ThreadPool pool;
        expect_each_task_once(pool, 10, 1, 3);
    }
}

} // namespace
} // namespace codetta::runtime
