// The calling convention of a CPU kernel, and the description of one kernel's arguments.
//
// A kernel is one C function. Its work is numbered 0 .. task_count-1; the runtime hands out half-open ranges of tasks to threads, in any
// order and any chunking, each task exactly once. A kernel therefore must give the same bits for every chunking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" {

/// What every thread of one launch sees. Plain C: generated code indexes it by byte offset (0, 8, 16).
struct codetta_kernel_args {
    void* const* pointers;   ///< operand i's data pointer, its offset already added
    const int64_t* integers; ///< run-time extents, strides and the like, in the order of KernelSignature::integers
    int32_t* status;         ///< 0 = all well; a failing check stores its code (> 0) here; any failing code may win
};

/// `scratch` is private to the calling thread, 64-byte aligned, as large as the launch asked for (null when it asked for none); its
/// content is undefined at entry. A kernel throws nothing, allocates nothing and calls nothing.
typedef void (*codetta_kernel)(const codetta_kernel_args* args, int64_t task_begin, int64_t task_end, void* scratch);

} // extern "C"

namespace codetta::base {

constexpr size_t scratch_alignment_bytes = 64;

enum class PointerRole { input, output, input_output };

struct KernelPointer {
    std::string name;
    std::string dtype; ///< scalar's spelling: "f32", "bf16", ...
    PointerRole role = PointerRole::input;

    friend bool operator==(const KernelPointer&, const KernelPointer&) = default;
};

/// The arguments of one kernel in order. How many tasks it has and what the integers are worth is the launch's affair.
struct KernelSignature {
    std::vector<KernelPointer> pointers;
    std::vector<std::string> integers;
    std::vector<std::string> checks; ///< checks[code - 1] says what a status `code` means, e.g. "index out of range in embedding"

    friend bool operator==(const KernelSignature&, const KernelSignature&) = default;
};

/// One line: `(in x: f32, out y: f32; m, n; checks "index out of range")`.
std::string to_string(const KernelSignature& signature);

} // namespace codetta::base
