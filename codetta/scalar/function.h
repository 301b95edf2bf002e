// The body of a pointwise computation: a short SSA list of primitives over its parameters. Written once per op; interpreted, printed,
// and turned into code for every target.
#pragma once

#include <bit>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codetta/scalar/dtype.h"

namespace codetta::scalar {

// Float arithmetic follows IEEE; NaN propagates through min/max (torch.minimum). Integer division by zero gives 0 in the interpreter and
// must not trap in code. div: true division (floats only); floor_div, mod: floored for integers and floats (Python's); trunc_div, rem: C's.
// shifts and bit operations: integers and bool; logic on bool by bit_and/bit_or/bit_xor/bit_not.
// normal_cdf(x) = (1 + erf(x / sqrt 2)) / 2, so gelu(x) = x * normal_cdf(x).
enum class Prim : uint8_t {
    parameter,
    constant,
    add,
    sub,
    mul,
    div,
    floor_div,
    mod,
    trunc_div,
    rem,
    neg,
    abs,
    sign,
    minimum,
    maximum,
    pow,
    fma,
    sqrt,
    rsqrt,
    exp,
    exp2,
    expm1,
    log,
    log2,
    log1p,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    tanh,
    erf,
    normal_cdf,
    sigmoid,
    floor,
    ceil,
    trunc,
    round, // round: half to even
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    is_nan,
    bit_and,
    bit_or,
    bit_xor,
    bit_not,
    shift_left,
    shift_right,
    select, // select(bool, a, b)
    cast,   // to Op::dtype; float -> integer truncates, float -> bool is != 0 (NaN is true), rounding to nearest even
    narrow, // the value of a cast to a 16-bit float, as the rounding that an op adds at its own result: no cast node of the user's graph
            // asks for it. See drop_narrowing.
};

inline bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

struct Scalar; // evaluate.h
class Lexer;   // lexer.h

using Value = uint32_t; // index of an Op in its Function

struct Op {
    Prim prim = Prim::constant;
    DType dtype = DType::f32;                          // of the result
    std::vector<Value> inputs;                         // earlier ops
    double float_value = 0;                            // constant of float dtype
    int64_t int_value = 0;                             // constant of integer or bool dtype; index of a parameter
    friend bool operator==(const Op& a, const Op& b) { // float constants by their bits: nan equals nan, 0.0 differs from -0.0
        return a.prim == b.prim && a.dtype == b.dtype && a.inputs == b.inputs && same_bits(a.float_value, b.float_value) &&
               a.int_value == b.int_value;
    }
};

// @post every input of ops[i] is < i; parameters come first, in order.
struct Function {
    std::vector<Op> ops;
    std::vector<Value> results;
    std::vector<DType> parameters() const;
    DType result_type(size_t i = 0) const { return ops[results[i]].dtype; }
    bool is_identity() const; // the one result is the only parameter
    friend bool operator==(const Function&, const Function&) = default;
};

// Builds a Function; equal ops are shared, constants folded, what costs nothing is dropped (x * 1, select of equals, a widening cast
// undone). A float op on 16-bit floats computes in f32 only when the op's entry says so by casts: the builder adds none.
class Builder {
public:
    Value parameter(DType t); // all parameters before any other op
    Value constant(DType t, double v);
    Value integer(DType t, int64_t v);
    Value apply(Prim p,
                std::span<const Value>
                    inputs); // result dtype: bool for comparisons, that of the (equal) operands otherwise; InternalError on a mismatch
    Value apply(Prim p, std::initializer_list<Value> inputs) { return apply(p, std::span<const Value>(inputs.begin(), inputs.size())); }
    Value cast(DType t, Value v);   // v itself when it has that type
    Value narrow(DType t, Value v); // v itself when it has that type; a cast when t is not a 16-bit float
    std::vector<Value> inline_call(const Function& f, std::span<const Value> arguments);
    DType type(Value v) const { return function_.ops[v].dtype; }
    // Drops ops that no result needs and numbers the rest in the order of a depth-first walk from the results, so that equal expressions
    // give equal functions.
    Function finish(std::vector<Value> results);

private:
    Value add(Op op); // or the equal op that is there
    Value literal(const Scalar& v);
    Value convert(Prim p, DType t, Value v);
    bool is_constant(Value v, double value) const;
    Function function_;
};

// f without roundings that nobody asked for: cast(t, narrow(x)) becomes cast(t, x). For fused bodies under options={"numerics":
// "contract"}; with "eager" they all stay.
Function drop_narrowing(const Function& f);
Function canonicalise(const Function& f); // f rebuilt by a Builder; @post canonicalise(canonicalise(f)) == canonicalise(f), same values
Function identity(DType t);
Function cast_function(DType from, DType to);

int arity(Prim p);          // of parameter and constant: 0
bool is_conversion(Prim p); // cast, narrow: the result's dtype is the op's own
// The dtype of p's result (not cast, parameter, constant); InternalError naming p and the operand types when they do not fit.
DType result_type(Prim p, std::span<const DType> inputs);
std::string_view to_string(Prim p);
std::optional<Prim> find_prim(std::string_view text);
Prim parse_prim(std::string_view text); // UserError with the nearest name

// `(%0: f32, %1: f32) -> f32 { %2 = add %0, %1; %3 = constant.f32 0.5; ...; return %4 }`, one line; floats in shortest exact form (nan,
// inf, -inf).
// @post parse_function(to_string(f)) == f
std::string to_string(const Function& f);
std::string to_string_list(const Function& f); // the part between the braces; expression.h prints a function as an expression
// Reads what to_string_list wrote, up to and with its `return`.
Function parse_function_list(Lexer& lexer, std::span<const DType> parameters);
Function parse_function(std::string_view text); // UserError "line L, column C: ..."
void verify(const Function& f);                 // InternalError naming the op

} // namespace codetta::scalar
