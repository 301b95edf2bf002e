// Sine, cosine, tangent and their inverses in double precision.
#include "codetta/codegen/math/coefficients.h"
#include "codetta/codegen/math/math.h"

#include <cmath>
#include <limits>

namespace codetta::codegen {

namespace {

// pi/2 in three doubles; the first two have 33 bits, so that n * part is exact for |n| < 2^20.
constexpr double kPart1 = 0x1.921fb54400000p+0, kPart2 = 0x1.0b4611a600000p-34, kPart3 = 0x1.3198a2e037073p-69;
constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
constexpr double kHuge = 1e6; // beyond: the long way

} // namespace

// One double by exact integer arithmetic (Payne and Hanek): x = mantissa * 2^e; the product with the right 192 bits of 2/pi gives the
// quadrant and the fraction. { i64 quadrant, double high, double low } huge(double x)
llvm::Function* Math::huge_reduction() {
    if (huge_) return huge_;
    auto& b = ir_.b;
    auto* d = b.getDoubleTy();
    auto* i64 = b.getInt64Ty();
    auto* i128 = b.getInt128Ty();
    auto* result = llvm::StructType::get(ir_.context, {i64, d, d});
    huge_ =
        llvm::Function::Create(llvm::FunctionType::get(result, {d}, false), llvm::Function::InternalLinkage, "huge_argument", ir_.module);
    huge_->addFnAttr(llvm::Attribute::NoInline);
    huge_->addFnAttr(llvm::Attribute::NoUnwind);
    llvm::SmallVector<uint64_t, 24> words(k_two_over_pi.begin(), k_two_over_pi.end());
    auto* data = llvm::ConstantDataArray::get(ir_.context, llvm::ArrayRef<uint64_t>(words));
    auto* table = new llvm::GlobalVariable(ir_.module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, "two_over_pi");

    llvm::IRBuilderBase::InsertPointGuard guard(b);
    b.SetInsertPoint(llvm::BasicBlock::Create(ir_.context, "entry", huge_));
    llvm::Value* x = huge_->getArg(0);
    llvm::Value* raw = b.CreateBitCast(x, i64);
    llvm::Value* exponent = b.CreateAnd(b.CreateLShr(raw, 52), ir_.i64(0x7ff));
    llvm::Value* mantissa = b.CreateOr(b.CreateAnd(raw, ir_.i64(0x000fffffffffffff)), ir_.i64(0x0010000000000000));
    // |x| = mantissa * 2^(exponent - 1075). Bits of 2/pi that weigh 4 or more after the product cannot matter: start `skip` bits in.
    llvm::Value* e = b.CreateSub(exponent, ir_.i64(1075));
    llvm::Value* start =
        b.CreateSub(e, ir_.i64(2)); // bit i (from 0) of 2/pi weighs 2^-(i+1); mantissa * 2^e * 2^-(i+1) >= 4 for i + 1 <= e - 2
    start = b.CreateSelect(b.CreateICmpSLT(start, ir_.i64(0)), ir_.i64(0), start);
    llvm::Value* word = b.CreateLShr(start, 6);
    llvm::Value* shift = b.CreateAnd(start, ir_.i64(63));
    const auto load = [&](int i) { return b.CreateLoad(i64, b.CreateGEP(i64, table, b.CreateAdd(word, ir_.i64(i)))); };
    llvm::Value* w[4] = {load(0), load(1), load(2), load(3)};
    llvm::Value* chunk[3];
    for (int i = 0; i < 3; ++i) chunk[i] = b.CreateIntrinsic(llvm::Intrinsic::fshl, {i64}, {w[i], w[i + 1], shift});
    // product = mantissa * (chunk0 chunk1 chunk2) as a number of 64 + 192 bits; scaled by 2^(e - start - 192)
    const auto wide = [&](llvm::Value* v) { return b.CreateZExt(v, i128); };
    llvm::Value* p2 = b.CreateMul(wide(mantissa), wide(chunk[2]));
    llvm::Value* p1 = b.CreateAdd(b.CreateMul(wide(mantissa), wide(chunk[1])), b.CreateLShr(p2, 64));
    llvm::Value* p0 = b.CreateAdd(b.CreateMul(wide(mantissa), wide(chunk[0])), b.CreateLShr(p1, 64));
    llvm::Value* low1 = b.CreateTrunc(p1, i64);
    llvm::Value* low0 = b.CreateTrunc(p0, i64);
    llvm::Value* high0 = b.CreateTrunc(b.CreateLShr(p0, 64), i64);
    // The binary point lies e - start bits above the top of chunk 0: left = e - start is 2 (or less for small e, which never comes here:
    // |x| > 1e6).
    llvm::Value* point = b.CreateSub(e, start); // <= 2; negative when start was cut to 0
    // Bits high0:low0:low1 with the point (64 - point) above low0's ... move left so that the two integer bits are on top of `top`.
    // value = (high0:low0:low1...) * 2^(point - 64) in units of low0's top = 2^-1 * 2^point; we want fraction bits left-aligned.
    llvm::Value* all = b.CreateOr(b.CreateShl(wide(high0), 64), wide(low0)); // weight of bit 64 (high0's bit 0): 2^point
    llvm::Value* up = b.CreateAdd(point, ir_.i64(62)); // after this shift bit 126 weighs 1 ... two integer bits on top
    up = b.CreateAnd(up, ir_.i64(127));
    llvm::Value* below = wide(low1);
    // (all << up) | (low1 >> (64 - up)) for up <= 64
    llvm::Value* shifted = b.CreateOr(b.CreateShl(all, wide(up)), b.CreateLShr(b.CreateShl(below, wide(up)), 64));
    llvm::Value* rounded = b.CreateAdd(shifted, b.CreateShl(llvm::ConstantInt::get(i128, 1), 125)); // + 1/2 in units of bit 126
    llvm::Value* quadrant = b.CreateTrunc(b.CreateLShr(rounded, 126), i64);
    // signed fraction in [-1/2, 1/2): the bits below 126, as a signed 127-bit number
    llvm::Value* fraction = b.CreateSub(shifted, b.CreateShl(wide(quadrant), 126));
    llvm::Value* top = b.CreateTrunc(b.CreateAShr(fraction, 64), i64);
    llvm::Value* rest = b.CreateTrunc(fraction, i64);
    // high part: 53 exact bits of top, low part: what is left
    llvm::Value* f_high = b.CreateSIToFP(b.CreateAnd(top, ir_.i64(~int64_t{0x3ff})), d);
    llvm::Value* f_low = b.CreateFAdd(b.CreateSIToFP(b.CreateAnd(top, ir_.i64(0x3ff)), d),
                                      b.CreateFMul(b.CreateUIToFP(rest, d), llvm::ConstantFP::get(d, 0x1p-64)));
    f_high = b.CreateFMul(f_high, llvm::ConstantFP::get(d, 0x1p-62)); // bit 126 of 128 is bit 62 of top
    f_low = b.CreateFMul(f_low, llvm::ConstantFP::get(d, 0x1p-62));
    // times pi/2 in two parts
    constexpr double pi_high = 0x1.921fb54442d18p+0, pi_low = 0x1.1a62633145c07p-54;
    llvm::Value* ph = llvm::ConstantFP::get(d, pi_high);
    llvm::Value* r_high = b.CreateFMul(f_high, ph);
    llvm::Value* r_low = ir_.fma(f_high, ph, b.CreateFNeg(r_high));
    r_low = ir_.fma(f_high, llvm::ConstantFP::get(d, pi_low), ir_.fma(f_low, ph, r_low));
    // odd in x
    llvm::Value* negative = b.CreateICmpSLT(raw, ir_.i64(0));
    quadrant = b.CreateSelect(negative, b.CreateNeg(quadrant), quadrant);
    r_high = b.CreateSelect(negative, b.CreateFNeg(r_high), r_high);
    r_low = b.CreateSelect(negative, b.CreateFNeg(r_low), r_low);
    llvm::Value* packed = llvm::PoisonValue::get(result);
    packed = b.CreateInsertValue(packed, quadrant, 0);
    packed = b.CreateInsertValue(packed, r_high, 1);
    packed = b.CreateInsertValue(packed, r_low, 2);
    b.CreateRet(packed);
    return huge_;
}

Math::Reduced Math::reduce(Value x) {
    auto& b = ir_.b;
    Value n = round(lower(raise(x, -kHuge), kHuge) * kTwoOverPi);
    Value first = fma(n, -kPart1, x); // exact
    Value second = n * kPart2;        // exact
    Value high = first - second;
    Value low = (first - high) - second;
    low = fma(n, -kPart3, low);
    Value r = high + low;
    low = (high - r) + low;
    Value quadrant = to_integer(n);

    // Lanes beyond the short way's range, one by one.
    Value is_huge = greater(abs(x), kHuge) & less(abs(x), std::numeric_limits<double>::infinity());
    const int lanes = Ir::lanes(x.v);
    llvm::Value* any = lanes == 1 ? is_huge.v : b.CreateOrReduce(is_huge.v);
    auto *before = b.GetInsertBlock(), *slow = ir_.block("huge"), *join = ir_.block("reduced");
    b.CreateCondBr(any, slow, join);
    b.SetInsertPoint(slow);
    llvm::Function* huge = huge_reduction();
    llvm::Value *q = quadrant.v, *h = r.v, *l = low.v;
    if (lanes == 1) {
        llvm::Value* one = b.CreateCall(huge, {x.v});
        q = b.CreateExtractValue(one, 0), h = b.CreateExtractValue(one, 1), l = b.CreateExtractValue(one, 2);
    } else {
        auto* d = b.getDoubleTy();
        auto *xs = ir_.slot(d, lanes, 64), *hs = ir_.slot(d, lanes, 64), *ls = ir_.slot(d, lanes, 64),
             *qs = ir_.slot(b.getInt64Ty(), lanes, 64);
        b.CreateAlignedStore(x.v, xs, llvm::Align(64));
        b.CreateAlignedStore(r.v, hs, llvm::Align(64));
        b.CreateAlignedStore(low.v, ls, llvm::Align(64));
        b.CreateAlignedStore(quadrant.v, qs, llvm::Align(64));
        ir_.loop(ir_.i64(0), ir_.i64(lanes), ir_.i64(1), true, [&](llvm::Value* lane) {
            llvm::Value* value = b.CreateLoad(d, b.CreateGEP(d, xs, lane));
            llvm::Value* size = ir_.unary(llvm::Intrinsic::fabs, value);
            llvm::Value* now = b.CreateAnd(b.CreateFCmpOGT(size, llvm::ConstantFP::get(d, kHuge)),
                                           b.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(d)));
            ir_.branch(now, [&] {
                llvm::Value* one = b.CreateCall(huge, {value});
                b.CreateStore(b.CreateExtractValue(one, 0), b.CreateGEP(b.getInt64Ty(), qs, lane));
                b.CreateStore(b.CreateExtractValue(one, 1), b.CreateGEP(d, hs, lane));
                b.CreateStore(b.CreateExtractValue(one, 2), b.CreateGEP(d, ls, lane));
            });
        });
        q = b.CreateAlignedLoad(quadrant.type(), qs, llvm::Align(64));
        h = b.CreateAlignedLoad(r.type(), hs, llvm::Align(64));
        l = b.CreateAlignedLoad(low.type(), ls, llvm::Align(64));
    }
    auto* slow_end = b.GetInsertBlock();
    b.CreateBr(join);
    b.SetInsertPoint(join);
    const auto merge = [&](Value fast, llvm::Value* other) {
        auto* phi = b.CreatePHI(fast.type(), 2);
        phi->addIncoming(fast.v, before);
        phi->addIncoming(other, slow_end);
        return fast.make(phi);
    };
    Reduced result{merge(quadrant, q), merge(r, h), merge(low, l)};
    // inf and NaN: NaN
    Value bad = ~less(abs(x), std::numeric_limits<double>::infinity());
    result.high = select(bad, x.constant(std::nan("")), result.high);
    return result;
}

namespace {

Value sine_core(Value r, Value low) { // sin(r + low)
    Value z = r * r;
    Value tail = polynomial(z, k_f64_sin) * z * r;
    return r + (tail + fma(z * -0.5, low, low));
}

Value cosine_core(Value r, Value low) {
    Value z = r * r, half = z * 0.5;
    Value one_minus = half.constant(1) - half;
    Value error = (half.constant(1) - one_minus) - half;
    Value tail = fma(polynomial(z, k_f64_cos), z * z, error - r * low);
    return one_minus + tail;
}

} // namespace

// sin(x + shift * pi/2)
Value Math::sine(Reduced r, int shift) {
    Value q = r.quadrant + r.quadrant.integer(shift);
    Value one = q.integer(1), two = q.integer(2), zero = q.integer(0);
    Value s = sine_core(r.high, r.low), c = cosine_core(r.high, r.low);
    Value odd = ~equal(q & one, zero);
    Value result = select(odd, c, s);
    return select(equal(q & two, zero), result, -result);
}

Value Math::tangent(Reduced r) {
    Value q = r.quadrant;
    Value s = sine_core(r.high, r.low), c = cosine_core(r.high, r.low);
    Value odd = ~equal(q & q.integer(1), q.integer(0));
    return select(odd, -c, s) / select(odd, s, c);
}

// |x| > tan(3 pi/8): pi/2 - atan(1/x); > tan(pi/8): pi/4 + atan((x-1)/(x+1)).
Value Math::atan_f64(Value x) {
    constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
    Value a = abs(x);
    Value far = greater(a, 2.414213562373095), middle = greater(a, 0.41421356237309503);
    Value t = select(far, a.constant(-1) / a, select(middle, (a - 1.0) / (a + 1.0), a));
    Value z = t * t;
    Value base = select(far, a.constant(half_pi), select(middle, a.constant(half_pi / 2), a.constant(0)));
    Value base_low = select(far, a.constant(half_pi_low), select(middle, a.constant(half_pi_low / 2), a.constant(0)));
    Value tail = fma(polynomial(z, k_f64_atan) * z, t, base_low);
    Value result = base + (t + tail);
    return select(is_nan(x), x, copysign(result, x));
}

// |x| > 1/2: pi/2 - 2 asin(sqrt((1 - |x|) / 2)), the root in two parts.
Value Math::asin_f64(Value x) {
    constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
    Value a = abs(x);
    Value large = greater(a, 0.5);
    Value z = select(large, (a.constant(1) - a) * 0.5, a * a);
    Value root = sqrt(z);
    Value s = select(large, root, a);
    Value series = polynomial(z, k_f64_asin) * z * s;
    Value root_low = fma(-root, root, z) / (root + root);
    root_low = select(equal(root, root.constant(0)), root.constant(0), root_low);
    Value outer = a.constant(half_pi) - (root * 2.0 - (a.constant(half_pi_low) - (root_low + series) * 2.0));
    Value result = select(large, outer, s + series);
    result = copysign(result, x);
    return select(less(a, 1.0) | equal(a, a.constant(1)), result, x.constant(std::nan("")));
}

Value Math::acos_f64(Value x) {
    constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
    Value a = abs(x);
    Value large = greater(a, 0.5);
    Value z = select(large, (a.constant(1) - a) * 0.5, a * a);
    Value root = sqrt(z);
    Value series = polynomial(z, k_f64_asin) * z;
    Value root_low = fma(-root, root, z) / (root + root);
    root_low = select(equal(root, root.constant(0)), root.constant(0), root_low);
    Value near_one = (root + fma(series, root, root_low)) * 2.0;
    Value outer = select(less(x, 0.0), a.constant(2 * half_pi) - (near_one - 2 * half_pi_low), near_one);
    Value inner = a.constant(half_pi) - (x - (a.constant(half_pi_low) - series * x));
    Value result = select(large, outer, inner);
    return select(less(a, 1.0) | equal(a, a.constant(1)), result, x.constant(std::nan("")));
}

} // namespace codetta::codegen
