// What a provider offers for a Problem. Choosing and planning read a kernel's call (arguments, tasks, scratch), never its program.
#pragma once

#include <memory>
#include <string>

#include "codetta/kernels/kernel.h"

namespace codetta::providers {

using kernels::Kernel;
using kernels::PointerArgument;
using kernels::Temporary;
using kernels::Variant;

struct Candidate {
    std::string provider;      // `generated`, later `cublaslt`, `cutlass`
    std::string template_name; // within the provider
    std::vector<Variant> variants;
    double estimate_us = 0;
};

} // namespace codetta::providers
