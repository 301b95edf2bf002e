// Times of the runtime itself: fork and join, a call of four tiny kernels, and a core that another process keeps busy.
// The machine may be shared, so each figure is a minimum or a median of many, and a limit is several times what a quiet machine shows.
#include "codetta/runtime/executable.h"
#include "codetta/runtime/object_for_test.h"
#include "codetta/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

namespace codetta::runtime {
namespace {

double now_us() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Times {
    double lowest, median;
};

/// `calls` of `work` per sample: the cost of one.
template <class Work>
Times time_us(Work work, int samples, int calls) {
    std::vector<double> times;
    for (int sample = 0; sample < samples; sample++) {
        const double start = now_us();
        for (int i = 0; i < calls; i++) work();
        times.push_back((now_us() - start) / calls);
    }
    std::ranges::sort(times);
    return {times.front(), times[times.size() / 2]};
}

void nothing(void*, int64_t, int64_t, int) {}

/// Two tasks that wait a while for each other: the time until the helper is there and back.
void meet(void* context, int64_t begin, int64_t end, int) {
    if (end - begin > 1) return; // alone
    auto& here = *static_cast<std::atomic<int>*>(context);
    here.fetch_add(1);
    for (int i = 0; i < 10'000'000 && here.load(std::memory_order_relaxed) < 2; i++) {}
}

/// About 10 us a task of arithmetic that stays in registers.
void arithmetic(void*, int64_t begin, int64_t end, int) {
    for (int64_t task = begin; task < end; task++) {
        double x = 1.0 + static_cast<double>(task);
        for (int i = 0; i < 2500; i++) x = x * 0.999 + 0.001;
        volatile double sink = x;
        (void)sink;
    }
}

TEST(RuntimePerf, ForkAndJoin) {
    if (usable_cores() < 2) GTEST_SKIP() << "one core only";
    ThreadPool pool;
    const auto fork_and_join = [&] {
        std::atomic<int> here = 0;
        pool.run(2, 1, 2, meet, &here);
    };
    const Times both = time_us(fork_and_join, 200, 100);
    std::printf("fork and join with the helper at work: lowest %.2f us, median %.2f us\n", both.lowest, both.median);
    const Times unhelped = time_us([&] { pool.run(2, 1, 2, nothing, nullptr); }, 200, 200);
    std::printf("fork and join of two empty tasks: lowest %.2f us, median %.2f us\n", unhelped.lowest, unhelped.median);
    std::vector<double> asleep, met;
    for (int i = 0; i < 100; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const double start = now_us();
        pool.run(2, 1, 2, nothing, nullptr);
        asleep.push_back(now_us() - start);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const double again = now_us();
        fork_and_join();
        met.push_back(now_us() - again);
    }
    std::ranges::sort(asleep);
    std::ranges::sort(met);
    std::printf("the same with the worker asleep before: empty tasks median %.2f us, with the helper at work median %.2f us\n", asleep[50],
                met[50]);
    EXPECT_LT(both.lowest, 3);
    EXPECT_LT(unhelped.lowest, 1);
    EXPECT_LT(asleep[50], 50);
}

TEST(RuntimePerf, CallOfFourTinyKernels) {
    const base::CodeImage image = image_for_test("void copy(const args_t* a, int64_t begin, int64_t end, void* scratch) {\n"
                                                 "    const float* x = a->pointers[0]; float* y = a->pointers[1];\n"
                                                 "    for (int64_t i = begin; i < end; i++) y[i] = x[i] + 1.0f;\n}\n",
                                                 {{"copy", {{{"x", "f32"}, {"y", "f32", base::PointerRole::output}}, {"n"}, {}}}});
    std::string text = "program tiny\n";
    for (int i = 0; i < 10; i++) text += "  input x" + std::to_string(i) + ": f32[s0, 8] strides [8, 1]\n";
    text += R"(  size s0 = shape(x0, 0)
  buffer a: 32*s0 live 0..1
  buffer b: 32*s0 live 1..2
  buffer c: 32*s0 live 2..3
  storage y: f32[s0, 8] strides [8, 1]
  storage z: f32[s0, 8] strides [8, 1]
setup
call
  launch copy(x0, a; s0) tasks 8*s0 grain 64
  launch copy(a, b; s0) tasks 8*s0 grain 64
  launch copy(b, c; s0) tasks 8*s0 grain 64
  launch copy(c, y; s0) tasks 8*s0 grain 64
outputs
  view of y: f32[s0, 8] strides [8, 1] offset 0
  view of z: f32[s0, 8] strides [8, 1] offset 0
end
)";
    auto context = std::make_shared<Context>();
    const Executable executable(parse_host_program(text), {image}, context);
    std::vector<float> memory(64), y(64), z(64);
    int64_t shape[] = {4, 8};
    const int64_t strides[] = {8, 1};
    Argument x;
    x.data = memory.data();
    x.shape = shape;
    x.strides = strides;
    x.rank = 2;
    const std::vector<Argument> arguments(10, x);
    void* storages[] = {y.data(), z.data()};
    PreallocatedOutputs outputs(storages);
    Results results;
    const Times same = time_us([&] { executable.run(arguments, outputs, results); }, 200, 500);
    std::printf("call, 10 inputs, 4 kernels, 2 outputs, same sizes: lowest %.3f us, median %.3f us\n", same.lowest, same.median);
    const Times changing = time_us(
        [&] {
            shape[0] = shape[0] % 8 + 1;
            executable.run(arguments, outputs, results);
        },
        200, 500);
    std::printf("call, remembered sizes in turn: lowest %.3f us, median %.3f us\n", changing.lowest, changing.median);
    EXPECT_EQ(y[0], 4.0f);
    EXPECT_LT(same.lowest, 2);
    EXPECT_LT(changing.lowest, 3);
}

TEST(RuntimePerf, NewSizesOfALargeProgram) {
    const base::CodeImage image = image_for_test("void none(const args_t* a, int64_t begin, int64_t end, void* scratch) {}\n",
                                                 {{"none", {{{"x", "f32"}, {"y", "f32", base::PointerRole::output}}, {"m", "n"}, {}}}});
    std::string text = "program large\n  input x: f32[s0, 64] strides [64, 1]\n  size s0 = shape(x, 0)\n";
    std::string calls;
    for (int i = 0; i < 200; i++) {
        const std::string name = "b" + std::to_string(i);
        text += "  buffer " + name + ": 256*s0 live " + std::to_string(i) + ".." + std::to_string(std::min(i + 1, 199)) + "\n";
        calls += "  launch none(" + (i == 0 ? std::string("x") : "b" + std::to_string(i - 1)) + ", " + name +
                 "; s0, 64) tasks (s0 + 5) // 6 grain 1000\n";
    }
    text += "setup\ncall\n" + calls + "outputs\n  input x\nend\n";
    const Executable executable(parse_host_program(text), {image}, std::make_shared<Context>());
    std::vector<float> memory(64 * 4096);
    int64_t shape[] = {1, 64};
    const int64_t strides[] = {64, 1};
    Argument x;
    x.data = memory.data();
    x.shape = shape;
    x.strides = strides;
    x.rank = 2;
    PreallocatedOutputs outputs({});
    Results results;
    const Times fresh = time_us(
        [&] {
            shape[0]++;
            executable.run(std::span(&x, 1), outputs, results);
        },
        200, 5);
    const Times warm = time_us([&] { executable.run(std::span(&x, 1), outputs, results); }, 200, 5);
    std::printf("200 launches, new sizes: lowest %.1f us, median %.1f us; same sizes: lowest %.1f us\n", fresh.lowest, fresh.median,
                warm.lowest);
    EXPECT_LT(fresh.lowest, 200);
}

TEST(RuntimePerf, ABusyCoreCostsLittle) {
    cpu_set_t mask;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
    if (CPU_COUNT(&mask) < 2) GTEST_SKIP() << "one core only";
    // The test runs on two cores of the mask; a child that spins holds the second.
    int first = 0;
    while (!CPU_ISSET(first, &mask)) first++;
    int second = first + 1;
    while (!CPU_ISSET(second, &mask)) second++;
    cpu_set_t two;
    CPU_ZERO(&two);
    CPU_SET(first, &two);
    CPU_SET(second, &two);
    ASSERT_EQ(::sched_setaffinity(0, sizeof two, &two), 0);

    ThreadPool pool;
    // A model's call: 60 launches of about 0.15 ms each on two threads.
    const auto call = [&] {
        for (int launch = 0; launch < 60; launch++) pool.run(32, 1, 2, arithmetic, nullptr);
    };
    const auto alone = [&] {
        for (int launch = 0; launch < 60; launch++) pool.run(32, 1, 1, arithmetic, nullptr);
    };
    const Times single = time_us(alone, 20, 1), quiet = time_us(call, 60, 1);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(second, &one);
        ::sched_setaffinity(0, sizeof one, &one);
        ::alarm(60);
        for (std::atomic<int> i = 0;;) i.fetch_add(1, std::memory_order_relaxed);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const Times busy = time_us(call, 200, 1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::sched_setaffinity(0, sizeof mask, &mask);
    std::printf("60 launches: 1 thread %.2f ms (median %.2f), 2 threads %.2f ms (median %.2f), beside a busy core median %.2f ms (lowest "
                "%.2f): %.2f times\n",
                single.lowest / 1000, single.median / 1000, quiet.lowest / 1000, quiet.median / 1000, busy.median / 1000,
                busy.lowest / 1000, busy.median / quiet.median);
    EXPECT_LT(busy.median, 2.2 * quiet.median);
}

} // namespace
} // namespace codetta::runtime
