#include "codetta/codegen/scalar_body.h"

#include "codetta/base/error.h"

namespace codetta::codegen {

using scalar::DType;
using scalar::Op;
using scalar::Prim;

namespace {

bool is_small(DType t) { return t == DType::f16 || t == DType::bf16; }

// x of x * normal_cdf(x) in f32.
std::optional<scalar::Value> gelu_argument(const scalar::Function& f, const Op& op) {
    if (op.prim != Prim::mul || op.dtype != DType::f32) return std::nullopt;
    for (size_t i = 0; i < 2; ++i)
        if (const Op& other = f.ops[op.inputs[i]]; other.prim == Prim::normal_cdf && other.inputs[0] == op.inputs[1 - i])
            return op.inputs[1 - i];
    return std::nullopt;
}

// A 16-bit value that was widened: under numerics=eager whatever an op reads was rounded first, and its result is that of the exact
// function.
bool is_widened(const scalar::Function& f, scalar::Value v) {
    return scalar::is_conversion(f.ops[v].prim) && is_small(f.ops[f.ops[v].inputs[0]].dtype);
}

// For each op: whether its value goes nowhere but into roundings to bf16.
std::vector<bool> rounded_to_bf16(const scalar::Function& f) {
    std::vector<bool> rounded(f.ops.size(), true), used(f.ops.size(), false);
    for (const Op& op : f.ops)
        for (const scalar::Value v : op.inputs) {
            used[v] = true;
            if (!scalar::is_conversion(op.prim) || op.dtype != DType::bf16) rounded[v] = false;
        }
    for (const scalar::Value v : f.results) rounded[v] = false;
    for (size_t v = 0; v < used.size(); ++v) rounded[v] = rounded[v] && used[v];
    return rounded;
}

} // namespace

ScalarBody::ScalarBody(Ir& ir, const base::Target& target) : ir_(ir), target_(target), math_(ir, target.has("avx512f")) {}

std::vector<llvm::Value*> ScalarBody::emit(const scalar::Function& f, std::span<llvm::Value* const> arguments, int lanes) {
    std::vector<Value> values;
    values.reserve(f.ops.size());
    const std::vector<bool> rounded = rounded_to_bf16(f);
    for (const Op& op : f.ops) {
        std::vector<Value> in;
        std::vector<DType> types;
        for (scalar::Value v : op.inputs) in.push_back(values[v]), types.push_back(f.ops[v].dtype);
        if (op.prim == Prim::parameter) {
            CODETTA_CHECK(static_cast<size_t>(op.int_value) < arguments.size(), "a scalar function got too few arguments");
            values.push_back({&ir_, arguments[static_cast<size_t>(op.int_value)]});
        } else if (op.prim == Prim::constant) {
            llvm::Constant* one = scalar::is_float(op.dtype) ? ir_.element(op.dtype, op.float_value)
                                                             : ir_.constant_integer(ir_.value_type(op.dtype), op.int_value);
            values.push_back({&ir_, ir_.repeat(one, lanes)});
        } else if (const auto x = gelu_argument(f, op); x && !special)
            values.push_back(rounded[values.size()] && !is_widened(f, *x) ? math_.gelu_for_bf16(values[*x]) : math_.gelu_f32(values[*x]));
        else
            values.push_back(apply(op, in, types, lanes));
    }
    std::vector<llvm::Value*> results;
    for (scalar::Value v : f.results) results.push_back(values[v].v);
    return results;
}

int64_t ScalarBody::cost(const scalar::Function& f) {
    int64_t total = 0;
    for (const Op& op : f.ops) {
        const bool wide = op.dtype == DType::f64;
        switch (op.prim) {
        case Prim::parameter:
        case Prim::constant: break;
        case Prim::exp:
        case Prim::exp2: total += wide ? 24 : 12; break;
        case Prim::sigmoid: total += wide ? 28 : 16; break;
        case Prim::log:
        case Prim::log2: total += 30; break;
        case Prim::tanh:
        case Prim::erf: total += wide ? 80 : 34; break;
        case Prim::normal_cdf: total += wide ? 100 : 30; break;
        case Prim::pow: total += 150; break;
        case Prim::expm1:
        case Prim::log1p:
        case Prim::sin:
        case Prim::cos:
        case Prim::tan:
        case Prim::asin:
        case Prim::acos:
        case Prim::atan:
        case Prim::sinh:
        case Prim::cosh: total += 80; break;
        case Prim::floor_div:
        case Prim::mod:
        case Prim::rem:
        case Prim::trunc_div: total += 40; break;
        case Prim::div:
        case Prim::sqrt:
        case Prim::rsqrt: total += 4; break;
        default: total += 1;
        }
    }
    return total;
}

Value ScalarBody::apply(const Op& op, std::span<const Value> in, std::span<const DType> types, int) {
    if (special)
        if (auto value = special(op, in, types)) return *value;
    if (scalar::is_conversion(op.prim)) return convert(in[0], types[0], op.dtype);
    if (op.prim == Prim::select) return select(in[0], in[1], in[2]);
    if (op.prim == Prim::is_nan) {
        if (!scalar::is_float(types[0])) return {&ir_, ir_.constant_integer(ir_.lanes_of(ir_.b.getInt1Ty(), Ir::lanes(in[0].v)), 0)};
        return is_nan(is_small(types[0]) ? widen_small(in[0], types[0]) : in[0]);
    }
    if (op.prim >= Prim::eq && op.prim <= Prim::ge) return compare(op.prim, in[0], in[1], types[0]);
    if (op.dtype == DType::boolean) return apply_bool(op, in);
    if (!scalar::is_float(op.dtype)) return apply_integer(op, in);
    if (is_small(op.dtype)) { // computed in f32, rounded once
        std::vector<Value> wide;
        for (Value v : in) wide.push_back(widen_small(v, op.dtype));
        Op same = op;
        same.dtype = DType::f32;
        return narrow_small(apply_float(same, wide), op.dtype);
    }
    return apply_float(op, in);
}

Value ScalarBody::compare(Prim p, Value a, Value b, DType t) {
    auto& ir = ir_.b;
    if (scalar::is_float(t)) {
        using P = llvm::CmpInst::Predicate;
        const P predicate = p == Prim::eq   ? P::FCMP_OEQ
                            : p == Prim::ne ? P::FCMP_UNE
                            : p == Prim::lt ? P::FCMP_OLT
                            : p == Prim::le ? P::FCMP_OLE
                            : p == Prim::gt ? P::FCMP_OGT
                                            : P::FCMP_OGE;
        if (is_small(t)) a = widen_small(a, t), b = widen_small(b, t);
        return a.make(ir.CreateFCmp(predicate, a.v, b.v));
    }
    const bool natural = t == DType::u8 || t == DType::boolean;
    using P = llvm::CmpInst::Predicate;
    const P predicate = p == Prim::eq   ? P::ICMP_EQ
                        : p == Prim::ne ? P::ICMP_NE
                        : p == Prim::lt ? (natural ? P::ICMP_ULT : P::ICMP_SLT)
                        : p == Prim::le ? (natural ? P::ICMP_ULE : P::ICMP_SLE)
                        : p == Prim::gt ? (natural ? P::ICMP_UGT : P::ICMP_SGT)
                                        : (natural ? P::ICMP_UGE : P::ICMP_SGE);
    return a.make(ir.CreateICmp(predicate, a.v, b.v));
}

namespace {

bool never_nan(Value v) {
    const auto* c = llvm::dyn_cast<llvm::Constant>(v.v);
    if (!c) return false;
    const auto* splat = c->getType()->isVectorTy() ? c->getSplatValue() : c;
    const auto* f = splat ? llvm::dyn_cast<llvm::ConstantFP>(splat) : nullptr;
    return f && !f->isNaN();
}

} // namespace

Value ScalarBody::apply_float(const Op& op, std::span<const Value> in) {
    const Value a = in[0], b = in.size() > 1 ? in[1] : Value{};
    switch (op.prim) {
    case Prim::add: return a + b;
    case Prim::sub: return a - b;
    case Prim::mul: return a * b;
    case Prim::div: return a / b;
    case Prim::fma: return fma(a, b, in[2]);
    case Prim::neg: return -a;
    case Prim::abs: return abs(a);
    case Prim::sign: {
        Value one = a.constant(1), zero = a.constant(0);
        return select(greater(a, 0.0), one, select(less(a, 0.0), a.constant(-1), zero));
    }
    case Prim::minimum:
    case Prim::maximum: {
        const auto better = [&](Value x, Value y) { return op.prim == Prim::minimum ? less(x, y) : greater(x, y); };
        if (never_nan(a)) return select(better(a, b), a, b); // a NaN in b stays
        Value result = select(better(b, a), b, a);           // a NaN in a stays
        return never_nan(b) ? result : select(is_nan(b) & ~is_nan(a), b, result);
    }
    case Prim::trunc_div: return trunc(a / b);
    case Prim::mod: {
        Value r = math_.remainder(a, b);
        Value other = less(r * copysign(b.constant(1), b), 0.0); // signs differ and r != 0
        return select(other, r + b, r);
    }
    case Prim::floor_div: { // c10::div_floor_floating
        Value r = math_.remainder(a, b), quotient = (a - r) / b;
        Value other = less(r * copysign(b.constant(1), b), 0.0);
        Value q = select(other, quotient - 1.0, quotient);
        Value whole = floor(q);
        Value result = select(greater(q - whole, 0.5), whole + 1.0, whole);
        result = select(equal(q, q.constant(0)), copysign(q.constant(0), a / b), result);
        return select(equal(b, b.constant(0)), a / b, result);
    }
    default: return math_.apply(op.prim, a, b);
    }
}

// bool as numbers 0 and 1, wrapped by "is not 0".
Value ScalarBody::apply_bool(const Op& op, std::span<const Value> in) {
    const Value a = in[0], b = in.size() > 1 ? in[1] : Value{};
    switch (op.prim) {
    case Prim::add:
    case Prim::maximum:
    case Prim::bit_or: return a | b;
    case Prim::sub:
    case Prim::bit_xor: return a ^ b;
    case Prim::mul:
    case Prim::minimum:
    case Prim::bit_and:
    case Prim::floor_div:
    case Prim::trunc_div: return a & b;
    case Prim::mod:
    case Prim::rem: return a.integer(0);
    case Prim::pow: return a | ~b;
    case Prim::bit_not: return ~a;
    case Prim::shift_left:
    case Prim::shift_right: return a & ~b;
    case Prim::neg:
    case Prim::abs:
    case Prim::sign: return a;
    default: throw base::InternalError(fmt::format("primitive {} on bool", scalar::to_string(op.prim)));
    }
}

Value ScalarBody::apply_integer(const Op& op, std::span<const Value> in) {
    auto& ir = ir_.b;
    const Value a = in[0], b = in.size() > 1 ? in[1] : Value{};
    const bool natural = op.dtype == DType::u8;
    const int64_t width = scalar::bytes(op.dtype) * 8;
    switch (op.prim) {
    case Prim::add: return a + b;
    case Prim::sub: return a - b;
    case Prim::mul: return a * b;
    case Prim::neg: return -a;
    case Prim::abs: return natural ? a : select(less(a, a.integer(0)), -a, a);
    case Prim::sign: {
        Value zero = a.integer(0), positive = select(equal(a, zero), zero, a.integer(1));
        return natural ? positive : select(less(a, zero), a.integer(-1), positive);
    }
    case Prim::minimum:
    case Prim::maximum: {
        const bool least = op.prim == Prim::minimum;
        const auto id =
            least ? (natural ? llvm::Intrinsic::umin : llvm::Intrinsic::smin) : (natural ? llvm::Intrinsic::umax : llvm::Intrinsic::smax);
        return a.make(ir_.call(id, {a.type()}, {a.v, b.v}));
    }
    case Prim::bit_and: return a & b;
    case Prim::bit_or: return a | b;
    case Prim::bit_xor: return a ^ b;
    case Prim::bit_not: return ~a;
    case Prim::shift_left:
    case Prim::shift_right: {
        Value inside = a.make(ir.CreateICmpULT(b.v, b.integer(width).v));
        if (op.prim == Prim::shift_left) return select(inside, a.make(ir.CreateShl(a.v, select(inside, b, b.integer(0)).v)), a.integer(0));
        if (natural) return select(inside, a.make(ir.CreateLShr(a.v, select(inside, b, b.integer(0)).v)), a.integer(0));
        return a.make(ir.CreateAShr(a.v, select(inside, b, b.integer(width - 1)).v));
    }
    case Prim::floor_div:
    case Prim::mod:
    case Prim::trunc_div:
    case Prim::rem: return divide(op.prim, a, b, op.dtype);
    case Prim::pow: return power(a, b, !natural);
    default: throw base::InternalError(fmt::format("primitive {} on {}", scalar::to_string(op.prim), scalar::to_string(op.dtype)));
    }
}

// No trap: a divisor 0 gives 0, -1 is a negation. Up to 32 bits the quotient is exact in doubles.
Value ScalarBody::divide(Prim p, Value a, Value b, DType t) {
    auto& ir = ir_.b;
    const bool natural = t == DType::u8;
    Value zero = a.integer(0), one = a.integer(1);
    Value by_zero = equal(b, zero), by_minus_one = natural ? by_zero : equal(b, a.integer(-1));
    Value safe = select(by_zero | by_minus_one, one, b), quotient = a;
    if (scalar::bytes(t) <= 4) {
        auto* d = with_element(a, ir.getDoubleTy());
        const auto convert = [&](Value v) { return v.make(natural ? ir.CreateUIToFP(v.v, d) : ir.CreateSIToFP(v.v, d)); };
        Value q = convert(a) / convert(safe);
        auto* wide = with_element(a, ir.getInt32Ty());
        quotient = a.make(ir.CreateTrunc(ir.CreateFPToSI(q.v, wide), a.type()));
    } else
        quotient = a.make(ir.CreateSDiv(a.v, safe.v));
    Value rest = a - quotient * safe;
    if (p == Prim::floor_div || p == Prim::mod) {
        Value below = natural ? a.make(llvm::Constant::getNullValue(by_zero.type())) : ~equal(rest, zero) & less(rest ^ safe, zero);
        quotient = quotient - select(below, one, zero);
        rest = rest + select(below, safe, zero);
    }
    if (p == Prim::mod || p == Prim::rem) return select(by_zero | by_minus_one, zero, rest);
    quotient = natural ? quotient : select(by_minus_one, -a, quotient);
    return select(by_zero, zero, quotient);
}

Value ScalarBody::power(Value base, Value exponent, bool is_signed) {
    auto& ir = ir_.b;
    auto *result = ir_.slot(base.type(), 1, 64), *factor = ir_.slot(base.type(), 1, 64), *left = ir_.slot(base.type(), 1, 64);
    ir.CreateStore(base.integer(1).v, result);
    ir.CreateStore(base.v, factor);
    ir.CreateStore(exponent.v, left);
    const auto width = static_cast<int64_t>(base.type()->getScalarSizeInBits());
    const auto load = [&](llvm::Value* slot) { return base.make(ir.CreateLoad(base.type(), slot)); };
    ir_.loop(ir_.i64(0), ir_.i64(width - 1 + !is_signed), ir_.i64(1), true, [&](llvm::Value*) {
        Value e = load(left), f = load(factor), r = load(result);
        Value odd = ~equal(e & e.integer(1), e.integer(0));
        ir.CreateStore(select(odd, r * f, r).v, result);
        ir.CreateStore((f * f).v, factor);
        ir.CreateStore(shift_right_logical(e, 1).v, left);
    });
    Value positive = load(result);
    if (!is_signed) return positive;
    Value one = base.integer(1), minus = base.integer(-1), zero = base.integer(0);
    Value odd = ~equal(exponent & one, zero);
    Value fraction = select(equal(base, one), one, select(equal(base, minus), select(odd, minus, one), zero));
    return select(less(exponent, zero), fraction, positive);
}

} // namespace codetta::codegen
