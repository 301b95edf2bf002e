// The machine's limits, called from peak.py: register loops of each kind of multiply-add, and a loop that only reads. Best of `repeats`.
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// Runs work(thread) on `cores`, all starting together; seconds of the slowest, best of `repeats`.
double run_on(const int* cores, int threads, int repeats, const std::function<void(int)>& work) {
    std::vector<std::vector<double>> seconds(repeats, std::vector<double>(threads));
    std::atomic<int> arrived{0};
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++) {
        pool.emplace_back([&, t] {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(cores[t], &set);
            pthread_setaffinity_np(pthread_self(), sizeof set, &set);
            for (int r = 0; r < repeats; r++) {
                work(t); // settles: caches, clocks
                arrived++;
                while (arrived < threads * (r + 1)) _mm_pause();
                auto start = Clock::now();
                work(t);
                seconds[r][t] = std::chrono::duration<double>(Clock::now() - start).count();
            }
        });
    }
    for (auto& thread : pool) thread.join();
    double best = 1e30;
    for (auto& round : seconds) best = std::min(best, *std::max_element(round.begin(), round.end()));
    return best;
}

#define TWELVE(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11)
#define KEEP(i) asm volatile("" : "+v"(sum[i]));

__attribute__((target("avx2,fma"))) void fma_avx2(long rounds) {
    __m256 sum[12] = {}, x = _mm256_set1_ps(1e-3F);
    for (long i = 0; i < rounds; i++) {
#define STEP(i) sum[i] = _mm256_fmadd_ps(x, x, sum[i]);
        TWELVE(STEP) TWELVE(KEEP)
#undef STEP
    }
}

__attribute__((target("avx512f"))) void fma_avx512(long rounds) {
    __m512 sum[12] = {}, x = _mm512_set1_ps(1e-3F);
    for (long i = 0; i < rounds; i++) {
#define STEP(i) sum[i] = _mm512_fmadd_ps(x, x, sum[i]);
        TWELVE(STEP) TWELVE(KEEP)
#undef STEP
    }
}

__attribute__((target("avx512f,avx512bf16"))) void dot_bf16(long rounds) {
    __m512 sum[12] = {};
    __m512bh x = (__m512bh)_mm512_set1_epi16(0x3a83);
    for (long i = 0; i < rounds; i++) {
#define STEP(i) sum[i] = _mm512_dpbf16_ps(sum[i], x, x);
        TWELVE(STEP) TWELVE(KEEP)
#undef STEP
    }
}

__attribute__((target("amx-tile,amx-bf16"))) void amx_bf16(long rounds) {
    alignas(64) uint8_t config[64] = {1};
    for (int i = 0; i < 8; i++) config[16 + 2 * i] = 64, config[48 + i] = 16;
    _tile_loadconfig(config);
    // clang-format off
  _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3); _tile_zero(4); _tile_zero(5); _tile_zero(6); _tile_zero(7);
  for (long i = 0; i < rounds; i++) {
    _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
    _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
    _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
  }
    // clang-format on
    _tile_release();
}

__attribute__((target("avx2"))) void read_all(const char* p, long bytes) {
    __m256i sum[4] = {};
    for (long i = 0; i + 256 <= bytes; i += 256) {
        for (int j = 0; j < 4; j++) {
            sum[j] = _mm256_or_si256(sum[j], _mm256_load_si256((const __m256i*)(p + i + 64 * j)));
            sum[j] = _mm256_or_si256(sum[j], _mm256_load_si256((const __m256i*)(p + i + 64 * j + 32)));
        }
    }
    for (auto& s : sum) asm volatile("" : "+x"(s));
}

bool amx_allowed() { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; } // ARCH_REQ_XCOMP_PERM, XTILEDATA

} // namespace

extern "C" {

// kind: "f32", "bf16_dot", "bf16_amx". Operations per second of all threads together; 0 when the machine has no such instruction.
double peak_flops(const char* kind, const int* cores, int threads, int repeats) {
    constexpr long rounds = 400'000;
    void (*loop)(long) = nullptr;
    double flops = 0;
    if (!strcmp(kind, "f32")) {
        bool wide = __builtin_cpu_supports("avx512f");
        loop = wide ? fma_avx512 : fma_avx2;
        flops = wide ? 32 : 16;
    } else if (!strcmp(kind, "bf16_dot") && __builtin_cpu_supports("avx512bf16")) {
        loop = dot_bf16;
        flops = 64;
    } else if (!strcmp(kind, "bf16_amx") && amx_allowed()) {
        loop = amx_bf16;
        flops = 16 * 16 * 32 * 2;
    }
    if (!loop) return 0;
    return 12 * flops * rounds * threads / run_on(cores, threads, repeats, [&](int) { loop(rounds); });
}

// Bytes per second when `threads` threads read disjoint parts of `bytes` again and again.
double read_bandwidth(long bytes, const int* cores, int threads, int repeats) {
    long part = (bytes / threads + 255) / 256 * 256;
    long passes = std::max(1L, (64L << 20) / (part * threads));
    std::vector<char*> parts(threads);
    for (auto& p : parts) p = static_cast<char*>(aligned_alloc(256, part)), memset(p, 1, part);
    double seconds = run_on(cores, threads, repeats, [&](int t) {
        for (long i = 0; i < passes; i++) read_all(parts[t], part);
    });
    for (auto* p : parts) free(p);
    return static_cast<double>(part) * threads * passes / seconds;
}
}
