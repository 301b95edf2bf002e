// What happens to an accumulator before it is stored: a scalar body over the accumulator and operands that are read per row, per column or
// per element.
#pragma once

#include <string>
#include <vector>

#include "codetta/scalar/dtype.h"
#include "codetta/scalar/function.h"
#include "codetta/sym/expr.h"
#include "codetta/tile/builder.h"

namespace codetta::kernels::gemm {

struct EpilogueOperand {
    enum class Kind : uint8_t { per_n, per_m, full, scalar } kind = Kind::per_n; // full: row major [m, n], stride an integer parameter
    std::string name;
    scalar::DType dtype = scalar::DType::bf16;
};

// body: (f32 accumulator, operands...) -> one element of the output dtype.
struct Epilogue {
    scalar::Function body;
    std::vector<EpilogueOperand> operands;
};

// The cast alone; with a bias per column; with bias and GELU (erf's, or the tanh approximation).
Epilogue plain_epilogue(scalar::DType out);
Epilogue bias_epilogue(scalar::DType out);
Epilogue bias_gelu_epilogue(scalar::DType out, bool tanh_approximation);

// Parameters for the operands, in order.
struct EpilogueViews {
    std::vector<tile::View> operands;
};
EpilogueViews declare(tile::Builder& b, const Epilogue& e, const sym::Expr& m, const sym::Expr& n);

// Where 64 x 64 accumulators of a warpgroup lie in the output.
struct ChunkPlace {
    sym::Expr row, column; // of the chunk's first element
    sym::Expr m, n;        // extents of the output
};

// Emits the loads of the operands' fragments for this thread, and result := body(accumulator, operands). `accumulator`: 32 values of a
// thread in the order of accumulator_values(64); `result`: 32 values in that order.
void emit_epilogue(tile::Builder& b, const Epilogue& e, const EpilogueViews& views, const ChunkPlace& place, const tile::View& accumulator,
                   const tile::View& result);

} // namespace codetta::kernels::gemm
