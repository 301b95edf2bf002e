// The template for everything that is not a matrix product: pointwise chains, reductions, norms, softmax, scans, copies, gathers, scatters.
#pragma once

#include "codetta/kernels/template.h"

namespace codetta::kernels::nest {

Template make();

} // namespace codetta::kernels::nest
