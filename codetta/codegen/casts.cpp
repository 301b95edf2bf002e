// Conversions between dtypes, with torch's results: nearest even, NaN kept quiet, out-of-range floats to the smallest integer.
#include "codetta/base/error.h"
#include "codetta/codegen/scalar_body.h"

#include <algorithm>
#include <llvm/IR/IntrinsicsX86.h>

namespace codetta::codegen {

using scalar::DType;

namespace {

bool is_small_float(DType t) { return t == DType::f16 || t == DType::bf16; }
bool is_signed(DType t) { return t != DType::u8 && t != DType::boolean; }

constexpr int nearest_even = 0; // imm8 of VCVTPS2PH (Intel SDM vol. 2): rounding mode in bits 1:0, bit 2 would take MXCSR's

// As the machine's instruction, not as a truncation that LLVM may move: it turns half(copysign(float(x), y)) into
// copysign(half(float(x)), half(y)), and a y in f64 then calls a library.
llvm::Value* to_f16(Ir& ir, llvm::Value* v, bool wide_vectors) {
    const int lanes = Ir::lanes(v), width = lanes <= 4 ? 4 : wide_vectors && lanes >= 16 ? 16 : 8;
    auto* i16 = ir.b.getInt16Ty();
    std::vector<llvm::Value*> parts;
    for (int first = 0; first < lanes; first += width) {
        llvm::Value* part = v;
        if (lanes == 1)
            part = ir.b.CreateInsertElement(llvm::Constant::getNullValue(ir.lanes_of(v->getType(), width)), v, uint64_t{0});
        else if (lanes != width)
            part = ir.shuffle(v, v, width, [&](int i) { return std::min(first + i, lanes - 1); });
        if (width == 16) {
            auto* type = ir.lanes_of(i16, 16);
            part = ir.call(llvm::Intrinsic::x86_avx512_mask_vcvtps2ph_512, {},
                           {part, ir.b.getInt32(nearest_even), llvm::PoisonValue::get(type), ir.b.getInt16(0xffff)});
        } else
            part = ir.call(width == 8 ? llvm::Intrinsic::x86_vcvtps2ph_256 : llvm::Intrinsic::x86_vcvtps2ph_128, {},
                           {part, ir.b.getInt32(nearest_even)}); // both give 8 lanes
        parts.push_back(part);
    }
    if (lanes == 1) return ir.b.CreateExtractElement(parts[0], uint64_t{0});
    for (int known = width; known < lanes; known *= 2) { // pairs, so that all stay powers of two
        std::vector<llvm::Value*> wider;
        for (size_t i = 0; i < parts.size(); i += 2)
            wider.push_back(ir.shuffle(parts[i], parts[std::min(i + 1, parts.size() - 1)], 2 * known, [](int k) { return k; }));
        parts = std::move(wider);
    }
    return Ir::lanes(parts[0]) == lanes ? parts[0] : ir.shuffle(parts[0], parts[0], lanes, [](int k) { return k; });
}

} // namespace

Value ScalarBody::widen_small(Value v, DType from) {
    auto* f32 = with_element(v, ir_.b.getFloatTy());
    if (from == DType::f16) return v.make(ir_.b.CreateFPExt(ir_.b.CreateBitCast(v.v, with_element(v, ir_.b.getHalfTy())), f32));
    return v.make(ir_.b.CreateBitCast(ir_.b.CreateShl(ir_.b.CreateZExt(v.v, with_element(v, ir_.b.getInt32Ty())), 16), f32));
}

Value ScalarBody::narrow_small(Value v, DType to) {
    auto* i16 = with_element(v, ir_.b.getInt16Ty());
    if (to == DType::f16 && target_.has("f16c")) return v.make(to_f16(ir_, v.v, target_.has("avx512f")));
    if (to == DType::f16) return v.make(ir_.b.CreateBitCast(ir_.b.CreateFPTrunc(v.v, with_element(v, ir_.b.getHalfTy())), i16));
    // VCVTNEPS2BF16 takes subnormals for zeros (Intel SDM vol. 2). Kept all the same: right subnormals cost a bf16 addition 30 % of its
    // time.
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
        if (narrow_source) return narrow_small(through(ir_.b.getFloatTy()), to);
        if (from == DType::i64) { // beyond 2^53 the lowest bits go into an odd one: f64 is then exact and nothing rounds twice
            Value low = v & v.integer(0x7ff), up = v - low,
                  large = v.make(ir_.b.CreateICmpUGT((v + v.integer(1LL << 53)).v, v.integer(1LL << 54).v));
            Value odd = select(v.make(ir_.b.CreateICmpNE(low.v, v.integer(0).v)), up | v.integer(0x800), up);
            v = select(large, odd, v);
        }
        return narrow_small(narrow_to_odd(through(ir_.b.getDoubleTy())), to);
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
