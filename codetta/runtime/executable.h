// Executable: a HostProgram with its machine code loaded, ready to be called from any thread on the caller's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codetta/base/code_image.h"
#include "codetta/runtime/argument.h"
#include "codetta/runtime/context.h"
#include "codetta/runtime/host_program.h"
#include "codetta/runtime/sized_program.h"

namespace codetta::runtime {

/// Gives the memory of the program's storages. Called once per storage, in order, before anything runs, on the calling thread.
class OutputAllocator {
public:
    virtual ~OutputAllocator() = default;
    /// Memory for an array of this dtype, shape and strides (in elements). The spans live until run() returns.
    virtual void* allocate(size_t storage, scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) = 0;
};

/// Hands out pointers that the caller made before.
class PreallocatedOutputs : public OutputAllocator {
public:
    explicit PreallocatedOutputs(std::span<void* const> storages) : storages_(storages) {}
    void* allocate(size_t storage, scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) override;

private:
    std::span<void* const> storages_;
};

/// Holds what the spans in OutputValue point into. Reusable: no allocation after the first call.
struct Results {
    std::span<const OutputValue> outputs;
    std::shared_ptr<const SizedProgram> keeper;
};

struct LaunchTime {
    std::string kernel, label;
    int64_t tasks = 0;
    double time_us = 0;
    double flops = 0, bytes = 0; ///< of its Work, with the sizes of this call
    scalar::DType dtype = scalar::DType::f32;
};

struct CallOptions {
    int threads = 0;                            ///< 0 = as many as the context says
    std::vector<LaunchTime>* profile = nullptr; ///< gets one row per launch that ran
};

class Executable {
public:
    /// Loads the code. Every kernel that the program names must be in one of the images.
    /// @throws InternalError when a kernel is missing or a launch does not fit its signature; UserError when the machine lacks a feature
    Executable(HostProgram program, std::vector<base::CodeImage> images, std::shared_ptr<Context> context = Context::shared());
    ~Executable();
    Executable(Executable&&) noexcept;
    Executable& operator=(Executable&&) noexcept;

    /// One call. Safe from many threads at once; deterministic for any thread count.
    /// @throws UserError naming the argument when it does not fit (nothing has run then); IndexError when a kernel met an index out of
    /// range
    ///         (later launches have not run); UserError when there is no memory. The executable stays usable after each.
    void run(std::span<const Argument> arguments, OutputAllocator& allocator, Results& results, const CallOptions& options = {}) const;

    /// Forgets what `setup` made: the next call runs it again (after the weights were changed in place).
    void refresh();
    /// Frees what `setup` made when a frozen input of this token went into it: the input's owner is gone.
    void forget(uint64_t token);

    const HostProgram& program() const;
    /// The signature of a kernel of this program.
    const base::KernelSignature& signature(std::string_view kernel) const;
    /// Bytes of temporaries that a call with these extents needs (without per-thread scratch); for explain and tests.
    int64_t arena_bytes(std::span<const Argument> arguments) const;
    /// How many tuples of extents are remembered now; at most `most_remembered_sizes`.
    size_t remembered_sizes() const;
    static constexpr size_t most_remembered_sizes = 256;

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace codetta::runtime
