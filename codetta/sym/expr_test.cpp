#include "codetta/sym/expr.h"

#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "tests/support/random_expr.h"

namespace codetta::sym {
namespace {

Expr e(std::string_view text) { return parse_expr(text); }

struct Case {
    const char* text;
    const char* canonical;
};

class CanonicalForm : public ::testing::TestWithParam<Case> {};

TEST_P(CanonicalForm, prints) { EXPECT_EQ(to_string(e(GetParam().text)), GetParam().canonical); }

INSTANTIATE_TEST_SUITE_P(sums, CanonicalForm,
                         ::testing::Values(Case{"n + 2*m + n", "2*m + 2*n"}, Case{"3 + m - 5", "m - 2"}, Case{"m - m", "0"},
                                           Case{"(m + 1)*(n - 2)", "-2*m + m*n + n - 2"}, Case{"(m + n)*(m - n)", "m*m - n*n"},
                                           Case{"-m", "-m"}, Case{"-(m + 1)", "-m - 1"}, Case{"-m*2 + 3", "-2*m + 3"},
                                           Case{"b*a*2*c", "2*a*b*c"}, Case{"2*3*m // 1", "6*m"},
                                           Case{"-9223372036854775808", "-9223372036854775808"}));
INSTANTIATE_TEST_SUITE_P(divisions, CanonicalForm,
                         ::testing::Values(Case{"m // 16", "m // 16"}, Case{"(m + 16) // 16", "m // 16 + 1"},
                                           Case{"ceil_div(m, 16)", "(m + 15) // 16"}, Case{"(m - 1)//16 + 1", "(m + 15) // 16"},
                                           Case{"(32*m + n) // 16", "2*m + n // 16"}, Case{"(4*m + 9) // 16", "(m + 2) // 4"},
                                           Case{"m // 4 // 8", "m // 32"}, Case{"(m // 4 + 3) // 8", "(m + 12) // 32"},
                                           Case{"(m % 64) // 16", "(m // 16) % 4"}, Case{"m // -4", "(-m) // 4"},
                                           Case{"(i*s0 + j) // s0", "i + j // s0"}, Case{"(i*s0 + i + j) // (s0 + 1)", "i + j // (s0 + 1)"},
                                           Case{"(4*s0*k) // (6*s0)", "(2*k) // 3"}, Case{"s0*s1 // s0", "s1"}, Case{"7 // 2", "3"},
                                           Case{"-7 // 2", "-4"}, Case{"(5*x) // 4", "x + x // 4"}, Case{"0 // m", "0"},
                                           Case{"-5 // m", "-5 // m"}));
INSTANTIATE_TEST_SUITE_P(mods, CanonicalForm,
                         ::testing::Values(Case{"m % 16", "m % 16"}, Case{"(m + 35) % 16", "(m + 3) % 16"}, Case{"(17*m) % 16", "m % 16"},
                                           Case{"(4*i + 9) % 16", "4*((i + 2) % 4) + 1"}, Case{"(m % 64) % 16", "m % 16"},
                                           Case{"(4*(m % 4) + n) % 16", "(4*m + n) % 16"}, Case{"(i*s0 + j) % s0", "j % s0"},
                                           Case{"(x % s0) % s0", "x % s0"}, Case{"(a*c) % (b*c)", "c*(a % b)"},
                                           Case{"m % -4", "-((-m) % 4)"}, Case{"-7 % 4", "1"}, Case{"m % 1", "0"}, Case{"m % m", "0"}));
INSTANTIATE_TEST_SUITE_P(extrema, CanonicalForm,
                         ::testing::Values(Case{"min(m, 4)", "min(m, 4)"}, Case{"min(4, m, 7)", "min(m, 4)"},
                                           Case{"max(m, m + 3)", "m + 3"}, Case{"min(min(c, a), b)", "min(a, b, c)"},
                                           Case{"max(3, 5)", "5"}, Case{"min(m, m)", "m"}));

TEST(Expr, operands_put_the_literal_last) {
    Expr term = e("2*m*n"), sum = e("m + 7");
    ASSERT_EQ(term.kind(), Kind::mul);
    EXPECT_TRUE(term.operands().back().is(2));
    ASSERT_EQ(sum.kind(), Kind::add);
    EXPECT_TRUE(sum.operands().back().is(7));
    EXPECT_EQ(e("m // 16").operands()[1], Expr(16));
    EXPECT_EQ(Expr(5).operands().size(), 0u);
    EXPECT_EQ(Expr::symbol("s0").name(), "s0");
}

TEST(Expr, equal_values_share_one_form) {
    EXPECT_EQ(e("(m + 1)*2"), e("2 + m*2"));
    EXPECT_EQ(e("(m + 1)*2").hash(), e("2 + m*2").hash());
    EXPECT_NE(e("m"), e("n"));
    EXPECT_NE(e("m // 2"), e("m % 2"));
    EXPECT_TRUE(e("m") < e("n") || e("n") < e("m"));
    EXPECT_FALSE(e("m + n") < e("n + m"));
}

TEST(Expr, exact_division) {
    EXPECT_EQ(exact_div(e("6*m*n + 4*n"), e("2*n")), e("3*m + 2"));
    EXPECT_EQ(exact_div(e("m*m - 1"), e("m + 2")), std::nullopt);
    EXPECT_EQ(exact_div(e("i*s0 + i"), e("s0 + 1")), e("i"));
    EXPECT_EQ(exact_div(e("3*m"), 2), std::nullopt);
    EXPECT_EQ(exact_div(0, e("m")), Expr(0));
}

TEST(Expr, affine_split) {
    auto affine = as_affine(e("3*m*n + 2*m + n // 4 + 5"), "m");
    ASSERT_TRUE(affine);
    EXPECT_EQ(affine->coefficient, e("3*n + 2"));
    EXPECT_EQ(affine->rest, e("n // 4 + 5"));
    EXPECT_FALSE(as_affine(e("m*m"), "m"));
    EXPECT_FALSE(as_affine(e("m // 4"), "m"));
    EXPECT_TRUE(as_affine(e("n"), "m")->coefficient.is(0));
}

TEST(Expr, substitution_is_simultaneous) {
    EXPECT_EQ(substitute(e("m + 2*n"), {{"m", e("n")}, {"n", e("m")}}), e("n + 2*m"));
    EXPECT_EQ(substitute(e("(i*s0 + j) // s0"), "s0", 8), e("i + j // 8"));
    EXPECT_EQ(symbols(e("m*n // (k + 1)")), (std::set<std::string>{"k", "m", "n"}));
    EXPECT_TRUE(depends_on(e("min(m, n)"), "n"));
}

TEST(Expr, a_dot_belongs_to_a_name_that_goes_on) {
    EXPECT_EQ(to_string(parse_expr("a.b+38")), "a.b + 38");
    EXPECT_THROW(parse_expr("a.b.+38"), base::UserError); // would print as `a.b. + 38`, which is no expression
}

TEST(Expr, errors_name_the_cause) {
    auto message = [](auto action) {
        try {
            action();
        } catch (const base::InternalError& error) {
            return std::string(error.what());
        }
        return std::string("no error");
    };
    EXPECT_NE(message([] { evaluate(e("m + k"), {{"m", 1}}); }).find("symbol k has no value"), std::string::npos);
    EXPECT_NE(message([] { evaluate(e("m // n"), {{"m", 1}, {"n", 0}}); }).find("1 // 0"), std::string::npos);
    EXPECT_NE(message([] { floor_div(e("m"), 0); }).find("(m) // 0"), std::string::npos);
    EXPECT_NE(message([] { evaluate(e("m*m"), {{"m", int64_t{1} << 40}}); }).find("1099511627776 * 1099511627776 does not fit 64 bits"),
              std::string::npos);
    EXPECT_NE(message([] { Expr::symbol("2x"); }).find("'2x' is not a symbol name"), std::string::npos);
}

// The laws, over random expressions against an evaluation of their own.
TEST(ExprLaws, value_print_and_substitution) {
    std::mt19937 random(7);
    int checked = 0;
    for (int round = 0; round < 6000; ++round) {
        auto made = testing::random_expr(random);
        if (!made) continue;
        const auto& [tree, expr] = *made;
        std::string text = to_string(expr);
        EXPECT_EQ(parse_expr(text), expr) << text;
        EXPECT_EQ(to_string(parse_expr(text)), text);
        for (int sample = 0; sample < 8; ++sample) {
            Bindings values;
            for (const char* name : {"a", "b", "s", "t"}) values[name] = std::uniform_int_distribution<int64_t>(-9, 9)(random);
            auto expected = testing::value_of(tree, values);
            if (!expected) continue;
            ASSERT_EQ(evaluate(expr, values), *expected) << text;
            Substitution all;
            for (const auto& [name, value] : values) all.emplace(name, value);
            ASSERT_EQ(substitute(expr, all), Expr(*expected)) << text;
            ++checked;
        }
        // substituting an expression for a symbol commutes with evaluation
        auto other = testing::random_expr(random, {.depth = 2});
        if (!other) continue;
        Bindings values{{"a", 3}, {"b", -2}, {"s", 5}, {"t", 7}};
        auto inner = testing::value_of(other->first, values);
        if (!inner) continue;
        Bindings moved = values;
        moved["a"] = *inner;
        auto expected = testing::value_of(tree, moved);
        if (expected) {
            try {
                ASSERT_EQ(evaluate(substitute(expr, "a", other->second), values), *expected)
                    << text << " with a = " << to_string(other->second);
            } catch (const base::InternalError& error) {
                FAIL() << error.what() << ": " << text << " with a = " << to_string(other->second);
            }
        }
        if (auto affine = as_affine(expr, "a")) {
            ASSERT_EQ(affine->coefficient * Expr::symbol("a") + affine->rest, expr) << text;
            ASSERT_FALSE(depends_on(affine->coefficient, "a") || depends_on(affine->rest, "a")) << text;
        }
    }
    EXPECT_GT(checked, 10000);
}

} // namespace
} // namespace codetta::sym
