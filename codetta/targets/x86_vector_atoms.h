// The formula behind the vector atoms of x86: one instruction per width.
#pragma once

#include "codetta/scalar/dtype.h"
#include "codetta/tile/atom.h"

namespace codetta::targets {

/// d[1, lanes] += a[1, 1] * b[lanes, 1]: a broadcast of a's element, one fused multiply-add.
tile::Atom broadcast_fma(std::string name, std::string feature, scalar::DType dtype, int64_t vector_bits);

} // namespace codetta::targets
