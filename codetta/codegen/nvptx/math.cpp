// The machine's approximate instructions, for bodies whose results are all rounded to 16 bits: their errors (2^-11 relative for tanh, 2^-22
// for the others) vanish in that rounding. Conversions to 16-bit floats are one instruction always.
#include "codetta/codegen/nvptx/statements.h"

namespace codetta::codegen::nvptx {

using scalar::DType;
using scalar::Prim;

namespace {

constexpr double kLog2E = 1.4426950408889634;

} // namespace

llvm::Value* NvptxStatements::round_to_small(llvm::Value* v, DType t) {
    const int lanes = Ir::lanes(v);
    llvm::Type* rounded = ir.lanes_of(t == DType::f16 ? ir.b.getHalfTy() : ir.b.getBFloatTy(), lanes);
    return ir.b.CreateBitCast(ir.b.CreateFPTrunc(v, rounded), ir.lanes_of(ir.type(t), lanes));
}

std::optional<Value> NvptxStatements::approximate(const scalar::Op& op, std::span<const Value> in, std::span<const DType> types) {
    if (scalar::is_conversion(op.prim) && types[0] == DType::f32 && (op.dtype == DType::bf16 || op.dtype == DType::f16))
        return in[0].make(round_to_small(in[0].v, op.dtype));
    if (!coarse_ || op.dtype != DType::f32 || types.empty() || types[0] != DType::f32) return std::nullopt;
    const auto machine = [&](const char* instruction, Value x) {
        return x.make(assembly(ir.b.getFloatTy(), std::string(instruction) + " $0, $1;", "=f,f", {x.v}, false));
    };
    const auto exp2 = [&](Value x) { return machine("ex2.approx.ftz.f32", x); };
    const auto reciprocal = [&](Value x) { return machine("rcp.approx.ftz.f32", x); };
    // Abramowitz and Stegun 7.1.26: erfc(z) = t (a1 + t (a2 + ...)) exp(-z^2), t = 1 / (1 + 0.3275911 z), for z >= 0; absolute
    // error 1.5e-7.
    const auto upper_tail = [&](Value z, Value square) {
        Value t = reciprocal(fma(z, 0.3275911, 1.0));
        Value p = fma(t, 1.061405429, -1.453152027);
        p = fma(p, t, 1.421413741);
        p = fma(p, t, -0.284496736);
        p = fma(p, t, 0.254829592);
        return p * t * exp2(square * -kLog2E);
    };
    Value x = in[0];
    switch (op.prim) {
    case Prim::tanh: return machine("tanh.approx.f32", x);
    case Prim::exp: return exp2(x * kLog2E);
    case Prim::exp2: return exp2(x);
    case Prim::sigmoid: return reciprocal(exp2(x * -kLog2E) + 1.0);
    case Prim::rsqrt: return machine("rsqrt.approx.ftz.f32", x);
    case Prim::sqrt: return machine("sqrt.approx.ftz.f32", x);
    case Prim::log2: return machine("lg2.approx.ftz.f32", x);
    case Prim::log: return machine("lg2.approx.ftz.f32", x) * (1 / kLog2E);
    case Prim::div: return x.make(assembly(ir.b.getFloatTy(), "div.full.ftz.f32 $0, $1, $2;", "=f,f,f", {x.v, in[1].v}, false));
    case Prim::normal_cdf: {
        Value z = abs(x) * 0.7071067811865476;
        // Without a comparison: 32 elements in flight would need more predicates than there are. The tail is absolutely as exact as 1 +
        // erf.
        Value from_middle = fma(upper_tail(z, z * z), -0.5, 0.5);
        return copysign(from_middle, x) + 0.5;
    }
    case Prim::erf: {
        Value z = abs(x);
        return copysign(z.constant(1) - upper_tail(z, z * z), x);
    }
    default: return std::nullopt;
    }
}

} // namespace codetta::codegen::nvptx
