// What this machine can do, asked from the processor and the operating system.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codetta/base/target.h"

namespace codetta::runtime {

/// All features that the processor has and the operating system allows, cores that the process may use, cache sizes; `name` is the best CPU
/// target. Asked once per process.
/// @throws UserError when the processor is too old for every target
const base::Target& detect_machine();

/// The target to compile for: `name` is an option value, "auto" = the best for this machine.
/// @throws UserError with the nearest name, or naming the features that the machine lacks
base::Target host_target(std::string_view name = "auto");

/// Makes the features usable in this process: checks that the machine has them and asks the kernel for AMX state where they need it.
/// @throws UserError naming what is missing; DeviceError when the kernel refuses AMX
void ensure_features(std::span<const std::string> features);

} // namespace codetta::runtime
