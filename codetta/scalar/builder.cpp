#include "codetta/base/error.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/function.h"

#include <algorithm>
#include <limits>

namespace codetta::scalar {

namespace {

// Every value of `from` is a value of `to`.
bool widens(DType from, DType to) {
    if (from == to) return true;
    if (from == DType::boolean) return true;
    if (is_float(from)) return to == DType::f64 || (to == DType::f32 && bytes(from) == 2);
    auto digits = [](DType t) { return t == DType::u8 ? 8 : static_cast<int>(bytes(t)) * 8 - 1; };
    if (is_integer(to)) return (from == DType::u8 ? digits(to) >= 8 : to != DType::u8 && digits(to) >= digits(from));
    int mantissa = to == DType::f64 ? 53 : to == DType::f32 ? 24 : to == DType::f16 ? 11 : 8;
    return mantissa >= digits(from) + (from == DType::u8 ? 0 : 1);
}

} // namespace

Value Builder::add(Op op) {
    for (size_t i = 0; i < function_.ops.size(); ++i)
        if (function_.ops[i] == op) return static_cast<Value>(i);
    function_.ops.push_back(std::move(op));
    return static_cast<Value>(function_.ops.size() - 1);
}

Value Builder::parameter(DType t) {
    CODETTA_CHECK(function_.ops.empty() || function_.ops.back().prim == Prim::parameter, "a parameter after other ops");
    Op op;
    op.prim = Prim::parameter;
    op.dtype = t;
    op.int_value = static_cast<int64_t>(function_.ops.size());
    function_.ops.push_back(op);
    return static_cast<Value>(op.int_value);
}

Value Builder::constant(DType t, double v) {
    if (!is_float(t)) {
        CODETTA_CHECK(v == std::floor(v) && std::abs(v) < 9.3e18, "{} is no constant of dtype {}", v, to_string(t));
        return integer(t, static_cast<int64_t>(v));
    }
    Op op;
    op.dtype = t;
    op.float_value = std::isnan(v) ? std::numeric_limits<double>::quiet_NaN() : round_to(t, v);
    return add(std::move(op));
}

Value Builder::integer(DType t, int64_t v) {
    if (is_float(t)) return constant(t, static_cast<double>(v));
    Op op;
    op.dtype = t;
    op.int_value = wrap_to(t, v);
    return add(std::move(op));
}

Value Builder::literal(const Scalar& v) { return is_float(v.dtype) ? constant(v.dtype, v.f) : integer(v.dtype, v.i); }

bool Builder::is_constant(Value v, double value) const {
    const Op& op = function_.ops[v];
    if (op.prim != Prim::constant) return false;
    return is_float(op.dtype) ? same_bits(op.float_value, value) : op.int_value == static_cast<int64_t>(value);
}

// Every rule here looks at the inputs' ops alone, so that rebuilding a built function changes nothing.
Value Builder::apply(Prim p, std::span<const Value> inputs) {
    Op op;
    op.prim = p;
    op.inputs.assign(inputs.begin(), inputs.end());
    std::vector<DType> types;
    for (Value v : inputs) {
        CODETTA_CHECK(v < function_.ops.size(), "%{} is no value of this function", v);
        types.push_back(type(v));
    }
    op.dtype = result_type(p, types);

    bool all_constant = std::ranges::all_of(inputs, [&](Value v) { return function_.ops[v].prim == Prim::constant; });
    if (all_constant) {
        std::vector<Scalar> values;
        for (Value v : inputs) values.push_back(constant_value(function_.ops[v]));
        return literal(scalar::apply(op, values));
    }
    switch (p) {
    case Prim::mul:
        if (is_constant(inputs[1], 1)) return inputs[0];
        if (is_constant(inputs[0], 1)) return inputs[1];
        break;
    case Prim::div:
        if (is_constant(inputs[1], 1)) return inputs[0];
        break;
    case Prim::add: // x + 0.0 is not x for x == -0.0, x + -0.0 is
        if (is_constant(inputs[1], is_float(op.dtype) ? -0.0 : 0)) return inputs[0];
        if (is_constant(inputs[0], is_float(op.dtype) ? -0.0 : 0)) return inputs[1];
        break;
    case Prim::sub:
        if (is_constant(inputs[1], 0)) return inputs[0];
        break;
    case Prim::neg:
    case Prim::bit_not:
        if (const Op& inner = function_.ops[inputs[0]]; inner.prim == p) return inner.inputs[0];
        break;
    case Prim::minimum:
    case Prim::maximum:
        if (inputs[0] == inputs[1]) return inputs[0];
        break;
    case Prim::bit_and:
    case Prim::bit_or:
        if (inputs[0] == inputs[1]) return inputs[0];
        for (int i = 0; op.dtype == DType::boolean && i < 2; ++i) {
            if (is_constant(inputs[i], p == Prim::bit_and)) return inputs[1 - i];
            if (is_constant(inputs[i], p == Prim::bit_or)) return inputs[i];
        }
        break;
    case Prim::select:
        if (is_constant(inputs[0], 1)) return inputs[1];
        if (is_constant(inputs[0], 0)) return inputs[2];
        if (inputs[1] == inputs[2]) return inputs[1];
        // select(~c, a, b) is select(c, b, a); under c, a select on c is its first value, else its second.
        if (const Op& c = function_.ops[inputs[0]]; c.prim == Prim::bit_not) return apply(p, {c.inputs[0], inputs[2], inputs[1]});
        for (size_t side : {size_t{1}, size_t{2}}) {
            const Op& inner = function_.ops[inputs[side]];
            if (inner.prim != Prim::select || inner.inputs[0] != inputs[0]) continue;
            Value kept = inner.inputs[side];
            return side == 1 ? apply(p, {inputs[0], kept, inputs[2]}) : apply(p, {inputs[0], inputs[1], kept});
        }
        break;
    default: break;
    }
    return add(std::move(op));
}

Value Builder::cast(DType t, Value v) { return convert(Prim::cast, t, v); }

Value Builder::narrow(DType t, Value v) { return convert(is_float(t) && bytes(t) == 2 ? Prim::narrow : Prim::cast, t, v); }

Value Builder::convert(Prim p, DType t, Value v) {
    CODETTA_CHECK(v < function_.ops.size(), "%{} is no value of this function", v);
    const Op& from = function_.ops[v];
    if (from.dtype == t) return v;
    Op op;
    op.prim = p;
    op.dtype = t;
    op.inputs = {v};
    if (from.prim == Prim::constant) {
        Scalar value = constant_value(from);
        return literal(scalar::apply(op, std::span(&value, 1)));
    }
    // A widening cast in front of another cast changes nothing: bf16(f32(x)) is x, f64(f32(x: bf16)) is f64(x).
    if (from.prim == Prim::cast && widens(type(from.inputs[0]), from.dtype) && t != DType::boolean) {
        DType origin = type(from.inputs[0]);
        if (origin == t || is_float(origin) == is_float(t) || origin == DType::boolean) return convert(p, t, from.inputs[0]);
    }
    return add(std::move(op));
}

std::vector<Value> Builder::inline_call(const Function& f, std::span<const Value> arguments) {
    std::vector<Value> map(f.ops.size());
    for (size_t i = 0; i < f.ops.size(); ++i) {
        const Op& op = f.ops[i];
        switch (op.prim) {
        case Prim::parameter: {
            auto index = static_cast<size_t>(op.int_value);
            CODETTA_CHECK(index < arguments.size() && type(arguments[index]) == op.dtype, "argument {} of an inlined function: {} expected",
                          index, to_string(op.dtype));
            map[i] = arguments[index];
            break;
        }
        case Prim::constant: map[i] = literal(constant_value(op)); break;
        case Prim::cast:
        case Prim::narrow: map[i] = convert(op.prim, op.dtype, map[op.inputs[0]]); break;
        default: {
            std::vector<Value> inputs;
            for (Value v : op.inputs) inputs.push_back(map[v]);
            map[i] = apply(op.prim, inputs);
        }
        }
    }
    std::vector<Value> results;
    for (Value v : f.results) results.push_back(map[v]);
    return results;
}

Function Builder::finish(std::vector<Value> results) {
    constexpr Value unseen = UINT32_MAX;
    std::vector<Value> number(function_.ops.size(), unseen);
    Function done;
    for (size_t i = 0; i < function_.ops.size() && function_.ops[i].prim == Prim::parameter; ++i) {
        number[i] = static_cast<Value>(i);
        done.ops.push_back(function_.ops[i]);
    }
    std::vector<std::pair<Value, size_t>> stack; // op, next input to visit
    for (Value& result : results) {
        CODETTA_CHECK(result < function_.ops.size(), "%{} is no value of this function", result);
        if (number[result] == unseen) stack.emplace_back(result, 0);
        while (!stack.empty()) {
            auto& [v, next] = stack.back();
            const Op& op = function_.ops[v];
            while (next < op.inputs.size() && number[op.inputs[next]] != unseen) ++next;
            if (next < op.inputs.size()) {
                Value input = op.inputs[next++];
                stack.emplace_back(input, 0);
                continue;
            }
            number[v] = static_cast<Value>(done.ops.size());
            done.ops.push_back(op);
            for (Value& input : done.ops.back().inputs) input = number[input];
            stack.pop_back();
        }
        result = number[result];
    }
    done.results = std::move(results);
    function_ = {};
    return done;
}

} // namespace codetta::scalar
