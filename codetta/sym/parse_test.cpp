#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "codetta/sym/facts.h"

namespace codetta::sym {
namespace {

template <class Action>
std::string user_error(Action action) {
    try {
        action();
    } catch (const base::UserError& error) {
        return error.what();
    }
    return "no error";
}

TEST(Parse, precedence_is_pythons) {
    EXPECT_EQ(parse_expr("2*m // 4"), floor_div(Expr::symbol("m") * 2, 4));
    EXPECT_EQ(parse_expr("a - b - c"), parse_expr("(a - b) - c"));
    EXPECT_EQ(parse_expr("-7 // 2"), Expr(-4));
    EXPECT_EQ(parse_expr("a + b % 4 * 2"), parse_expr("a + ((b % 4) * 2)"));
    EXPECT_EQ(parse_expr("$0 + x.y"), Expr::symbol("$0") + Expr::symbol("x.y"));
    EXPECT_EQ(parse_expr("min + 1"), Expr::symbol("min") + 1);
}

TEST(Parse, errors_name_the_column) {
    EXPECT_EQ(user_error([] { parse_expr("m + "); }), "column 5: expected an expression in 'm + '");
    EXPECT_EQ(user_error([] { parse_expr("(m + 1"); }), "column 7: expected ')' in '(m + 1'");
    EXPECT_EQ(user_error([] { parse_expr("m n"); }), "column 3: unexpected 'n' in 'm n'");
    EXPECT_EQ(user_error([] { parse_expr("m // 0"); }), "column 7: division by zero in 'm // 0'");
    EXPECT_EQ(user_error([] { parse_expr("9223372036854775808"); }), "column 19: a literal does not fit 64 bits in '9223372036854775808'");
    EXPECT_EQ(user_error([] { parse_expr("ceil_div(m)"); }), "column 12: ceil_div takes two operands in 'ceil_div(m)'");
    EXPECT_EQ(user_error([] { parse_expr(""); }), "column 1: expected an expression in ''");
    EXPECT_EQ(user_error([] { parse_expr("9223372036854775807 + 1"); }),
              "column 24: 9223372036854775807 + 1 does not fit 64 bits in '9223372036854775807 + 1'");
    EXPECT_EQ(user_error([] { parse_expr(std::string(100000, '(')); }),
              "column 201: parentheses nest too deep in '..." + std::string(100, '(') + "...'");
    EXPECT_EQ(user_error([] { parse_condition("m = 4"); }), "column 3: expected ==, !=, <, <=, > or >= in 'm = 4'");
    EXPECT_EQ(user_error([] { parse_facts("m*n >= 4"); }), "column 9: '4 <= m*n' can not be kept as a fact in 'm*n >= 4'");
}

TEST(Parse, prefix_stops_where_the_expression_ends) {
    std::string_view text = "x[m + 1, 2*k..n] -> y";
    size_t position = 2;
    EXPECT_EQ(parse_expr_prefix(text, position), parse_expr("m + 1"));
    EXPECT_EQ(text[position], ',');
    ++position;
    EXPECT_EQ(parse_expr_prefix(text, position), parse_expr("2*k"));
    EXPECT_EQ(text.substr(position, 2), "..");
    position = 0;
    EXPECT_EQ(parse_expr_prefix("a -> b", position), Expr::symbol("a"));
    EXPECT_EQ(position, 1u);
    position = 0;
    EXPECT_EQ(parse_condition_prefix("m % 4 == 0 and x", position), eq(mod(Expr::symbol("m"), 4), 0));
    EXPECT_EQ(position, 10u);
}

TEST(Parse, conditions_round_trip) {
    for (const char* text : {"m % 16 == 0", "m <= 4", "m + n < k", "m != n"}) EXPECT_EQ(to_string(parse_condition(text)), text);
    EXPECT_EQ(to_string(parse_condition("m >= 4")), "4 <= m");
    EXPECT_EQ(to_string(parse_condition("m > 4")), "4 < m");
}

TEST(Condition, value_and_negation) {
    Bindings values{{"m", 4}};
    for (const char* text : {"m == 4", "m != 4", "m < 4", "m <= 4", "5 < m"}) {
        Condition c = parse_condition(text);
        EXPECT_EQ(evaluate(negate(c), values), !evaluate(c, values)) << text;
    }
    EXPECT_TRUE(evaluate(parse_condition("m % 2 == 0"), values));
    EXPECT_EQ(substitute(parse_condition("m < n"), {{"m", 3}}), lt(3, Expr::symbol("n")));
}

} // namespace
} // namespace codetta::sym
