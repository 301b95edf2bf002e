#include "codetta/scalar/function.h"

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"

#include <algorithm>
#include <array>

namespace codetta::scalar {

namespace {

// What operand types a primitive takes; all operands have one type except where the rule says otherwise.
enum class Rule : uint8_t { leaf, number, real, bits, any, compare, nan_test, select, cast };

struct PrimRow {
    Prim prim;
    std::string_view name;
    int arity;
    Rule rule;
};

constexpr std::array kPrims = {
    PrimRow{Prim::parameter, "parameter", 0, Rule::leaf},
    PrimRow{Prim::constant, "constant", 0, Rule::leaf},
    PrimRow{Prim::add, "add", 2, Rule::number},
    PrimRow{Prim::sub, "sub", 2, Rule::number},
    PrimRow{Prim::mul, "mul", 2, Rule::number},
    PrimRow{Prim::div, "div", 2, Rule::real},
    PrimRow{Prim::floor_div, "floor_div", 2, Rule::number},
    PrimRow{Prim::mod, "mod", 2, Rule::number},
    PrimRow{Prim::trunc_div, "trunc_div", 2, Rule::number},
    PrimRow{Prim::rem, "rem", 2, Rule::number},
    PrimRow{Prim::neg, "neg", 1, Rule::number},
    PrimRow{Prim::abs, "abs", 1, Rule::number},
    PrimRow{Prim::sign, "sign", 1, Rule::number},
    PrimRow{Prim::minimum, "minimum", 2, Rule::any},
    PrimRow{Prim::maximum, "maximum", 2, Rule::any},
    PrimRow{Prim::pow, "pow", 2, Rule::number},
    PrimRow{Prim::fma, "fma", 3, Rule::real},
    PrimRow{Prim::sqrt, "sqrt", 1, Rule::real},
    PrimRow{Prim::rsqrt, "rsqrt", 1, Rule::real},
    PrimRow{Prim::exp, "exp", 1, Rule::real},
    PrimRow{Prim::exp2, "exp2", 1, Rule::real},
    PrimRow{Prim::expm1, "expm1", 1, Rule::real},
    PrimRow{Prim::log, "log", 1, Rule::real},
    PrimRow{Prim::log2, "log2", 1, Rule::real},
    PrimRow{Prim::log1p, "log1p", 1, Rule::real},
    PrimRow{Prim::sin, "sin", 1, Rule::real},
    PrimRow{Prim::cos, "cos", 1, Rule::real},
    PrimRow{Prim::tan, "tan", 1, Rule::real},
    PrimRow{Prim::asin, "asin", 1, Rule::real},
    PrimRow{Prim::acos, "acos", 1, Rule::real},
    PrimRow{Prim::atan, "atan", 1, Rule::real},
    PrimRow{Prim::sinh, "sinh", 1, Rule::real},
    PrimRow{Prim::cosh, "cosh", 1, Rule::real},
    PrimRow{Prim::tanh, "tanh", 1, Rule::real},
    PrimRow{Prim::erf, "erf", 1, Rule::real},
    PrimRow{Prim::normal_cdf, "normal_cdf", 1, Rule::real},
    PrimRow{Prim::sigmoid, "sigmoid", 1, Rule::real},
    PrimRow{Prim::floor, "floor", 1, Rule::real},
    PrimRow{Prim::ceil, "ceil", 1, Rule::real},
    PrimRow{Prim::trunc, "trunc", 1, Rule::real},
    PrimRow{Prim::round, "round", 1, Rule::real},
    PrimRow{Prim::eq, "eq", 2, Rule::compare},
    PrimRow{Prim::ne, "ne", 2, Rule::compare},
    PrimRow{Prim::lt, "lt", 2, Rule::compare},
    PrimRow{Prim::le, "le", 2, Rule::compare},
    PrimRow{Prim::gt, "gt", 2, Rule::compare},
    PrimRow{Prim::ge, "ge", 2, Rule::compare},
    PrimRow{Prim::is_nan, "is_nan", 1, Rule::nan_test},
    PrimRow{Prim::bit_and, "bit_and", 2, Rule::bits},
    PrimRow{Prim::bit_or, "bit_or", 2, Rule::bits},
    PrimRow{Prim::bit_xor, "bit_xor", 2, Rule::bits},
    PrimRow{Prim::bit_not, "bit_not", 1, Rule::bits},
    PrimRow{Prim::shift_left, "shift_left", 2, Rule::bits},
    PrimRow{Prim::shift_right, "shift_right", 2, Rule::bits},
    PrimRow{Prim::select, "select", 3, Rule::select},
    PrimRow{Prim::cast, "cast", 1, Rule::cast},
    PrimRow{Prim::narrow, "narrow", 1, Rule::cast},
};

constexpr bool rows_in_order() {
    for (size_t i = 0; i < kPrims.size(); ++i)
        if (static_cast<size_t>(kPrims[i].prim) != i) return false;
    return kPrims.size() == static_cast<size_t>(Prim::narrow) + 1;
}
static_assert(rows_in_order());

const PrimRow& row(Prim p) { return kPrims[static_cast<size_t>(p)]; }

std::string list_types(std::span<const DType> types) {
    std::string text;
    for (DType t : types) text += (text.empty() ? "" : ", ") + std::string(to_string(t));
    return text;
}

} // namespace

int arity(Prim p) { return row(p).arity; }

bool is_conversion(Prim p) { return p == Prim::cast || p == Prim::narrow; }

std::string_view to_string(Prim p) { return row(p).name; }

std::optional<Prim> find_prim(std::string_view text) {
    for (const PrimRow& r : kPrims)
        if (r.name == text) return r.prim;
    return std::nullopt;
}

Prim parse_prim(std::string_view text) {
    if (auto p = find_prim(text)) return *p;
    std::vector<std::string_view> names;
    for (const PrimRow& r : kPrims) names.push_back(r.name);
    throw base::UserError("unknown primitive '" + std::string(text) + "'" + base::did_you_mean(text, names));
}

DType result_type(Prim p, std::span<const DType> inputs) {
    const PrimRow& r = row(p);
    bool ok = inputs.size() == static_cast<size_t>(r.arity) && !inputs.empty();
    size_t first = r.rule == Rule::select ? 1 : 0;
    for (size_t i = first + 1; ok && i < inputs.size(); ++i) ok = inputs[i] == inputs[first];
    if (ok) {
        DType t = inputs[first];
        switch (r.rule) {
        case Rule::leaf:
        case Rule::cast: ok = false; break;
        case Rule::number: ok = is_float(t) || is_integer(t); break;
        case Rule::real: ok = is_float(t); break;
        case Rule::bits: ok = !is_float(t) && (t != DType::boolean || (p != Prim::shift_left && p != Prim::shift_right)); break;
        case Rule::select: ok = inputs[0] == DType::boolean; break;
        case Rule::nan_test:
            ok = is_float(t);
            return ok ? DType::boolean : throw base::InternalError(fmt::format("is_nan({})", to_string(t)));
        case Rule::compare: return DType::boolean;
        case Rule::any: break;
        }
        if (ok) return t;
    }
    throw base::InternalError(fmt::format("scalar primitive {} does not take ({})", r.name, list_types(inputs)));
}

std::vector<DType> Function::parameters() const {
    std::vector<DType> types;
    for (const Op& op : ops) {
        if (op.prim != Prim::parameter) break;
        types.push_back(op.dtype);
    }
    return types;
}

bool Function::is_identity() const {
    return results.size() == 1 && results[0] == 0 && !ops.empty() && ops[0].prim == Prim::parameter && parameters().size() == 1;
}

Function identity(DType t) {
    Builder b;
    Value v = b.parameter(t);
    return b.finish({v});
}

Function cast_function(DType from, DType to) {
    Builder b;
    Value v = b.parameter(from);
    return b.finish({b.cast(to, v)});
}

Function drop_narrowing(const Function& f) {
    Function direct = f;
    for (Op& op : direct.ops)
        if (op.prim == Prim::cast)
            while (direct.ops[op.inputs[0]].prim == Prim::narrow) op.inputs[0] = direct.ops[op.inputs[0]].inputs[0];
    return canonicalise(direct);
}

Function canonicalise(const Function& f) {
    Builder b;
    std::vector<Value> arguments;
    for (DType t : f.parameters()) arguments.push_back(b.parameter(t));
    return b.finish(b.inline_call(f, arguments));
}

void verify(const Function& f) {
    size_t parameter_count = f.parameters().size();
    for (size_t i = 0; i < f.ops.size(); ++i) {
        const Op& op = f.ops[i];
        CODETTA_CHECK(op.inputs.size() == static_cast<size_t>(arity(op.prim)), "op %{} = {}: {} inputs instead of {}", i,
                      to_string(op.prim), op.inputs.size(), arity(op.prim));
        std::vector<DType> types;
        for (Value v : op.inputs) {
            CODETTA_CHECK(v < i, "op %{} = {}: input %{} is not an earlier op", i, to_string(op.prim), v);
            types.push_back(f.ops[v].dtype);
        }
        if (op.prim == Prim::parameter) {
            CODETTA_CHECK(i < parameter_count && op.int_value == static_cast<int64_t>(i), "op %{}: parameters must come first and in order",
                          i);
        } else if (op.prim != Prim::constant && !is_conversion(op.prim)) {
            DType t = result_type(op.prim, types);
            CODETTA_CHECK(t == op.dtype, "op %{} = {}: has dtype {} instead of {}", i, to_string(op.prim), to_string(op.dtype),
                          to_string(t));
        }
    }
    CODETTA_CHECK(!f.results.empty(), "a scalar function without results");
    for (Value v : f.results) CODETTA_CHECK(v < f.ops.size(), "result %{} is no op", v);
}

} // namespace codetta::scalar
