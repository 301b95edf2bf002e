// Writes the tile program of a scheduled Problem.
#pragma once

#include <string>

#include "codetta/kernels/kernel.h"
#include "codetta/kernels/nest/schedule.h"

namespace codetta::kernels::nest {

Kernel emit(const problem::Problem& p, const Schedule& s, const std::string& name);

} // namespace codetta::kernels::nest
