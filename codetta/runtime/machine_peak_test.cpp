#include "codetta/runtime/machine_peak.h"

#include <gtest/gtest.h>

#include "codetta/runtime/context.h"

namespace codetta::runtime {
namespace {

using scalar::DType;

TEST(MachinePeak, MoreThanAScalarLoopLessThanSilicon) {
    ThreadPool& pool = Context::shared()->pool();
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64}) {
        const double flops = peak_flops(pool, dtype, 1);
        EXPECT_GT(flops, 5e9) << scalar::to_string(dtype);  // AVX2 with one multiply-add a cycle at 1 GHz gives 8 (f64) or 16
        EXPECT_LT(flops, 2e13) << scalar::to_string(dtype); // AMX on one core gives at most 2048 a cycle
    }
    EXPECT_GT(peak_flops(pool, DType::f32, 1), 1.3 * peak_flops(pool, DType::f64, 1)); // exactly 2 on a quiet machine
}

TEST(MachinePeak, CachesAreFasterThanMemory) {
    ThreadPool& pool = Context::shared()->pool();
    const double cache = read_bandwidth(pool, 16 << 10, 1), memory = read_bandwidth(pool, int64_t{96} << 20, 1);
    EXPECT_GT(memory, 5e8);
    EXPECT_GT(cache, 1.5 * memory);
    EXPECT_GT(read_bandwidth(pool, 1, 1), 0); // a whole line is read all the same
}

} // namespace
} // namespace codetta::runtime
