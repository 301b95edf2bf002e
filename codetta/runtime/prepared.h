// What `setup` makes of frozen inputs (packed weights): made once per identity of its inputs, shared between executables of a context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codetta/runtime/argument.h"
#include "codetta/runtime/context.h"
#include "codetta/runtime/sized_program.h"

namespace codetta::runtime {

/// The identity of one frozen input's content.
struct Identity {
    uint64_t token = 0, version = 0;
    const void* data = nullptr;
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// The prepared memory of one executable for one set of frozen inputs. Immutable.
struct PreparedSet {
    std::vector<Identity> identities; ///< of the inputs that setup reads, in the order of `setup_inputs`
    std::vector<int64_t> setup_numbers;
    uint64_t generation = 0;
    std::vector<std::shared_ptr<Memory>> memories;
};

/// The inputs that some setup launch reads, ascending.
std::vector<uint32_t> setup_inputs(const HostProgram& program);

/// Whether `set` (which may be null) is what these arguments need.
bool is_current(const PreparedSet* set, std::span<const uint32_t> inputs, const SizedProgram& sized, std::span<const Argument> arguments,
                uint64_t generation);

/// Runs the setup launches whose results nobody in the context has yet.
/// @throws IndexError when a kernel met an index out of range
std::shared_ptr<const PreparedSet> prepare(const HostProgram& program, const SizedProgram& sized, std::span<const uint32_t> inputs,
                                           std::span<const Argument> arguments, std::span<const std::byte* const> constants,
                                           Context& context, int threads);

/// @throws InternalError when a setup launch writes what an earlier one has read (its result could not be shared)
void verify_setup(const HostProgram& program, const SizeCalculator::FindKernel& find_kernel);

} // namespace codetta::runtime
