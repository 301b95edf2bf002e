#include "codetta/sym/facts.h"

#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "tests/support/random_expr.h"

namespace codetta::sym {
namespace {

struct Case {
    const char* facts;
    const char* text;
    const char* simple;
};

class Simplify : public ::testing::TestWithParam<Case> {};

TEST_P(Simplify, gives) {
    const Case& c = GetParam();
    EXPECT_EQ(to_string(parse_facts(c.facts).simplify(parse_expr(c.text))), to_string(parse_expr(c.simple))) << c.text;
}

INSTANTIATE_TEST_SUITE_P(literal_divisors, Simplify,
                         ::testing::Values(Case{"j >= 0, j <= 3", "(4*i + j) // 4", "i"}, Case{"j >= 0, j <= 3", "(4*i + j) % 4", "j"},
                                           Case{"j >= 0, j <= 7", "(8*i + j) // 16", "i // 2"},
                                           Case{"j >= 0, j <= 7", "(8*i + j) % 16", "8*(i % 2) + j"},
                                           Case{"j >= 0, j <= 7", "(8*i + j + 8) // 16", "(i + 1) // 2"},
                                           Case{"", "x // 8 * 8 + x % 8", "x"}, Case{"", "64*(x // 64) + 16*((x // 16) % 4) + x % 16", "x"},
                                           Case{"", "(x // 4) % 8 * 4 + x % 4", "x % 32"}, Case{"i >= 0, i <= 2", "(i + 3) // 3", "1"},
                                           Case{"i >= 1, i <= 3", "(i - 1) % 4", "i - 1"},
                                           Case{"i >= 0, i <= 3", "(3 - i) % 4", "-i + 3"}));
INSTANTIATE_TEST_SUITE_P(
    symbolic_divisors, Simplify,
    ::testing::Values(Case{"j >= 0, j < s0", "(i*s0 + j) // s0", "i"}, Case{"j >= 0, j < s0", "(i*s0 + j) % s0", "j"},
                      Case{"i >= 0, i < s0, j >= 0, j < s1, k >= 0, k < s2", "((i*s1 + j)*s2 + k) // (s1*s2)", "i"},
                      Case{"i >= 0, i < s0, j >= 0, j < s1, k >= 0, k < s2", "((i*s1 + j)*s2 + k) // s2 % s1", "j"},
                      Case{"i >= 0, i < s0, j >= 0, j < s1, k >= 0, k < s2", "((i*s1 + j)*s2 + k) % (s1*s2)", "j*s2 + k"},
                      Case{"j >= 0, j < s0, s0 >= 1", "(i*s0 + j) // (4*s0)", "i // 4"}, Case{"s >= 1", "x // s * s + x % s", "x"},
                      Case{"s >= 1, t >= 1", "x // s // t", "x // (s*t)"}, Case{"s >= 1, t >= 1", "(x % (s*t)) // s", "(x // s) % t"},
                      Case{"i >= 0, i < s0", "(i - s0) // s0", "-1"}, Case{"i >= 0, i < s0, j >= 0, j < 64", "(64*i + j) // (64*s0)", "0"},
                      Case{"i >= 0, i < h + 1, j >= 0, j < h + 1", "(i*(h + 1) + j) // (h + 1)", "i"}));
INSTANTIATE_TEST_SUITE_P(divisibility, Simplify,
                         ::testing::Values(Case{"s0 % 8 == 0", "s0 % 8", "0"}, Case{"s0 % 8 == 0", "s0 // 8 * 8", "s0"},
                                           Case{"s0 % 8 == 0", "(s0 + j) % 8", "j % 8"},
                                           Case{"s0 % 8 == 0, j >= 0, j < 8", "(s0 + j) // 8", "s0 // 8"}, Case{"s0 == 7", "s0 * 2", "14"},
                                           Case{"s0 % 16 == 0", "(s0 + 15) // 16 * 16", "s0"}));
INSTANTIATE_TEST_SUITE_P(extrema, Simplify,
                         ::testing::Values(Case{"m >= 8", "min(m, 4)", "4"}, Case{"m >= 0, m <= 3", "min(m, 4)", "m"},
                                           Case{"m >= 2", "max(m, 1)", "m"}, Case{"i >= 0, i < n", "min(i, n)", "i"},
                                           Case{"i >= 0, i < n", "max(i + 1, n)", "n"}, Case{"", "min(m, 4)", "min(m, 4)"}));

struct Claim {
    const char* facts;
    const char* condition;
    bool proven;
};

class Proves : public ::testing::TestWithParam<Claim> {};

TEST_P(Proves, or_not) {
    Facts facts = parse_facts(GetParam().facts);
    Condition condition = parse_condition(GetParam().condition);
    EXPECT_EQ(facts.proves(condition), GetParam().proven) << GetParam().condition << " where " << GetParam().facts;
    EXPECT_EQ(facts.refutes(negate(condition)), GetParam().proven) << GetParam().condition << " where " << GetParam().facts;
}

INSTANTIATE_TEST_SUITE_P(
    claims, Proves,
    ::testing::Values(Claim{"m >= 2", "m >= 1", true}, Claim{"m >= 2", "m >= 3", false}, Claim{"i >= 0, i < n", "i <= n - 1", true},
                      Claim{"i >= 0, i < n, j >= 0, j < s", "i*s + j < n*s", true},
                      Claim{"i >= 0, i < n, j >= 0, j < s", "i*s + j < n*s - 1", false}, Claim{"m >= 1", "(m + 15)//16*16 >= m", true},
                      Claim{"m >= 1", "(m + 15)//16*16 < m + 16", true}, Claim{"m >= 1", "m//16 <= m", true},
                      Claim{"m >= 0", "m % s < s", false}, Claim{"m >= 0, s >= 1", "m % s < s", true},
                      Claim{"s0 % 8 == 0", "s0 % 4 == 0", true}, Claim{"s0 % 8 == 0", "s0 + 1 != 0", true}, Claim{"", "4*x + 2 != 0", true},
                      Claim{"", "min(m, 4) <= 4", true}, Claim{"", "min(m, n) <= m", true}, Claim{"m >= 0", "m - min(m, 4) >= 0", true},
                      Claim{"j >= 0, j < i + 1, i >= 0, i < n", "j < n", true},
                      Claim{"j >= 0, j < i + 1, i >= 0, i < n", "i - j >= 0", true}, Claim{"m >= 0", "m - m % 4 >= 0", true},
                      Claim{"i >= 0, i < s, t >= 2", "i < s*t", true}, Claim{"i >= 0, i < s, t >= 0", "i < s*t", false},
                      Claim{"i >= 0, i < n, n >= 1", "(i + 7)//8 <= (n + 6)//8", true}, Claim{"x >= 0, x < 100", "x // 7 < 15", true},
                      Claim{"x >= 0, x < 100", "x // 7 < 14", false}, Claim{"", "m*m >= 0", true}));

TEST(Facts, ranges) {
    Facts facts = parse_facts("m >= 2, m <= 9, n >= -3, n <= 4");
    auto range = [&](const char* text) { return facts.range(parse_expr(text)); };
    EXPECT_EQ(range("2*m - n"), (Range{0, 21}));
    EXPECT_EQ(range("m*n"), (Range{-27, 36}));
    EXPECT_EQ(range("m // 4"), (Range{0, 2}));
    EXPECT_EQ(range("n // 2"), (Range{-2, 2}));
    EXPECT_EQ(range("n % 8"), (Range{0, 7}));
    EXPECT_EQ(range("m % 16"), (Range{2, 9}));
    EXPECT_EQ(range("100 // m"), (Range{11, 50}));
    EXPECT_EQ(range("min(m, n)"), (Range{-3, 4}));
    EXPECT_EQ(range("k"), Range{});
    EXPECT_EQ(range("k // 4"), Range{});
    EXPECT_EQ(range("k % 4"), (Range{0, 3}));
    EXPECT_EQ(range("(4*k) % 16"), (Range{0, 12}));
    EXPECT_EQ(range("7"), (Range{7, 7}));
}

TEST(Facts, divisors) {
    Facts facts = parse_facts("m % 16 == 0, n == 12");
    auto divisor = [&](const char* text) { return facts.divisor(parse_expr(text)); };
    EXPECT_EQ(divisor("m + 8"), 8);
    EXPECT_EQ(divisor("3*m"), 48);
    EXPECT_EQ(divisor("m*n"), 192);
    EXPECT_EQ(divisor("m // 4"), 4);
    EXPECT_EQ(divisor("m % 24"), 8);
    EXPECT_EQ(divisor("min(m, 24)"), 8);
    EXPECT_EQ(divisor("k"), 1);
    EXPECT_EQ(divisor("0"), 0);
}

TEST(Facts, print_round_trips) {
    for (const char* text : {"", "s0 >= 2", "s0 >= 2, s0 <= 64, s0 % 8 == 0", "i >= 0, i < s0", "s0 == 4", "i < 2*s0 + 1"}) {
        EXPECT_EQ(to_string(parse_facts(text)), text);
        EXPECT_EQ(parse_facts(to_string(parse_facts(text))), parse_facts(text));
    }
}

TEST(Facts, assume_narrows_or_refuses) {
    Facts facts;
    EXPECT_TRUE(facts.assume(parse_condition("m >= 2")));
    EXPECT_TRUE(facts.assume(parse_condition("m < 10")));
    EXPECT_EQ(facts.range(Expr::symbol("m")), (Range{2, 9}));
    EXPECT_TRUE(facts.assume(parse_condition("m != 2")));
    EXPECT_EQ(facts.range(Expr::symbol("m")), (Range{3, 9}));
    EXPECT_FALSE(facts.assume(parse_condition("m != 5")));
    EXPECT_TRUE(facts.assume(parse_condition("m % 4 == 0")));
    EXPECT_TRUE(facts.assume(parse_condition("m % 6 == 0")));
    EXPECT_EQ(facts.divisor(Expr::symbol("m")), 12);
    EXPECT_FALSE(facts.assume(parse_condition("m*n < 4")));
    EXPECT_FALSE(facts.assume(parse_condition("m % 1152921504606846975 == 0")));
    facts.forget("m");
    EXPECT_EQ(facts, Facts{});
}

TEST(Facts, a_condition_simplifies_to_a_verdict) {
    Facts facts = parse_facts("m >= 2");
    EXPECT_EQ(facts.simplify(parse_condition("m >= 1")), eq(0, 0));
    EXPECT_EQ(facts.simplify(parse_condition("m < 2")), eq(0, 1));
    EXPECT_EQ(to_string(facts.simplify(parse_condition("x//8*8 + x % 8 < m"))), "x < m");
}

// Random facts with a random binding inside them: what Facts says must hold there.
TEST(FactsLaws, hold_for_every_binding) {
    std::mt19937 random(11);
    auto pick = [&](int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random); };
    int proofs = 0, shorter = 0, checked = 0;
    for (int round = 0; round < 4000; ++round) {
        auto made = testing::random_expr(
            random, {.symbols = {"i", "j", "s", "t", "x"}, .largest_literal = 16, .depth = 4, .positive_divisors = round % 4 != 0});
        auto second = testing::random_expr(
            random, {.symbols = {"i", "j", "s", "t", "x"}, .largest_literal = 16, .depth = 2, .positive_divisors = true});
        if (!made || !second) continue;
        Facts facts;
        facts.set_index("i", Expr::symbol("s"));
        if (pick(0, 1) == 1) facts.set_index("j", pick(0, 1) == 1 ? Expr::symbol("t") : Expr(pick(1, 8)));
        if (pick(0, 1) == 1) facts.set_range("t", {1, 64});
        if (pick(0, 1) == 1) facts.set_range("x", {pick(-4, 4), pick(5, 40)});
        if (pick(0, 1) == 1) facts.set_multiple("t", pick(1, 8));
        if (pick(0, 2) == 0) {
            const char* names[] = {"s", "t", "x"};
            const Expr sum = Expr::symbol(names[pick(0, 2)]) * pick(-2, 2) + Expr::symbol(names[pick(0, 2)]) * pick(-2, 2) + pick(-3, 3);
            facts.assume({static_cast<Relation>(pick(0, 3)), sum, Expr(pick(-3, 3))});
        }
        const auto& [tree, expr] = *made;
        Expr simple = facts.simplify(expr);
        ASSERT_LE(node_count(simple), node_count(expr)) << to_string(expr) << " -> " << to_string(simple);
        shorter += node_count(simple) < node_count(expr);
        Range range = facts.range(expr);
        int64_t divisor = facts.divisor(expr);
        Condition claim{static_cast<Relation>(pick(0, 3)), expr, second->second};
        bool proven = facts.proves(claim), refuted = facts.refutes(claim);
        proofs += proven + refuted;
        for (int sample = 0; sample < 30; ++sample) {
            Bindings values;
            auto draw = [&](const std::string& name) {
                Range r = facts.ranges().contains(name) ? facts.ranges().find(name)->second : Range{-20, 20};
                int64_t step = facts.multiples().contains(name) ? facts.multiples().find(name)->second : 1;
                int64_t value = pick(std::max<int64_t>(r.lo, -20), std::min<int64_t>(r.hi, 40));
                return value - ((value % step) + step) % step;
            };
            for (const char* name : {"s", "t", "x", "i", "j"}) values[name] = draw(name);
            bool inside = true;
            for (const auto& [name, value] : values) {
                if (facts.ranges().contains(name)) {
                    Range r = facts.ranges().find(name)->second;
                    inside = inside && r.lo <= value && value <= r.hi;
                }
                if (facts.bounds().contains(name)) inside = inside && value < evaluate(facts.bounds().find(name)->second, values);
            }
            for (const auto& [sum, known] : facts.sums()) {
                const int64_t value = evaluate(sum, values);
                inside = inside && known.lo <= value && value <= known.hi;
            }
            auto value = inside ? testing::value_of(tree, values) : std::nullopt;
            if (!value) continue;
            ++checked;
            std::string context = to_string(expr) + " where " + to_string(facts) + ", simple " + to_string(simple);
            for (const auto& [name, v] : values) context += " " + name + "=" + std::to_string(v);
            try {
                ASSERT_EQ(evaluate(simple, values), *value) << context;
            } catch (const base::InternalError& error) {
                FAIL() << error.what() << ": " << context;
            }
            ASSERT_LE(range.lo, *value) << context;
            ASSERT_GE(range.hi, *value) << context;
            ASSERT_EQ(divisor == 0 ? *value : *value % divisor, 0) << context;
            auto other = testing::value_of(second->first, values);
            if (!other) continue;
            bool holds = evaluate(Condition{claim.relation, *value, *other}, {});
            ASSERT_TRUE(holds || !proven) << to_string(claim) << " where " << to_string(facts);
            ASSERT_FALSE(holds && refuted) << to_string(claim) << " where " << to_string(facts);
        }
    }
    EXPECT_GT(checked, 10000);
    EXPECT_GT(proofs, 300);
    EXPECT_GT(shorter, 300);
}

TEST(Facts, SumsOfSymbols) {
    Facts f = parse_facts("s55 <= 0, s11 >= 2, s11 >= -s55"); // torch's guards on hidden[:, -n:]
    EXPECT_EQ(to_string(f), "s11 >= 2, s55 <= 0, s11 + s55 >= 0");
    EXPECT_EQ(parse_facts(to_string(f)), f);
    EXPECT_EQ(to_string(f.simplify(parse_expr("s11 - min(s11, -s55)"))), "s11 + s55");
    EXPECT_TRUE(f.non_negative(parse_expr("3*s11 + 3*s55 + 1")));
    EXPECT_TRUE(f.proves(lt(parse_expr("-s11 - s55"), 1)));
    EXPECT_FALSE(f.proves(lt(parse_expr("-s11 - s55"), 0)));
    EXPECT_FALSE(f.non_negative(parse_expr("s11 + 2*s55")));
    ASSERT_TRUE(f.assume(parse_condition("2*s55 + 2*s11 <= 9"))); // narrows: 4 at most
    EXPECT_EQ(to_string(f), "s11 >= 2, s55 <= 0, s11 + s55 >= 0, s11 + s55 <= 4");
    ASSERT_TRUE(f.assume(parse_condition("64*s11 == 64*s11 + 64*s55"))); // a multiple of one symbol
    EXPECT_EQ(f.range(Expr::symbol("s55")), (Range{0, 0}));
    EXPECT_FALSE(f.assume(parse_condition("2*s11 + 4*s55 == 3"))); // never
    EXPECT_FALSE(f.assume(parse_condition("s11 + s55 != 3")));
    f.forget("s11");
    EXPECT_EQ(to_string(f), "s55 == 0");
    for (const auto& [text, printed] : std::map<std::string, std::string>{{"a + 3 < 2*b + 2*a", "a + 2*b >= 4"},
                                                                          {"a - 2*b == 3", "a - 2*b == 3"},
                                                                          {"7 > 3*a", "a <= 2"},
                                                                          {"-2*a <= 7", "a >= -3"},
                                                                          {"-2*a < 6", "a >= -2"},
                                                                          {"3*a - 3*b > 1", "a - b >= 1"},
                                                                          {"3*a - 3*b <= -1", "a - b <= -1"}}) {
        EXPECT_EQ(to_string(parse_facts(text)), printed) << text;
        EXPECT_EQ(parse_facts(printed), parse_facts(text)) << text;
    }
}

} // namespace
} // namespace codetta::sym
