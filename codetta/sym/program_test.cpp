#include "codetta/sym/program.h"

#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "tests/support/random_expr.h"

namespace codetta::sym {
namespace {

TEST(FlatProgram, gives_what_evaluate_gives) {
    std::mt19937 random(3);
    std::vector<std::string> inputs = {"a", "b", "s", "t"};
    for (int round = 0; round < 200; ++round) {
        std::vector<Expr> exprs;
        std::vector<testing::Tree> trees;
        while (exprs.size() < 5) {
            if (auto made = testing::random_expr(random)) {
                trees.push_back(made->first);
                exprs.push_back(made->second);
            }
        }
        std::vector<Condition> conditions = {lt(exprs[0], exprs[1]), eq(exprs[2], 3), ne(exprs[2], 3), le(exprs[3], exprs[4])};
        FlatProgram program(inputs, exprs, conditions);
        ASSERT_EQ(program.output_count(), 9u);
        std::vector<int64_t> frame(program.frame_size());
        for (int sample = 0; sample < 10; ++sample) {
            Bindings values;
            bool defined = true;
            for (size_t i = 0; i < inputs.size(); ++i) values[inputs[i]] = frame[i] = std::uniform_int_distribution<int64_t>(1, 9)(random);
            for (const testing::Tree& tree : trees) defined = defined && testing::value_of(tree, values).has_value();
            if (!defined) continue;
            program.evaluate(std::span(frame));
            for (size_t i = 0; i < exprs.size(); ++i)
                ASSERT_EQ(frame[program.output(i)], evaluate(exprs[i], values)) << to_string(exprs[i]);
            for (size_t i = 0; i < conditions.size(); ++i) ASSERT_EQ(frame[program.output(5 + i)], evaluate(conditions[i], values) ? 1 : 0);
        }
    }
}

TEST(FlatProgram, shares_common_parts_and_outputs_may_be_inputs) {
    std::vector<Expr> exprs = {Expr::symbol("s"), parse_expr("s // 16"), parse_expr("s // 16"), 5};
    FlatProgram program({"s"}, exprs);
    EXPECT_EQ(program.output(0), 0u);
    EXPECT_EQ(program.output(1), program.output(2));
    EXPECT_EQ(program.evaluate(std::vector<int64_t>{40}), (std::vector<int64_t>{40, 2, 2, 5}));
    EXPECT_EQ(FlatProgram().output_count(), 0u);
}

TEST(FlatProgram, refuses_an_unknown_symbol) {
    std::vector<Expr> exprs = {parse_expr("s + k")};
    try {
        FlatProgram program({"s"}, exprs);
        FAIL();
    } catch (const base::InternalError& error) {
        EXPECT_NE(std::string(error.what()).find("symbol k is not an input of the program"), std::string::npos);
    }
}

} // namespace
} // namespace codetta::sym
