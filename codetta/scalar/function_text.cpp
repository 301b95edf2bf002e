#include "codetta/base/error.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/expression.h"
#include "codetta/scalar/function.h"
#include "codetta/scalar/lexer.h"

namespace codetta::scalar {

namespace {

std::string list_values(std::span<const Value> values) {
    std::string text;
    for (Value v : values) text += fmt::format("{}%{}", text.empty() ? "" : ", ", v);
    return text;
}

Value take_value(Lexer& lexer, size_t defined) {
    lexer.expect("%");
    Token at = lexer.peek();
    int64_t v = lexer.take_integer("the number of a value");
    if (v < 0 || static_cast<size_t>(v) >= defined) lexer.fail_at(at, fmt::format("value %{} is not defined", v));
    return static_cast<Value>(v);
}

} // namespace

std::string to_string_list(const Function& f) {
    std::string text;
    for (size_t i = 0; i < f.ops.size(); ++i) {
        const Op& op = f.ops[i];
        if (op.prim == Prim::parameter) continue;
        text += fmt::format("%{} = {}", i, to_string(op.prim));
        if (op.prim == Prim::constant)
            text += fmt::format(".{} {}", to_string(op.dtype), constant_text(op));
        else
            text += (is_conversion(op.prim) ? fmt::format(".{} ", to_string(op.dtype)) : std::string(" ")) + list_values(op.inputs);
        text += "; ";
    }
    return text + "return " + list_values(f.results);
}

std::string to_string(const Function& f) {
    std::string text = "(", results;
    auto parameters = f.parameters();
    for (size_t i = 0; i < parameters.size(); ++i) text += fmt::format("{}%{}: {}", i ? ", " : "", i, to_string(parameters[i]));
    for (Value v : f.results) results += fmt::format("{}{}", results.empty() ? "" : ", ", to_string(f.ops[v].dtype));
    return text + ") -> " + results + " { " + to_string_list(f) + " }";
}

Function parse_function_list(Lexer& lexer, std::span<const DType> parameters) {
    Function f;
    for (DType t : parameters) {
        Op op;
        op.prim = Prim::parameter;
        op.dtype = t;
        op.int_value = static_cast<int64_t>(f.ops.size());
        f.ops.push_back(op);
    }
    while (!lexer.accept("return")) {
        lexer.expect("%");
        Token at = lexer.peek();
        if (lexer.take_integer("the number of a value") != static_cast<int64_t>(f.ops.size()))
            lexer.fail_at(at, fmt::format("values are numbered in order: expected %{}", f.ops.size()));
        lexer.expect("=");
        Token name = lexer.peek();
        std::string full = lexer.take_name("a primitive");
        size_t dot = full.find('.');
        Op op;
        auto prim = find_prim(full.substr(0, dot));
        if (!prim || *prim == Prim::parameter) at_place(lexer, name, [&] { return parse_prim(full); });
        op.prim = prim.value_or(Prim::constant);
        bool typed = is_conversion(op.prim) || op.prim == Prim::constant;
        if (typed != (dot != std::string::npos))
            lexer.fail_at(name, typed ? "a dtype must follow, as in cast.f32" : "only cast, narrow and constant carry a dtype");
        if (typed) op.dtype = at_place(lexer, name, [&] { return parse_dtype(std::string_view(full).substr(dot + 1)); });
        if (op.prim == Prim::constant) {
            if (op.dtype == DType::boolean) {
                op.int_value = lexer.accept("true") ? 1 : 0;
                if (op.int_value == 0) lexer.expect("false");
            } else if (is_float(op.dtype)) {
                op.float_value = round_to(op.dtype, lexer.take_number("a number"));
            } else {
                op.int_value = wrap_to(op.dtype, lexer.take_integer("an integer"));
            }
        } else {
            std::vector<DType> types;
            do {
                op.inputs.push_back(take_value(lexer, f.ops.size()));
                types.push_back(f.ops[op.inputs.back()].dtype);
            } while (lexer.accept(","));
            if (is_conversion(op.prim)) {
                if (op.inputs.size() != 1) lexer.fail_at(name, "a cast takes one value");
            } else {
                op.dtype = at_place(lexer, name, [&] { return result_type(op.prim, types); });
            }
        }
        f.ops.push_back(std::move(op));
        lexer.expect(";");
    }
    do f.results.push_back(take_value(lexer, f.ops.size()));
    while (lexer.accept(","));
    return f;
}

Function parse_function(std::string_view text) {
    Lexer lexer(text);
    std::vector<DType> parameters;
    lexer.expect("(");
    while (!lexer.is(")")) {
        if (!parameters.empty()) lexer.expect(",");
        lexer.expect("%");
        Token at = lexer.peek();
        if (lexer.take_integer("the number of a parameter") != static_cast<int64_t>(parameters.size()))
            lexer.fail_at(at, "parameters are numbered in order");
        lexer.expect(":");
        Token type = lexer.peek();
        parameters.push_back(at_place(lexer, type, [&] { return parse_dtype(lexer.take_name("a dtype")); }));
    }
    lexer.expect(")");
    lexer.expect("->");
    Token arrow = lexer.peek();
    std::vector<DType> results;
    do {
        Token type = lexer.peek();
        results.push_back(at_place(lexer, type, [&] { return parse_dtype(lexer.take_name("a dtype")); }));
    } while (lexer.accept(","));
    lexer.expect("{");
    Function f = parse_function_list(lexer, parameters);
    lexer.expect("}");
    if (!lexer.at_end()) lexer.fail("expected the end of the function");
    std::vector<DType> types;
    for (Value v : f.results) types.push_back(f.ops[v].dtype);
    if (types != results) lexer.fail_at(arrow, "the result types are not those of the returned values");
    return f;
}

} // namespace codetta::scalar
