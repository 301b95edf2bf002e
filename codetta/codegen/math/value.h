// Value: arithmetic on LLVM values written as formulas. Vectors or scalars, float or integer by their type.
#pragma once

#include "codetta/codegen/ir.h"

namespace codetta::codegen {

struct Value {
    Ir* ir = nullptr;
    llvm::Value* v = nullptr;

    llvm::Type* type() const { return v->getType(); }
    bool is_float() const { return type()->isFPOrFPVectorTy(); }
    Value make(llvm::Value* value) const { return {ir, value}; }
    Value constant(double c) const { return make(ir->constant(type(), c)); }
    Value integer(int64_t c) const { return make(ir->constant_integer(type(), c)); }
};

inline Value operator+(Value a, Value b) { return a.make(a.is_float() ? a.ir->b.CreateFAdd(a.v, b.v) : a.ir->b.CreateAdd(a.v, b.v)); }
inline Value operator-(Value a, Value b) { return a.make(a.is_float() ? a.ir->b.CreateFSub(a.v, b.v) : a.ir->b.CreateSub(a.v, b.v)); }
inline Value operator*(Value a, Value b) { return a.make(a.is_float() ? a.ir->b.CreateFMul(a.v, b.v) : a.ir->b.CreateMul(a.v, b.v)); }
inline Value operator/(Value a, Value b) { return a.make(a.ir->b.CreateFDiv(a.v, b.v)); }
inline Value operator-(Value a) { return a.make(a.is_float() ? a.ir->b.CreateFNeg(a.v) : a.ir->b.CreateNeg(a.v)); }
inline Value operator+(Value a, double b) { return a + a.constant(b); }
inline Value operator-(Value a, double b) { return a - a.constant(b); }
inline Value operator*(Value a, double b) { return a * a.constant(b); }
inline Value operator&(Value a, Value b) { return a.make(a.ir->b.CreateAnd(a.v, b.v)); }
inline Value operator|(Value a, Value b) { return a.make(a.ir->b.CreateOr(a.v, b.v)); }
inline Value operator^(Value a, Value b) { return a.make(a.ir->b.CreateXor(a.v, b.v)); }
inline Value operator~(Value a) { return a.make(a.ir->b.CreateNot(a.v)); }

inline Value fma(Value a, Value b, Value c) { return a.make(a.ir->fma(a.v, b.v, c.v)); }
inline Value fma(Value a, double b, Value c) { return fma(a, a.constant(b), c); }
inline Value fma(Value a, Value b, double c) { return fma(a, b, a.constant(c)); }
inline Value fma(Value a, double b, double c) { return fma(a, a.constant(b), a.constant(c)); }
inline Value abs(Value a) { return a.make(a.ir->unary(llvm::Intrinsic::fabs, a.v)); }
inline Value sqrt(Value a) { return a.make(a.ir->unary(llvm::Intrinsic::sqrt, a.v)); }
inline Value floor(Value a) { return a.make(a.ir->unary(llvm::Intrinsic::floor, a.v)); }
inline Value trunc(Value a) { return a.make(a.ir->unary(llvm::Intrinsic::trunc, a.v)); }
inline Value round(Value a) { return a.make(a.ir->unary(llvm::Intrinsic::roundeven, a.v)); }
inline Value copysign(Value magnitude, Value sign) {
    return magnitude.make(magnitude.ir->call(llvm::Intrinsic::copysign, {magnitude.type()}, {magnitude.v, sign.v}));
}

inline Value less(Value a, Value b) { return a.make(a.is_float() ? a.ir->b.CreateFCmpOLT(a.v, b.v) : a.ir->b.CreateICmpSLT(a.v, b.v)); }
inline Value greater(Value a, Value b) { return less(b, a); }
inline Value equal(Value a, Value b) { return a.make(a.is_float() ? a.ir->b.CreateFCmpOEQ(a.v, b.v) : a.ir->b.CreateICmpEQ(a.v, b.v)); }
inline Value less(Value a, double b) { return less(a, a.constant(b)); }
inline Value greater(Value a, double b) { return greater(a, a.constant(b)); }
inline Value is_nan(Value a) { return a.make(a.ir->b.CreateFCmpUNO(a.v, a.v)); }
inline Value select(Value condition, Value a, Value b) { return a.make(a.ir->b.CreateSelect(condition.v, a.v, b.v)); }
/// One instruction on x86; a NaN in `a` stays, one in `b` gives a.
inline Value raise(Value a, double b) { return select(less(a, b), a.constant(b), a); }
inline Value lower(Value a, double b) { return select(greater(a, b), a.constant(b), a); }

inline llvm::Type* with_element(Value a, llvm::Type* element) { return a.ir->lanes_of(element, Ir::lanes(a.v)); }
inline Value bits(Value a) { // the integer with the same bits
    return a.make(a.ir->b.CreateBitCast(a.v, with_element(a, a.ir->integer(static_cast<int>(a.type()->getScalarSizeInBits())))));
}
inline Value as_float(Value a) {
    return a.make(a.ir->b.CreateBitCast(a.v, with_element(a, a.type()->getScalarSizeInBits() == 64 ? a.ir->b.getDoubleTy() : a.ir->b.getFloatTy())));
}
inline Value shift_left(Value a, int by) { return a.make(a.ir->b.CreateShl(a.v, static_cast<uint64_t>(by))); }
inline Value shift_right_logical(Value a, int by) { return a.make(a.ir->b.CreateLShr(a.v, static_cast<uint64_t>(by))); }
inline Value shift_right(Value a, int by) { return a.make(a.ir->b.CreateAShr(a.v, static_cast<uint64_t>(by))); }
/// Float to the integer of the same width; only for values that fit.
inline Value to_integer(Value a) { return a.make(a.ir->b.CreateFPToSI(a.v, with_element(a, a.ir->integer(static_cast<int>(a.type()->getScalarSizeInBits()))))); }
inline Value to_float(Value a) {
    return a.make(a.ir->b.CreateSIToFP(a.v, with_element(a, a.type()->getScalarSizeInBits() == 64 ? a.ir->b.getDoubleTy() : a.ir->b.getFloatTy())));
}
inline Value widen(Value a) { return a.make(a.ir->b.CreateFPExt(a.v, with_element(a, a.ir->b.getDoubleTy()))); }
inline Value narrow(Value a) { return a.make(a.ir->b.CreateFPTrunc(a.v, with_element(a, a.ir->b.getFloatTy()))); }

/// Coefficients lowest degree first. Horner: the terms may cancel.
template <class Table>
Value horner(Value x, const Table& c) {
    Value p = x.constant(c.back());
    for (size_t i = c.size() - 1; i-- > 0;) p = fma(p, x, c[i]);
    return p;
}

/// The same in two chains, of the even and of the odd powers: half of Horner's latency for one more operation.
template <class Table>
Value polynomial(Value x, const Table& c) {
    const auto chain = [&](Value step, size_t first, size_t stride) {
        size_t last = first + (c.size() - 1 - first) / stride * stride;
        Value p = x.constant(c[last]);
        while (last > first) {
            last -= stride;
            p = fma(p, step, c[last]);
        }
        return p;
    };
    if (c.size() < 5) return chain(x, 0, 1);
    Value square = x * x;
    return fma(chain(square, 1, 2), x, chain(square, 0, 2));
}

} // namespace codetta::codegen
