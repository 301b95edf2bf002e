#include "codetta/layout/swizzle.h"

#include "codetta/layout/affine.h"
#include "codetta/layout/recast.h"
#include "tests/support/sample_layouts.h"

#include <gtest/gtest.h>

namespace codetta::layout {
namespace {

using testing::offset;

TEST(Swizzle, laws) {
    for (Swizzle s :
         {Swizzle{3, 4, 3}, Swizzle{2, 4, 3}, Swizzle{1, 4, 3}, Swizzle{0, 4, 3}, Swizzle{3, 0, 3}, Swizzle{2, 0, -3}, Swizzle{3, 3, 4}}) {
        verify(s);
        std::set<int64_t> seen;
        for (int64_t x = 0; x < 2048; ++x) {
            EXPECT_EQ(s(s(x)), x) << to_string(s);
            seen.insert(s(x));
            EXPECT_EQ(s(x) >> s.base << s.base, s(x >> s.base << s.base)) << to_string(s);
            EXPECT_EQ(s(x) & ((1 << s.base) - 1), x & ((1 << s.base) - 1));
            if (s.shift >= 0 && x < (1 << (s.base + s.shift))) {
                EXPECT_EQ(s(x), x);
            }
        }
        EXPECT_EQ(seen.size(), 2048u);
        EXPECT_EQ(*seen.rbegin(), 2047);
    }
    EXPECT_EQ(Swizzle(3, 4, 3)(128 + 16), 128);
    EXPECT_EQ(Swizzle(3, 4, 3)(3 * 128), 3 * 128 + 3 * 16);
    EXPECT_EQ(testing::user_error([] { verify(Swizzle{3, 4, 2}); }), "Sw<3,4,2>: needs 0 <= bits <= |shift| and base >= 0");
}

TEST(Swizzle, recast) {
    Swizzle bytes{3, 4, 3};
    EXPECT_EQ(upcast(bytes, 2), (Swizzle{3, 3, 3}));
    EXPECT_EQ(downcast(upcast(bytes, 4), 4), bytes);
    for (int64_t x = 0; x < 1024; ++x) {
        EXPECT_EQ(upcast(bytes, 2)(x) * 2, bytes(x * 2));
        EXPECT_EQ(downcast(bytes, 2)(x * 2), bytes(x) * 2);
    }
    EXPECT_EQ(testing::user_error([] { upcast(Swizzle{3, 0, 3}, 2); }), "Sw<3,0,3> exchanges bits inside a unit of 2");
}

TEST(ComposedLayout, value_print_parse) {
    ComposedLayout c = composition(Swizzle{3, 3, 3}, parse_layout("(8,64):(64,1)"));
    EXPECT_EQ(to_string(c), "Sw<3,3,3> o 0 o (8,64):(64,1)");
    EXPECT_EQ(parse_composed_layout(to_string(c)), c);
    c.offset = sym::parse_expr("512*i + 8");
    EXPECT_EQ(parse_composed_layout(to_string(c)), c);
    EXPECT_EQ(c(1, {{"i", 1}}), Swizzle(3, 3, 3)(512 + 8 + 64));
    EXPECT_EQ(size(c), sym::Expr(512));
    EXPECT_EQ(contiguous_run(c, 1), sym::Expr(8));
    EXPECT_EQ(contiguous_run(composition(Swizzle{0, 3, 3}, c.layout), 1), sym::Expr(64));
    ComposedLayout tile = composition(c, parse_layout("(4,8):(1,8)"));
    EXPECT_EQ(to_string(tile.layout), "(4,8):(64,1)");
    for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(tile(i, {{"i", 0}}), c(offset(parse_layout("(4,8):(1,8)"), i), {{"i", 0}}));
    EXPECT_EQ(testing::user_error([] { parse_composed_layout("Sw<3,4> o 0 o 4:1"); }), "column 7: expected ',' in 'Sw<3,4> o 0 o 4:1'");
}

// A column of 8 rows of 128 bytes, read 16 bytes each, touches each of the 8 groups of banks once.
TEST(ComposedLayout, spreads_a_column_over_the_banks) {
    ComposedLayout c = composition(Swizzle{3, 4, 3}, parse_layout("(8,128):(128,1)"));
    for (int64_t column = 0; column < 8; ++column) {
        std::set<int64_t> groups;
        for (int64_t row = 0; row < 8; ++row) groups.insert(c(row + 8 * 16 * column) / 16 % 8);
        EXPECT_EQ(groups.size(), 8u);
    }
}

TEST(Recast, counts_other_elements) {
    EXPECT_EQ(to_string(upcast(parse_layout("(8,(16,4)):(64,(1,512))"), 4)), "(8,(4,4)):(16,(1,128))");
    EXPECT_EQ(to_string(downcast(parse_layout("(8,4):(4,1)"), 2)), "(8,8):(8,1)");
    EXPECT_EQ(to_string(upcast(parse_layout("(s,8):(ld,1)"), 4, sym::parse_facts("ld % 4 == 0"))), "(s,2):(ld // 4,1)");
    EXPECT_EQ(to_string(upcast(parse_layout("(1,8):(3,1)"), 4)), "(1,2):(0,1)");
    EXPECT_EQ(testing::user_error([] { upcast(parse_layout("(8,6):(6,1)"), 4); }),
              "upcast of (8,6):(6,1) by 4: 8:6 does not hold whole units");
    EXPECT_EQ(to_string(downcast(parse_layout("(1,3):(0,2)"), 2)), "(2,3):(1,4)");
    EXPECT_EQ(testing::user_error([] { downcast(parse_layout("4:2"), 2); }),
              "downcast of 4:2 by 2: no leaf of stride 1 can hold the parts");
    for (const Layout& l : {parse_layout("(4,8):(8,1)"), parse_layout("((4,2),6):((1,4),8)"), parse_layout("(8,3):(1,16)")}) {
        Layout up = upcast(l, 4);
        std::vector<int64_t> all = testing::offsets(l), units = testing::offsets(up);
        std::set<int64_t> expected, found(units.begin(), units.end());
        for (int64_t x : all) expected.insert(x / 4);
        EXPECT_EQ(found, expected) << to_string(l);
        std::vector<int64_t> again = testing::offsets(downcast(up, 4));
        EXPECT_EQ(std::set<int64_t>(again.begin(), again.end()), std::set<int64_t>(all.begin(), all.end())) << to_string(l);
    }
}

TEST(Affine, offsets_become_layouts) {
    struct Case {
        const char *offset, *facts, *layout, *base;
    };
    std::vector<AxisExtent> axes = {{"i", sym::parse_expr("12")}, {"j", sym::parse_expr("n")}};
    for (const Case& c :
         {Case{"768*i + j + 5", "", "(12,n):(768,1)", "5"}, Case{"3*(i // 4) + 100*(i % 4) + 7*j", "", "((4,3),n):((100,3),7)", "0"},
          Case{"i // 4 + s*j", "", "((4,3),n):((0,1),s)", "0"}, Case{"(i // 2) % 3 + 10*(i // 6)", "", "((2,3,2),n):((0,1,10),0)", "0"},
          Case{"16*(j // 16) + 40*(j % 16) + i", "n % 16 == 0", "(12,(16,n // 16)):(1,(40,16))", "0"}}) {
        auto result = from_offset(sym::parse_expr(c.offset), axes, sym::parse_facts(c.facts));
        ASSERT_TRUE(result) << c.offset;
        EXPECT_EQ(to_string(result->layout), c.layout) << c.offset;
        EXPECT_EQ(to_string(result->offset), c.base);
        sym::Bindings values{{"n", 32}, {"s", 9}};
        Layout l = testing::bind(result->layout, values);
        for (int64_t i = 0; i < 12; ++i) {
            for (int64_t j = 0; j < 32; ++j) {
                values["i"] = i;
                values["j"] = j;
                ASSERT_EQ(l({i, j}) + sym::evaluate(result->offset, values), sym::Expr(sym::evaluate(sym::parse_expr(c.offset), values)))
                    << c.offset;
            }
        }
    }
    for (const char* none : {"i*j", "i*i", "i // 5", "j // 16", "(i + j) // 4", "min(i, 3)"})
        EXPECT_FALSE(from_offset(sym::parse_expr(none), axes)) << none;
    EXPECT_EQ(to_string(from_affine(std::vector<sym::Expr>{4, 8}, std::vector<sym::Expr>{sym::parse_expr("ld"), 1})), "(4,8):(ld,1)");
}

} // namespace
} // namespace codetta::layout
