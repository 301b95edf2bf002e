// Conversions between dtypes, with torch's results: nearest even, NaN kept quiet, out-of-range floats to the smallest integer.
#include "codetta/base/error.h"
#include "codetta/codegen/scalar_body.h"

namespace codetta::codegen {

using scalar::DType;

namespace {

bool is_small_float(DType t) { return t == DType::f16 || t == DType::bf16; }
bool is_signed(DType t) { return t != DType::u8 && t != DType::boolean; }

} // namespace

Value ScalarBody::widen_small(Value v, DType from) {
    auto* f32 = with_element(v, ir_.b.getFloatTy());
    if (from == DType::f16) return v.make(ir_.b.CreateFPExt(ir_.b.CreateBitCast(v.v, with_element(v, ir_.b.getHalfTy())), f32));
    return v.make(ir_.b.CreateBitCast(ir_.b.CreateShl(ir_.b.CreateZExt(v.v, with_element(v, ir_.b.getInt32Ty())), 16), f32));
}

Value ScalarBody::narrow_small(Value v, DType to) {
    auto* i16 = with_element(v, ir_.b.getInt16Ty());
    if (to == DType::f16) return v.make(ir_.b.CreateBitCast(ir_.b.CreateFPTrunc(v.v, with_element(v, ir_.b.getHalfTy())), i16));
    if (target_.has("avx512_bf16") && Ir::lanes(v.v) >= 4)
        return v.make(ir_.b.CreateBitCast(ir_.b.CreateFPTrunc(v.v, with_element(v, ir_.b.getBFloatTy())), i16));
    Value raw = bits(v);
    Value odd = shift_right_logical(raw, 16) & raw.integer(1);
    Value rounded = shift_right_logical(raw + (odd + raw.integer(0x7fff)), 16);
    Value nan = shift_right_logical(raw, 16) | raw.integer(0x40);
    Value result = select(is_nan(v), nan, rounded);
    return v.make(ir_.b.CreateTrunc(result.v, i16));
}

Value ScalarBody::narrow_to_odd(Value v) {
    Value rounded = narrow(v), back = widen(rounded);
    Value raw = bits(rounded);
    Value above = greater(abs(back), abs(v)); // rounded away from zero: step back
    Value inexact = v.make(ir_.b.CreateFCmpONE(back.v, v.v));
    Value truncated = raw - select(above, raw.integer(1), raw.integer(0));
    return as_float(select(inexact, truncated | raw.integer(1), raw));
}

// i64 and i32 by range, narrower types through i32.
Value ScalarBody::float_to_integer(Value v, DType to) {
    const bool wide = to == DType::i64;
    const int width = wide ? 64 : 32;
    const double limit = wide ? 0x1p63 : 0x1p31;
    Value inside = v.make(ir_.b.CreateFCmpOGE(v.v, v.constant(-limit).v)) & less(v, limit);
    auto* type = with_element(v, ir_.integer(width));
    Value cut = v.make(ir_.b.CreateFPToSI(select(inside, v, v.constant(0)).v, type));
    Value result = select(inside, cut, cut.integer(wide ? INT64_MIN : INT32_MIN));
    return v.make(ir_.b.CreateTrunc(result.v, with_element(v, ir_.type(to))));
}

Value ScalarBody::convert(Value v, DType from, DType to) {
    if (from == to) return v;
    const bool from_float = scalar::is_float(from), to_float = scalar::is_float(to);
    if (is_small_float(from) && to != DType::f32) return convert(widen_small(v, from), DType::f32, to);
    if (to == DType::boolean)
        return v.make(from_float ? ir_.b.CreateFCmpUNE(v.v, llvm::Constant::getNullValue(v.type()))
                                 : ir_.b.CreateICmpNE(v.v, llvm::Constant::getNullValue(v.type())));
    if (from_float && to_float) {
        if (is_small_float(from)) return widen_small(v, from);
        if (to == DType::f64) return widen(v);
        if (to == DType::f32) return narrow(v);
        return narrow_small(from == DType::f64 ? narrow_to_odd(v) : v, to);
    }
    if (from_float) return float_to_integer(v, to);
    if (to_float) {
        const auto through = [&](llvm::Type* element) {
            llvm::Type* type = with_element(v, element);
            return v.make(is_signed(from) ? ir_.b.CreateSIToFP(v.v, type) : ir_.b.CreateUIToFP(v.v, type));
        };
        if (to == DType::f64) return through(ir_.b.getDoubleTy());
        if (to == DType::f32) return through(ir_.b.getFloatTy());
        const bool narrow_source = from == DType::boolean || scalar::bytes(from) <= 2;
        return narrow_small(narrow_source ? through(ir_.b.getFloatTy()) : narrow_to_odd(through(ir_.b.getDoubleTy())), to);
    }
    llvm::Type* type = with_element(v, ir_.type(to));
    if (is_signed(from)) return v.make(ir_.b.CreateSExtOrTrunc(v.v, type));
    return v.make(ir_.b.CreateZExtOrTrunc(v.v, type));
}

llvm::Value* ScalarBody::from_memory(llvm::Value* v, DType t) {
    return t == DType::boolean ? ir_.b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

llvm::Value* ScalarBody::to_memory(llvm::Value* v, DType t) {
    return t == DType::boolean ? ir_.b.CreateZExt(v, ir_.lanes_of(ir_.b.getInt8Ty(), Ir::lanes(v))) : v;
}

} // namespace codetta::codegen
