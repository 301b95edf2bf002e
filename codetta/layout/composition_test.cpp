#include "codetta/base/error.h"
#include "codetta/layout/composition.h"

#include "tests/support/sample_layouts.h"

#include <gtest/gtest.h>

namespace codetta::layout {
namespace {

using testing::offset;

// Whether f(0..extent-1) is a layout: its first arithmetic run must divide the extent, and the rest follow it additively.
bool is_layout(const std::vector<int64_t>& f) {
    if (f.size() == 1) return f[0] == 0;
    size_t run = 2;
    while (run < f.size() && f[run] == static_cast<int64_t>(run) * f[1]) ++run;
    if (f.size() % run != 0) return false;
    std::vector<int64_t> rest;
    for (size_t i = 0; i < f.size(); ++i) {
        if (f[i] != f[i % run] + f[i - i % run]) return false;
        if (i % run == 0) rest.push_back(f[i]);
    }
    return rest.size() == 1 || is_layout(rest);
}

// Whether a o b has a layout with b's modes at all.
bool representable(const Layout& a, const Layout& b) {
    for (const Leaf& leaf : leaves(b)) {
        std::vector<int64_t> f;
        for (int64_t i = 0; i < testing::number(leaf.extent); ++i) f.push_back(offset(a, i * testing::number(leaf.stride)));
        if (!is_layout(f)) return false;
    }
    for (int64_t i = 0; i < testing::count(b); ++i) {
        int64_t sum = 0, rest = i;
        for (const Leaf& leaf : leaves(b)) {
            sum += offset(a, rest % testing::number(leaf.extent) * testing::number(leaf.stride));
            rest /= testing::number(leaf.extent);
        }
        if (sum != offset(a, offset(b, i))) return false;
    }
    return true;
}

TEST(Composition, is_composition_or_a_refusal_with_reason) {
    std::mt19937 random(23);
    std::vector<std::pair<Layout, Layout>> pairs;
    for (const Layout& a : testing::static_layouts())
        for (const Layout& b : testing::static_layouts())
            if (testing::number(cosize(b)) <= testing::count(a)) pairs.emplace_back(a, b);
    for (int i = 0; i < 4000; ++i) {
        Layout a = testing::random_layout(random, 300), b = testing::random_layout(random, 60);
        if (testing::number(cosize(b)) <= testing::count(a)) pairs.emplace_back(a, b);
    }
    int composed = 0, refused = 0, missed = 0;
    for (const auto& [a, b] : pairs) {
        try {
            Layout r = composition(a, b);
            ++composed;
            EXPECT_TRUE(compatible(b.shape, r.shape)) << to_string(r) << " for " << to_string(b);
            for (int64_t i = 0; i < testing::count(b); ++i)
                ASSERT_EQ(offset(r, i), offset(a, offset(b, i)))
                    << to_string(a) << " o " << to_string(b) << " = " << to_string(r) << " at " << i;
        } catch (const base::UserError& error) {
            ++refused;
            missed += representable(a, b);
        }
    }
    EXPECT_GT(composed, 300);
    EXPECT_GT(refused, 50);
    EXPECT_LE(missed, refused / 500); // refusals are right but where carries cancel by accident of the strides
}

TEST(Composition, examples) {
    auto compose = [](const char* a, const char* b, const char* facts = "") {
        return to_string(composition(parse_layout(a), parse_layout(b), sym::parse_facts(facts)));
    };
    EXPECT_EQ(compose("(6,2):(8,2)", "(4,3):(3,1)"), "((2,2),3):((24,2),8)");
    EXPECT_EQ(compose("20:2", "(5,4):(4,1)"), "(5,4):(8,2)");
    EXPECT_EQ(compose("(10,2):(16,4)", "(5,4):(1,5)"), "(5,(2,2)):(16,(80,4))");
    EXPECT_EQ(compose("(8,8):(8,1)", "8:9"), "8:9");
    EXPECT_EQ(compose("(4,4):(1,16)", "4:0"), "4:0");
    EXPECT_EQ(compose("s:d", "(16,t):(1,16)"), "(16,t):(d,16*d)");
    EXPECT_EQ(compose("(s,8):(8,1)", "s:1"), "s:8");
    EXPECT_EQ(compose("(s,8):(8,1)", "8:s"), "8:1");
    EXPECT_EQ(compose("(s,8):(8,1)", "(s,4):(1,2*s)"), "(s,4):(8,2)");
    EXPECT_EQ(compose("(s,t):(t,1)", "(16,s // 16):(1,16)", "s % 16 == 0"), "(16,s // 16):(t,16*t)");
    EXPECT_EQ(compose("(4,s):(1,ld)", "4*t:1"), "(4,t):(1,ld)");
}

TEST(Composition, symbols_agree_with_numbers) {
    struct Case {
        const char *a, *b, *facts;
    };
    for (const Case& c : {Case{"(4,s):(s,1)", "(2,2,s):(2,1,4)", ""}, Case{"((4,s),t):((1,4*t),4)", "(4*s,t):(1,4*s)", ""},
                          Case{"(s,t):(t,1)", "(s,t):(1,s)", ""}, Case{"(s,8):(ld,1)", "(s,(4,2)):(1,(2*s,s))", ""}}) {
        Layout a = parse_layout(c.a), b = parse_layout(c.b);
        Layout r = composition(a, b, sym::parse_facts(c.facts));
        for (const sym::Bindings& values : testing::bindings()) {
            Layout x = testing::bind(a, values), y = testing::bind(b, values), z = testing::bind(r, values);
            for (int64_t i = 0; i < testing::count(y); ++i) EXPECT_EQ(offset(z, i), offset(x, offset(y, i))) << c.a << " o " << c.b;
        }
    }
}

TEST(Composition, refusals_say_why) {
    auto refusal = [](const char* a, const char* b) { return testing::user_error([&] { composition(parse_layout(a), parse_layout(b)); }); };
    EXPECT_EQ(refusal("(6,2):(1,10)", "3:4"), "composition (6,2):(1,10) o 3:4: 3 steps of 4 neither stay inside a mode nor fill it evenly");
    EXPECT_EQ(refusal("(4,4):(1,100)", "(4,2):(1,2)"),
              "composition (4,4):(1,100) o (4,2):(1,2): coordinates up to 5 in a mode of extent 4");
    EXPECT_EQ(refusal("(s,t):(t,1)", "16:1"),
              "composition (s,t):(t,1) o 16:1: 16 steps of 1 neither stay inside a mode nor fill it evenly; state the "
              "divisibility or the range of the symbols");
}

TEST(Composition, by_mode) {
    Layout a = parse_layout("(12,(4,8)):(59,(13,1))");
    Layout r = composition(a, Tiler{parse_layout("3:4"), parse_layout("8:2")});
    EXPECT_EQ(to_string(r), "(3,(2,4)):(236,(26,1))");
    EXPECT_EQ(to_string(composition(a, Tiler{parse_layout("3:4")})), "(3,(4,8)):(236,(13,1))");
    EXPECT_EQ(testing::user_error([] { composition(parse_layout("4:1"), Tiler{{2, 1}, {2, 1}}); }),
              "a tiler of 2 modes for the layout 4:1");
}

} // namespace
} // namespace codetta::layout
