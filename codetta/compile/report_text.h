// A compile's report as text: what explain shows everywhere (command line, C++, Python).
#pragma once

#include <string>

#include "codetta/compile/compile.h"

namespace codetta::compile {

// One line: `tail: 3 ops, 2 regions, 3 kernels, 0 on the reference kernel; 12 ms for x86_avx2`.
std::string in_short(const std::string& name, const Report& report, const std::string& target);
// Per region who computes it, from which ops, and why others don't; then the time of each stage.
std::string at_length(const Report& report);

} // namespace codetta::compile
