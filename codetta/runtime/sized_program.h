// A HostProgram for one tuple of size symbols: every expression evaluated, every choice made, memory laid out. Made once per tuple.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "codetta/base/kernel_signature.h"
#include "codetta/runtime/host_program.h"
#include "codetta/sym/program.h"

namespace codetta::runtime {

/// One place of the result, all expressions evaluated.
struct OutputValue {
    OutputKind kind = OutputKind::view;
    Place place = Place::storage;
    uint32_t index = 0;
    scalar::DType dtype = scalar::DType::f32;
    std::span<const int64_t> shape, strides;
    int64_t offset = 0;         ///< view: in elements; size: the value
    bool whole_storage = false; ///< the view is exactly the storage as it was allocated
};

struct SizedArray {
    std::span<const int64_t> shape, strides;
    bool empty = false; ///< has no elements
};

/// A pointer argument: bases[base] + offset_bytes. Bases are, in order: inputs, constants, prepared, storages, the arena.
struct SizedPointer {
    uint32_t base = 0;
    int64_t offset_bytes = 0;
};

struct Kernel {
    codetta_kernel function = nullptr;
    base::KernelSignature signature;
    uint64_t image_hash = 0; ///< of the code it lies in
};

struct SizedLaunch {
    const Kernel* kernel = nullptr;
    const Launch* source = nullptr;
    std::span<const SizedPointer> pointers;
    std::span<const int64_t> integers;
    int64_t tasks = 0, grain = 1, scratch_bytes = 0;
};

struct SizedProgram {
    std::vector<int64_t> symbols;   ///< the tuple
    std::vector<SizedArray> inputs; ///< what the arguments must be; empty spans for integers
    std::vector<SizedArray> storages;
    std::vector<OutputValue> outputs;
    std::vector<SizedLaunch> setup, call; ///< launches without tasks are left out
    std::vector<int64_t> prepared_bytes;
    std::vector<int64_t> setup_numbers; ///< everything in `setup` that sizes decide: equal numbers = the same prepared memory
    int64_t arena_bytes = 0;
    int64_t scratch_bytes = 0; ///< per thread, of the launch that needs most
    size_t most_pointers = 0;  ///< of all launches of `call` together

    // What the spans point into.
    std::vector<int64_t> numbers;
    std::vector<SizedPointer> pointers;
};

/// Evaluates a HostProgram, whose expressions it compiled once, for tuples of sizes.
class SizeCalculator {
public:
    using FindKernel = std::function<const Kernel*(std::string_view symbol)>;

    /// Borrows the program and the kernels. Each launch must fit its kernel's signature (InternalError).
    SizeCalculator(const HostProgram& program, const FindKernel& find_kernel);

    /// `symbols` are the values of program.sizes, in order.
    /// @throws UserError when a requirement of the program does not hold, or when memory could never suffice
    SizedProgram calculate(std::span<const int64_t> symbols) const;

    uint32_t base_of(Place place) const; ///< where the bases of a place begin
    size_t base_count() const;

private:
    class Evaluation;

    const HostProgram& program_;
    sym::FlatProgram expressions_;       ///< all expressions of the program in the order in which `Evaluation` asks for them
    size_t expression_count_ = 0;        ///< conditions come behind
    std::vector<const Kernel*> kernels_; ///< of all launches in order: setup, then call
};

} // namespace codetta::runtime
