// What this machine can do at most, measured: multiply-adds in registers, and a loop that only reads. The yardstick of explain.
#pragma once

#include <cstdint>

#include "codetta/runtime/thread_pool.h"
#include "codetta/scalar/dtype.h"

namespace codetta::runtime {

/// Operations per second (a multiply-add counts two) of `threads` threads with the best instruction that multiplies this dtype into its
/// sums: f64 into f64, bf16 into f32, everything else as f32. The best of a few short runs.
/// @post > 0
double peak_flops(ThreadPool& pool, scalar::DType dtype, int threads);

/// Bytes per second when `threads` threads read disjoint parts of `bytes` again and again; small amounts come from caches.
/// @throws UserError when there is no memory for them
double read_bandwidth(ThreadPool& pool, int64_t bytes, int threads);

} // namespace codetta::runtime
