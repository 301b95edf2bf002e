// Compares what a caller passes with what the program takes.
#pragma once

#include <cstdint>
#include <span>

#include "codetta/runtime/argument.h"
#include "codetta/runtime/sized_program.h"

namespace codetta::runtime {

/// The values of program.sizes, in order.
/// @throws UserError when the number of arguments or the rank of one that a size comes from is wrong
void gather_symbols(const HostProgram& program, std::span<const Argument> arguments, std::span<int64_t> symbols);

/// @throws UserError naming the first argument that differs in dtype, device, rank, shape or strides, or that has no data
void check_arguments(const HostProgram& program, const SizedProgram& sized, std::span<const Argument> arguments);

} // namespace codetta::runtime
