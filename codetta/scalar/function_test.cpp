// Builder rules and the texts of functions.
#include "codetta/base/error.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/expression.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace codetta::scalar {
namespace {

std::string message_of(auto&& f) {
    try {
        f();
    } catch (const base::Error& e) {
        return e.what();
    }
    return "no error";
}

const std::vector<std::string> kNames = {"x", "y", "i", "p", "h"};
const std::vector<DType> kTypes = {DType::f32, DType::f32, DType::i64, DType::boolean, DType::bf16};

Function parse(std::string_view text) {
    Lexer lexer(text);
    Builder b;
    for (DType t : kTypes) b.parameter(t);
    Value v = parse_expression(lexer, b, [&](Lexer& l) -> std::optional<Value> {
        for (size_t i = 0; i < kNames.size(); ++i)
            if (l.accept(kNames[i])) return static_cast<Value>(i);
        return std::nullopt;
    });
    if (!lexer.at_end()) lexer.fail("expected the end");
    return b.finish({v});
}

TEST(Builder, shares_folds_and_drops) {
    for (auto [text, expected] : std::initializer_list<std::pair<const char*, const char*>>{
             {"x * 1.0", "x"},
             {"x + 0.0", "x + 0.0"}, // -0.0 + 0.0 is 0.0
             {"x + -0.0", "x"},
             {"x - 0.0", "x"},
             {"2.0 * 3.0 + x", "6.0 + x"},
             {"exp(0.0) * y", "y"},
             {"i + 0", "i"},
             {"bf16(f32(h))", "h"},
             {"f64(f32(h))", "f64(h)"},
             {"f32(bf16(x))", "f32(bf16(x))"},
             {"select(true, x, y)", "x"},
             {"select(p, x, x)", "x"},
             {"p & true", "p"},
             {"p | true", "true"},
             {"~~p", "p"},
             {"i64(3)", "3"},
             {"f32(1)", "1.0"},
             {"narrow.bf16(f32(h))", "h"},
             {"narrow.f32(i)", "f32(i)"},
             {"i8(200)", "i8(-56)"},
             {"1.0 / 0.0", "inf"},
         })
        EXPECT_EQ(to_expression(parse(text), kNames), expected) << text;
    Function shared = parse("(x + y) * (x + y)");
    EXPECT_EQ(shared.ops.size(), kTypes.size() + 2);
    EXPECT_EQ(message_of([] { parse("exp(p)"); }), "line 1, column 1: scalar primitive exp does not take (bool), found 'exp'");
}

TEST(Builder, drop_narrowing_takes_away_unasked_roundings_only) {
    EXPECT_EQ(to_expression(drop_narrowing(parse("narrow.bf16(f32(narrow.bf16(x + y)) * y)")), kNames), "narrow.bf16((x + y) * y)");
    EXPECT_EQ(to_expression(drop_narrowing(parse("f32(bf16(narrow.f16(x)))")), kNames), "f32(bf16(x))");
}

TEST(Text, expressions_print_and_parse) {
    for (const char* text : {"x",
                             "x + y * x",
                             "(x + y) * x",
                             "x - (y - x)",
                             "x - y - x",
                             "-x * y",
                             "-(x * y)",
                             "-(-1.5 + x)",
                             "x < y",
                             "(x < y) == p",
                             "~p | p & (x == y)",
                             "select(p, exp(x), -inf)",
                             "bf16(x + f32(h))",
                             "h + bf16(0.100097656)",
                             "fma(x, y, nan)",
                             "i // 3 % -4",
                             "i << 2 >> 1",
                             "-9223372036854775808 + i",
                             "f64(x) * f64(0.1)",
                             "i32(i) + i32(7)",
                             "x + 1e-10",
                             "x * 16777216.0",
                             "x * 3.4028235e+38",
                             "narrow.bf16(x) + h",
                             "maximum(x, y)",
                             "trunc_div(i, 3)",
                             "is_nan(x)",
                             "x * -0.0",
                             "x / y",
                             "pow(x, 2.0)",
                             "false",
                             "x - -(y + 1.0)"}) {
        Function f = parse(text);
        verify(f);
        EXPECT_EQ(to_expression(f, kNames), text);
        EXPECT_EQ(parse(to_expression(f, kNames)), f);
        EXPECT_EQ(canonicalise(f), f);
        EXPECT_EQ(parse_function(to_string(f)), f) << to_string(f);
    }
    EXPECT_EQ(to_string(cast_function(DType::bf16, DType::f32)), "(%0: bf16) -> f32 { %1 = cast.f32 %0; return %1 }");
    EXPECT_EQ(to_string(parse("select(p, x, 0.5)")),
              "(%0: f32, %1: f32, %2: i64, %3: bool, %4: bf16) -> f32 { %5 = constant.f32 0.5; %6 = select %3, %0, %5; return %6 }");
}

TEST(Text, large_shared_values_do_not_explode) {
    Builder b;
    Value v = b.parameter(DType::f32);
    for (int i = 0; i < 200; ++i) v = b.apply(Prim::mul, {v, v});
    Function f = b.finish({v});
    EXPECT_EQ(to_expression(f, kNames), "");
    EXPECT_EQ(parse_function(to_string(f)), f);
}

TEST(Text, errors_name_the_place) {
    for (auto [text, message] : std::initializer_list<std::pair<const char*, const char*>>{
             {"x +", "line 1, column 4: expected an expression, found the end of the text"},
             {"x + z", "line 1, column 5: unknown name 'z', found 'z'"},
             {"tanhh(x)", "line 1, column 1: unknown function 'tanhh'; did you mean 'tanh'?, found 'tanhh'"},
             {"exp(x, y)", "line 1, column 1: 2 arguments for 'exp', which takes 1, found 'exp'"},
             {"x +\n  (y * 2", "line 2, column 6: scalar primitive mul does not take (f32, i64), found '*'"},
             {"(x", "line 1, column 3: expected ')', found the end of the text"},
             {"x < y < x", "line 1, column 7: expected the end, found '<'"},
             {"99999999999999999999 + i", "line 1, column 1: an integer that does not fit 64 bits, found '99999999999999999999'"},
         })
        EXPECT_EQ(message_of([&] { parse(text); }), message);
    EXPECT_EQ(message_of([] { parse(std::string(5000, '(')); }).substr(0, 16), "line 1, column 2");
    for (auto [text, message] : std::initializer_list<std::pair<const char*, const char*>>{
             {"(%0: f32) -> f32 { return %1 }", "line 1, column 28: value %1 is not defined, found '1'"},
             {"(%0: f32) -> f32 { %1 = foo %0; return %1 }",
              "line 1, column 25: unknown primitive 'foo'; did you mean 'floor'?, found 'foo'"},
             {"(%0: f32) -> i64 { return %0 }", "line 1, column 14: the result types are not those of the returned values, found 'i64'"},
             {"(%0: f32) -> f32 { %2 = neg %0; return %2 }", "line 1, column 21: values are numbered in order: expected %1, found '2'"},
         })
        EXPECT_EQ(message_of([&] { parse_function(text); }).substr(0, 30), std::string(message).substr(0, 30));
}

// Random functions: what is built prints, parses back and computes the same after canonicalise.
TEST(Text, random_functions_round_trip) {
    std::mt19937 random(7);
    auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    for (int round = 0; round < 300; ++round) {
        Builder b;
        std::vector<Value> values;
        for (DType t : kTypes) values.push_back(b.parameter(t));
        for (int i = 0; i < 25; ++i) {
            auto p = static_cast<Prim>(static_cast<size_t>(Prim::add) +
                                       below(static_cast<size_t>(Prim::narrow) - static_cast<size_t>(Prim::add) + 1));
            if (is_conversion(p)) {
                DType t = kDTypes[below(kDTypes.size())];
                values.push_back(p == Prim::cast ? b.cast(t, values[below(values.size())]) : b.narrow(t, values[below(values.size())]));
                continue;
            }
            if (below(5) == 0) values.push_back(b.constant(kDTypes[below(kDTypes.size())], static_cast<double>(below(9))));
            std::vector<Value> inputs;
            for (int k = 0; k < arity(p); ++k) inputs.push_back(values[below(values.size())]);
            try {
                values.push_back(b.apply(p, inputs));
            } catch (const base::InternalError&) {}
        }
        Function f = b.finish({values.back()});
        verify(f);
        ASSERT_EQ(parse_function(to_string(f)), f);
        ASSERT_EQ(canonicalise(f), f) << to_string(f) << "\n" << to_string(canonicalise(f));
        if (std::string text = to_expression(f, kNames); !text.empty()) {
            ASSERT_EQ(parse(text), f) << text;
        }
    }
}

} // namespace
} // namespace codetta::scalar
