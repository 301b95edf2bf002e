// Runs one kernel over its tasks.
#pragma once

#include <cstddef>

#include "codetta/runtime/sized_program.h"
#include "codetta/runtime/thread_pool.h"

namespace codetta::runtime {

/// Memory that each thread of a launch gets a part of.
struct Scratch {
    std::byte* data = nullptr;
    size_t bytes_per_thread = 0;
};

/// `pointers` are the launch's pointer arguments with their offsets added.
/// @throws IndexError (from a checking kernel) after all tasks have ended
void run_launch(const SizedLaunch& launch, void* const* pointers, const Scratch& scratch, ThreadPool& pool, int threads);

/// The bytes per thread to reserve for a kernel that wants `bytes`: threads share no cache line, and no neighbouring pair of lines.
size_t scratch_stride(int64_t bytes);

} // namespace codetta::runtime
