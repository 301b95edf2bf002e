// The parameters of a program that computes (part of) a Problem: one pointer per operand or temporary it touches, one integer per size symbol.
#pragma once

#include <vector>

#include "codetta/kernels/kernel.h"
#include "codetta/problem/problem.h"
#include "codetta/scalar/dtype.h"
#include "codetta/tile/builder.h"

namespace codetta::kernels {

class Binding {
public:
    // Declares every size symbol of the problem as an integer parameter of the same name, with the problem's facts, and the operands (all, or those named) as parameters.
    Binding(const problem::Problem& p, tile::Builder& b);
    Binding(const problem::Problem& p, tile::Builder& b, const std::vector<problem::OperandId>& operands);
    // The memory of an operand as a flat buffer: a view of one element at offset 0.
    tile::View operand(problem::OperandId o) const;
    // Declares a temporary of the variant, by index, as the next parameter: before any own memory of the program.
    tile::View temporary(uint32_t index, const std::string& name, scalar::DType dtype, bool written);
    Kernel make(tile::Program program, int64_t grain = 1) const;

private:
    tile::Builder& b_;
    std::vector<PointerArgument> pointers_;
    std::vector<tile::View> views_;
    std::vector<sym::Expr> integers_;
};

// `v[offset + c * stride for c < extent]`: a one-mode view of the buffer behind v.
tile::View strided(const tile::View& v, sym::Expr offset, int64_t extent, sym::Expr stride);

} // namespace codetta::kernels
