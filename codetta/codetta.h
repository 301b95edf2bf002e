// Codetta for C++ programs: write a model with tensors, compile it for this machine, call it on plain buffers.
//
//   #include <codetta/codetta.h>
//   using namespace codetta::tensor;
//
//   Dim rows = dim("rows");                                                // known at the call
//   Tensor x = input("x", {rows, 768});                                    // f32 unless another dtype is named
//   Tensor w = parameter("w", {weights, {768, 3072}}), b = parameter("b", {bias, {3072}});
//   Compiled f = compile({x}, {gelu(matmul(x, w) + b)});
//   Array y = f({{data, {5, 768}}})[0];
//
// Everything that goes wrong is an exception derived from codetta::Error, whose text names the place and what to do.
// examples/linear_gelu.cpp is a whole program; docs/howto/use_from_cpp.md tells the rest.
#pragma once

#include "codetta/base/error.h"
#include "codetta/frontends/tensor/compiled.h"
#include "codetta/frontends/tensor/ops.h"

namespace codetta {

namespace tensor = frontends::tensor;
using base::DeviceError;
using base::Error;
using base::IndexError;
using base::InternalError;
using base::UserError;

} // namespace codetta
