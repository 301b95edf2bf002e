// Calls an executable on host arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codetta/runtime/executable.h"
#include "codetta/scalar/host_array.h"

namespace codetta::cli {

/// Outputs of one call, with memory of their own (a size: a 0-d i64), and how long the call took.
struct CallResult {
    std::vector<scalar::HostArray> outputs;
    double time_us = 0;
    std::vector<std::shared_ptr<void>> memory;
};

CallResult call(const runtime::Executable& executable, std::span<const scalar::HostArray> inputs, std::span<const int64_t> integers,
                int threads);

} // namespace codetta::cli
