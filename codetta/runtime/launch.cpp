#include "codetta/runtime/launch.h"

#include "codetta/base/error.h"

namespace codetta::runtime {

namespace {

constexpr size_t scratch_granularity_bytes = 128; // two lines: the adjacent-line prefetcher works on pairs

struct Frame {
    codetta_kernel function;
    const codetta_kernel_args* arguments;
    Scratch scratch;

    static void work(void* context, int64_t begin, int64_t end, int thread) {
        const Frame& frame = *static_cast<const Frame*>(context);
        std::byte* scratch = frame.scratch.data;
        if (scratch != nullptr) scratch += static_cast<size_t>(thread) * frame.scratch.bytes_per_thread;
        frame.function(frame.arguments, begin, end, scratch);
    }
};

[[noreturn]] void throw_status(const SizedLaunch& launch, int32_t status) {
    const auto& checks = launch.kernel->signature.checks;
    CODETTA_CHECK(status > 0 && static_cast<size_t>(status) <= checks.size(), "{} reported the unknown status {}", launch.source->kernel,
                  status);
    const std::string& sentence = checks[static_cast<size_t>(status) - 1];
    const bool names_its_op = sentence.starts_with("op '"); // problem::Check::origin
    throw base::IndexError(sentence, names_its_op ? std::string() : launch.source->label);
}

} // namespace

size_t scratch_stride(int64_t bytes) {
    return (static_cast<size_t>(bytes) + scratch_granularity_bytes - 1) / scratch_granularity_bytes * scratch_granularity_bytes;
}

void run_launch(const SizedLaunch& launch, void* const* pointers, const Scratch& scratch, ThreadPool& pool, int threads) {
    int32_t status = 0;
    const codetta_kernel_args arguments{pointers, launch.integers.data(), &status};
    const bool wants_scratch = launch.scratch_bytes > 0;
    if (threads <= 1 || launch.tasks <= launch.grain) {
        launch.kernel->function(&arguments, 0, launch.tasks, wants_scratch ? scratch.data : nullptr);
    } else {
        Frame frame{launch.kernel->function, &arguments, wants_scratch ? scratch : Scratch{}};
        pool.run(launch.tasks, launch.grain, threads, Frame::work, &frame);
    }
    if (status != 0) [[unlikely]]
        throw_status(launch, status);
}

} // namespace codetta::runtime
