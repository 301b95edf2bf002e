// scalar::Function -> code on vectors of `lanes` elements (one lane: scalars). bool lives as i1 in values and as i8 in memory.
#pragma once

#include "codetta/base/target.h"
#include "codetta/codegen/math/math.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace codetta::codegen {

class ScalarBody {
public:
    ScalarBody(Ir& ir, const base::Target& target);

    /// @pre arguments are values of the parameters' dtypes
    std::vector<llvm::Value*> emit(const scalar::Function& f, std::span<llvm::Value* const> arguments, int lanes);

    llvm::Value* from_memory(llvm::Value* v, scalar::DType t); ///< i8 -> i1 for bool
    llvm::Value* to_memory(llvm::Value* v, scalar::DType t);

    /// Asked first for every op: a machine's own way to compute it, or nullopt.
    std::function<std::optional<Value>(const scalar::Op&, std::span<const Value>, std::span<const scalar::DType>)> special;

    /// A rough count of instructions per vector: decides whether a map is unrolled.
    static int64_t cost(const scalar::Function& f);

private:
    Value apply(const scalar::Op& op, std::span<const Value> in, std::span<const scalar::DType> types, int lanes);
    Value apply_float(const scalar::Op& op, std::span<const Value> in);
    Value apply_integer(const scalar::Op& op, std::span<const Value> in);
    Value apply_bool(const scalar::Op& op, std::span<const Value> in);
    Value compare(scalar::Prim p, Value a, Value b, scalar::DType t);
    Value divide(scalar::Prim p, Value a, Value b, scalar::DType t);
    Value power(Value base, Value exponent, bool is_signed);

    // casts.cpp
    Value convert(Value v, scalar::DType from, scalar::DType to);
    Value widen_small(Value v, scalar::DType from);  ///< f16, bf16 -> f32
    Value narrow_small(Value v, scalar::DType to);   ///< f32 -> f16, bf16 (as i16), to nearest even
    Value narrow_to_odd(Value v);                    ///< f64 -> f32, inexact results made odd: a second rounding is then harmless
    Value float_to_integer(Value v, scalar::DType to);

    Ir& ir_;
    const base::Target& target_;
    Math math_;
};

} // namespace codetta::codegen
