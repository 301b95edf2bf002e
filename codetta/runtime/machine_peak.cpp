#include "codetta/runtime/machine_peak.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "codetta/runtime/detect_machine.h"
#include "codetta/runtime/memory.h"

namespace codetta::runtime {

namespace {

constexpr int least_repeats = 5; // and until so much time has passed: on a busy machine few of them have all cores
constexpr std::chrono::milliseconds least_time{40};
constexpr int64_t rounds = 60'000; // of a register loop: about half a millisecond
constexpr int64_t sums = 12;       // chains that are independent: more than latency x units of every processor

// The sums stay in registers and nothing is folded away.
#define TWELVE(op) op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11)
#define KEEP(i) asm volatile("" : "+v"(sum[i]));
#define REGISTER_LOOP(name, features, vector, start, step)                                                                                 \
    __attribute__((target(features))) void name() {                                                                                        \
        vector sum[sums] = {};                                                                                                             \
        const auto x = start;                                                                                                              \
        for (int64_t i = 0; i < rounds; i++) {                                                                                             \
            TWELVE(step)                                                                                                                   \
            TWELVE(KEEP)                                                                                                                   \
        }                                                                                                                                  \
    }
#define STEP_F32_YMM(i) sum[i] = _mm256_fmadd_ps(x, x, sum[i]);
#define STEP_F64_YMM(i) sum[i] = _mm256_fmadd_pd(x, x, sum[i]);
#define STEP_F32_ZMM(i) sum[i] = _mm512_fmadd_ps(x, x, sum[i]);
#define STEP_F64_ZMM(i) sum[i] = _mm512_fmadd_pd(x, x, sum[i]);
#define STEP_BF16_ZMM(i) sum[i] = _mm512_dpbf16_ps(sum[i], x, x);
REGISTER_LOOP(f32_ymm, "avx2,fma", __m256, _mm256_set1_ps(1e-3F), STEP_F32_YMM)
REGISTER_LOOP(f64_ymm, "avx2,fma", __m256d, _mm256_set1_pd(1e-3), STEP_F64_YMM)
REGISTER_LOOP(f32_zmm, "avx512f", __m512, _mm512_set1_ps(1e-3F), STEP_F32_ZMM)
REGISTER_LOOP(f64_zmm, "avx512f", __m512d, _mm512_set1_pd(1e-3), STEP_F64_ZMM)
REGISTER_LOOP(bf16_zmm, "avx512f,avx512bf16", __m512, (__m512bh)_mm512_set1_epi16(0x3a83), STEP_BF16_ZMM)

// Tiles 0-3 add up, 4-7 are factors; the twelve products of a round are three on each sum.
__attribute__((target("amx-tile,amx-bf16"))) void bf16_tiles() {
    alignas(64) uint8_t configuration[64] = {1};
    for (int i = 0; i < 8; i++) {
        configuration[16 + 2 * i] = 64;
        configuration[48 + i] = 16;
    }
    _tile_loadconfig(configuration);
    // clang-format off
    _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3); _tile_zero(4); _tile_zero(5); _tile_zero(6); _tile_zero(7);
    for (int64_t i = 0; i < rounds / 8; i++) {
        _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
        _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
        _tile_dpbf16ps(0, 4, 6); _tile_dpbf16ps(1, 4, 7); _tile_dpbf16ps(2, 5, 6); _tile_dpbf16ps(3, 5, 7);
    }
    // clang-format on
    _tile_release();
}

struct Loop {
    void (*run)() = nullptr;
    double flops = 0; ///< of one run
};

bool has(std::string_view feature) { return detect_machine().has(feature); }

Loop best_loop(scalar::DType dtype) {
    constexpr double steps = static_cast<double>(sums * rounds);
    const bool wide = has("avx512f");
    if (dtype == scalar::DType::bf16 && has("amx_bf16")) {
        const std::string needed[] = {"amx_tile", "amx_bf16"};
        ensure_features(needed);
        return {bf16_tiles, steps / 8 * 16 * 16 * 32 * 2};
    }
    if (dtype == scalar::DType::bf16 && has("avx512_bf16")) return {bf16_zmm, steps * 64};
    if (dtype == scalar::DType::f64) return wide ? Loop{f64_zmm, steps * 16} : Loop{f64_ymm, steps * 8};
    return wide ? Loop{f32_zmm, steps * 32} : Loop{f32_ymm, steps * 16};
}

/// Seconds of the fastest run of `work` on `threads` tasks, one for each thread, after one that settles caches and clocks.
double fastest(ThreadPool& pool, int threads, ThreadPool::Work work, void* context) {
    using Clock = std::chrono::steady_clock;
    pool.run(threads, 1, threads, work, context);
    double best = 0;
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < least_repeats || Clock::now() - begin < least_time; i++) {
        const Clock::time_point start = Clock::now();
        pool.run(threads, 1, threads, work, context);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        if (i == 0 || seconds < best) best = seconds;
    }
    return best;
}

struct Parts {
    std::vector<Memory> parts;
    int64_t passes = 1;
};

__attribute__((target("avx2"))) void read_all(const std::byte* data, size_t bytes) {
    __m256i sum[4] = {};
    for (size_t i = 0; i + 256 <= bytes; i += 256)
        for (size_t j = 0; j < 4; j++) {
            sum[j] = _mm256_or_si256(sum[j], _mm256_load_si256(reinterpret_cast<const __m256i*>(data + i + 64 * j)));
            sum[j] = _mm256_or_si256(sum[j], _mm256_load_si256(reinterpret_cast<const __m256i*>(data + i + 64 * j + 32)));
        }
    for (__m256i& s : sum) asm volatile("" : "+x"(s));
}

} // namespace

double peak_flops(ThreadPool& pool, scalar::DType dtype, int threads) {
    Loop loop = best_loop(dtype);
    const auto work = [](void* context, int64_t begin, int64_t end, int) {
        for (int64_t task = begin; task < end; task++) static_cast<Loop*>(context)->run();
    };
    return loop.flops * threads / fastest(pool, threads, work, &loop);
}

double read_bandwidth(ThreadPool& pool, int64_t bytes, int threads) {
    constexpr int64_t least_read = int64_t{16} << 20;
    const int64_t part = std::max<int64_t>((bytes / threads + 255) / 256 * 256, 256);
    Parts parts;
    parts.passes = std::max<int64_t>(1, least_read / (part * threads));
    for (int t = 0; t < threads; t++) {
        parts.parts.emplace_back(static_cast<size_t>(part), "the measurement of the bandwidth");
        std::memset(parts.parts.back().data(), 1, parts.parts.back().bytes());
    }
    const auto work = [](void* context, int64_t begin, int64_t end, int) {
        const Parts& all = *static_cast<Parts*>(context);
        for (int64_t task = begin; task < end; task++)
            for (int64_t pass = 0; pass < all.passes; pass++)
                read_all(all.parts[static_cast<size_t>(task)].data(), all.parts[static_cast<size_t>(task)].bytes());
    };
    return static_cast<double>(part * threads * parts.passes) / fastest(pool, threads, work, &parts);
}

} // namespace codetta::runtime
