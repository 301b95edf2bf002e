// Attention and its kin on CPUs: several products over the same rows with row-wise stages between them, block of rows by block of rows, nothing but the result leaving the cache.
#pragma once

#include "codetta/kernels/template.h"

namespace codetta::kernels::attention {

Template x86();

} // namespace codetta::kernels::attention
