// Pointwise operations: torch's type promotion becomes explicit casts, Python numbers become the attribute `scalar`.
#include "codetta/base/error.h"
#include "codetta/frontends/aten/translator.h"

namespace codetta::frontends::aten {

namespace {

using scalar::DType;

DType as_float(DType t) { return scalar::is_float(t) ? t : DType::f32; }

std::string name_of(std::string_view op) { return std::string(op); }

// One operand, dtype kept.
void unary(Translator& t, std::string_view op) { t.result(t.add(name_of(op), {t.tensor("self")})); }

// One operand; integers and bool are computed as f32, torch's default dtype.
void unary_float(Translator& t, std::string_view op) {
    t.result(t.add(name_of(op), {t.cast(t.tensor("self"), as_float(t.type("self").dtype))}));
}

// floor, ceil ...: integers are their own result.
void rounding(Translator& t, std::string_view op) {
    if (!scalar::is_float(t.type("self").dtype)) return t.result(t.tensor("self"));
    if (t.node().target == "aten.round.decimals") t.refuse("rounding to decimals is not supported");
    unary(t, op);
}

// isnan, isinf of integers is false everywhere; asked so rarely that a comparison does.
void test_float(Translator& t, std::string_view op) {
    const ValueId x = t.tensor("self");
    t.result(scalar::is_float(t.type(x).dtype) ? t.add(name_of(op), {x}) : t.add("ne", {x, x}));
}

// op(first, second) in dtype `compute`; at most one of the two is a number.
ValueId binary_of(Translator& t, std::string_view op, std::string_view first, std::string_view second, DType compute,
                  graph::Attributes attributes = {}) {
    Operands operands;
    for (std::string_view name : {first, second}) {
        if (t.is_tensor(name)) {
            operands.emplace_back(t.cast(t.tensor(name), compute));
        } else {
            attributes["scalar"] = t.number(name);
            operands.emplace_back(std::nullopt);
        }
    }
    return t.add(name_of(op), operands, std::move(attributes));
}

ValueId with_dtype(Translator& t, ValueId v) { return t.wanted(0) ? t.cast(v, t.promised().dtype) : v; }

void binary(Translator& t, std::string_view op) {
    t.result(with_dtype(t, binary_of(t, op, "self", "other", t.promoted({"self", "other"}))));
}

void binary_alpha(Translator& t, std::string_view op) {
    graph::Attributes attributes;
    if (t.has("alpha")) attributes["alpha"] = t.number("alpha");
    t.result(binary_of(t, op, "self", "other", t.promoted({"self", "other"}), std::move(attributes)));
}

// other - alpha * self
void reversed_subtraction(Translator& t, std::string_view) {
    graph::Attributes attributes;
    if (t.has("alpha")) attributes["alpha"] = t.number("alpha");
    t.result(binary_of(t, "sub", "other", "self", t.promoted({"self", "other"}), std::move(attributes)));
}

void division(Translator& t, std::string_view) {
    const DType common = t.promoted({"self", "other"});
    const std::string mode = t.text("rounding_mode", "none");
    graph::Attributes attributes;
    if (mode != "none") attributes["rounding_mode"] = mode;
    t.result(binary_of(t, "div", "self", "other", mode == "none" ? as_float(common) : common, std::move(attributes)));
}

void floor_division(Translator& t, std::string_view) {
    t.result(binary_of(t, "div", "self", "other", t.promoted({"self", "other"}), {{"rounding_mode", std::string("floor")}}));
}

void power(Translator& t, std::string_view) { t.result(binary_of(t, "pow", "self", "exponent", t.promoted({"self", "exponent"}))); }

void square(Translator& t, std::string_view) { t.result(t.add("mul", {t.tensor("self"), t.tensor("self")})); }

void logical_not(Translator& t, std::string_view op) { t.result(t.add(name_of(op), {t.tensor("self")})); }

void where(Translator& t, std::string_view) {
    const DType common = t.promoted({"self", "other"});
    const ValueId condition = t.cast(t.tensor("condition"), DType::boolean);
    Operands operands = {condition};
    for (std::string_view name : {"self", "other"})
        operands.emplace_back(t.is_tensor(name)
                                  ? t.cast(t.tensor(name), common)
                                  : t.add("full", {}, {{"shape", std::vector<sym::Expr>{}}, {"value", t.number(name)}, {"dtype", common}}));
    t.result(t.add("where", operands));
}

void masked_fill(Translator& t, std::string_view) {
    const DType dtype = t.type("self").dtype;
    const ValueId value = t.is_tensor("value")
                              ? t.cast(t.tensor("value"), dtype)
                              : t.add("full", {}, {{"shape", std::vector<sym::Expr>{}}, {"value", t.number("value")}, {"dtype", dtype}});
    t.result(t.add("where", {t.cast(t.tensor("mask"), DType::boolean), value, t.tensor("self")}));
}

void clamp(Translator& t, std::string_view) {
    const DType common = t.promoted({"self", "min", "max"});
    ValueId x = t.cast(t.tensor("self"), common);
    if (t.is_tensor("min") || t.is_tensor("max")) {
        if (t.has("min")) x = t.add("maximum", {x, t.cast(t.tensor("min"), common)});
        if (t.has("max")) x = t.add("minimum", {x, t.cast(t.tensor("max"), common)});
        return t.result(x);
    }
    graph::Attributes attributes;
    if (t.has("min")) attributes["min"] = t.number("min");
    if (t.has("max")) attributes["max"] = t.number("max");
    t.result(t.add("clamp", {x}, std::move(attributes)));
}

void clamp_one_side(Translator& t, std::string_view side) {
    const DType common = t.promoted({"self", side});
    const ValueId x = t.cast(t.tensor("self"), common);
    if (t.is_tensor(side)) return t.result(t.add(side == "min" ? "maximum" : "minimum", {x, t.cast(t.tensor(side), common)}));
    t.result(t.add("clamp", {x}, {{name_of(side), t.number(side)}}));
}

void hardtanh(Translator& t, std::string_view) {
    t.result(t.add("clamp", {t.tensor("self")}, {{"min", t.real("min_val", -1)}, {"max", t.real("max_val", 1)}}));
}

// cast of dtype, or a copy
void to_copy(Translator& t, std::string_view) {
    const ValueId x = t.tensor("self");
    const DType to = t.dtype("dtype").value_or(t.type(x).dtype);
    t.result(to == t.type(x).dtype ? t.add("clone", {x}) : t.cast(x, to));
}

void convert_element_type(Translator& t, std::string_view) {
    const ValueId x = t.tensor("a");
    t.result(t.cast(x, *t.dtype("dtype")));
}

void clone(Translator& t, std::string_view) { t.result(t.add("clone", {t.tensor("self")})); }

void gelu(Translator& t, std::string_view) {
    t.result(t.add("gelu", {t.tensor("self")}, {{"approximate", t.text("approximate", "none")}}));
}

void leaky_relu(Translator& t, std::string_view) {
    t.result(t.add("leaky_relu", {t.tensor("self")}, {{"negative_slope", t.real("negative_slope", 0.01)}}));
}

void elu(Translator& t, std::string_view) {
    t.result(t.add("elu", {t.tensor("self")},
                   {{"alpha", t.real("alpha", 1)}, {"scale", t.real("scale", 1)}, {"input_scale", t.real("input_scale", 1)}}));
}

void softplus(Translator& t, std::string_view) {
    t.result(t.add("softplus", {t.tensor("self")}, {{"beta", t.real("beta", 1)}, {"threshold", t.real("threshold", 20)}}));
}

void addc(Translator& t, std::string_view op) {
    const DType common = t.promoted({"self", "tensor1", "tensor2"});
    graph::Attributes attributes;
    if (t.has("value")) attributes["value"] = t.number("value");
    t.result(t.add(name_of(op),
                   {t.cast(t.tensor("self"), common), t.cast(t.tensor("tensor1"), common), t.cast(t.tensor("tensor2"), common)},
                   std::move(attributes)));
}

void lerp(Translator& t, std::string_view) {
    Operands operands = {t.tensor("self"), t.tensor("end"), t.is_tensor("weight") ? t.optional_tensor("weight") : std::nullopt};
    graph::Attributes attributes;
    if (!t.is_tensor("weight")) attributes["scalar"] = t.number("weight");
    t.result(t.add("lerp", operands, std::move(attributes)));
}

constexpr Row rows[] = {
    {"aten.neg.default", "neg", unary},
    {"aten.abs.default", "abs", unary},
    {"aten.sign.default", "sign", unary},
    {"aten.relu.default", "relu", unary},
    {"aten.bitwise_not.default", "bitwise_not", unary},
    {"aten.square.default", "", square},
    {"aten.exp.default", "exp", unary_float},
    {"aten.exp2.default", "exp2", unary_float},
    {"aten.expm1.default", "expm1", unary_float},
    {"aten.log.default", "log", unary_float},
    {"aten.log2.default", "log2", unary_float},
    {"aten.log1p.default", "log1p", unary_float},
    {"aten.sqrt.default", "sqrt", unary_float},
    {"aten.rsqrt.default", "rsqrt", unary_float},
    {"aten.sin.default", "sin", unary_float},
    {"aten.cos.default", "cos", unary_float},
    {"aten.tan.default", "tan", unary_float},
    {"aten.asin.default", "asin", unary_float},
    {"aten.acos.default", "acos", unary_float},
    {"aten.atan.default", "atan", unary_float},
    {"aten.sinh.default", "sinh", unary_float},
    {"aten.cosh.default", "cosh", unary_float},
    {"aten.tanh.default", "tanh", unary_float},
    {"aten.erf.default", "erf", unary_float},
    {"aten.sigmoid.default", "sigmoid", unary_float},
    {"aten.reciprocal.default", "reciprocal", unary_float},
    {"aten.floor.default", "floor", rounding},
    {"aten.ceil.default", "ceil", rounding},
    {"aten.trunc.default", "trunc", rounding},
    {"aten.round.default", "round", rounding},
    {"aten.isnan.default", "isnan", test_float},
    {"aten.isinf.default", "isinf", test_float},
    {"aten.logical_not.default", "logical_not", logical_not},
    {"aten.add.Tensor", "add", binary_alpha},
    {"aten.add.Scalar", "add", binary_alpha},
    {"aten.sub.Tensor", "sub", binary_alpha},
    {"aten.sub.Scalar", "sub", binary_alpha},
    {"aten.rsub.Tensor", "", reversed_subtraction},
    {"aten.rsub.Scalar", "", reversed_subtraction},
    {"aten.mul.Tensor", "mul", binary},
    {"aten.mul.Scalar", "mul", binary},
    {"aten.div.Tensor", "", division},
    {"aten.div.Scalar", "", division},
    {"aten.div.Tensor_mode", "", division},
    {"aten.div.Scalar_mode", "", division},
    {"aten.true_divide.Tensor", "", division},
    {"aten.floor_divide.default", "", floor_division},
    {"aten.floor_divide.Scalar", "", floor_division},
    {"aten.remainder.Tensor", "remainder", binary},
    {"aten.remainder.Scalar", "remainder", binary},
    {"aten.fmod.Tensor", "fmod", binary},
    {"aten.fmod.Scalar", "fmod", binary},
    {"aten.pow.Tensor_Tensor", "", power},
    {"aten.pow.Tensor_Scalar", "", power},
    {"aten.pow.Scalar", "", power},
    {"aten.minimum.default", "minimum", binary},
    {"aten.maximum.default", "maximum", binary},
    {"aten.eq.Tensor", "eq", binary},
    {"aten.eq.Scalar", "eq", binary},
    {"aten.ne.Tensor", "ne", binary},
    {"aten.ne.Scalar", "ne", binary},
    {"aten.lt.Tensor", "lt", binary},
    {"aten.lt.Scalar", "lt", binary},
    {"aten.le.Tensor", "le", binary},
    {"aten.le.Scalar", "le", binary},
    {"aten.gt.Tensor", "gt", binary},
    {"aten.gt.Scalar", "gt", binary},
    {"aten.ge.Tensor", "ge", binary},
    {"aten.ge.Scalar", "ge", binary},
    {"aten.logical_and.default", "logical_and", binary},
    {"aten.logical_or.default", "logical_or", binary},
    {"aten.logical_xor.default", "logical_xor", binary},
    {"aten.bitwise_and.Tensor", "bitwise_and", binary},
    {"aten.bitwise_and.Scalar", "bitwise_and", binary},
    {"aten.bitwise_or.Tensor", "bitwise_or", binary},
    {"aten.bitwise_or.Scalar", "bitwise_or", binary},
    {"aten.bitwise_xor.Tensor", "bitwise_xor", binary},
    {"aten.bitwise_xor.Scalar", "bitwise_xor", binary},
    {"aten.bitwise_left_shift.Tensor", "bitwise_left_shift", binary},
    {"aten.bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift", binary},
    {"aten.bitwise_right_shift.Tensor", "bitwise_right_shift", binary},
    {"aten.bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift", binary},
    {"aten.where.self", "", where},
    {"aten.where.ScalarSelf", "", where},
    {"aten.where.ScalarOther", "", where},
    {"aten.masked_fill.Scalar", "", masked_fill},
    {"aten.masked_fill.Tensor", "", masked_fill},
    {"aten.clamp.default", "", clamp},
    {"aten.clamp.Tensor", "", clamp},
    {"aten.clamp_min.default", "min", clamp_one_side},
    {"aten.clamp_min.Tensor", "min", clamp_one_side},
    {"aten.clamp_max.default", "max", clamp_one_side},
    {"aten.clamp_max.Tensor", "max", clamp_one_side},
    {"aten.hardtanh.default", "", hardtanh},
    {"aten._to_copy.default", "", to_copy},
    {"prims.convert_element_type.default", "", convert_element_type},
    {"aten.clone.default", "", clone},
    {"aten.lift_fresh_copy.default", "", clone},
    {"aten.gelu.default", "", gelu},
    {"aten.silu.default", "silu", unary},
    {"aten.mish.default", "mish", unary},
    {"aten.hardswish.default", "hardswish", unary},
    {"aten.hardsigmoid.default", "hardsigmoid", unary},
    {"aten.leaky_relu.default", "", leaky_relu},
    {"aten.elu.default", "", elu},
    {"aten.softplus.default", "", softplus},
    {"aten.addcmul.default", "addcmul", addc},
    {"aten.addcdiv.default", "addcdiv", addc},
    {"aten.lerp.Scalar", "", lerp},
    {"aten.lerp.Tensor", "", lerp},
};

} // namespace

std::span<const Row> pointwise_rows() { return rows; }

} // namespace codetta::frontends::aten
