#include "codetta/base/error.h"
#include "codetta/layout/complement.h"

#include "codetta/layout/inverse.h"
#include "codetta/layout/modes.h"
#include "tests/support/sample_layouts.h"

#include <gtest/gtest.h>

namespace codetta::layout {
namespace {

using testing::offset;

void expect_complement(const Layout& l, const Layout& c, int64_t extent, const std::string& what) {
    std::vector<int64_t> taken = testing::offsets(l);
    std::set<int64_t> used(taken.begin(), taken.end());
    for (int64_t j = 1; j < testing::count(c); ++j) {
        EXPECT_FALSE(used.contains(offset(c, j))) << what << " complement " << to_string(c);
        EXPECT_LT(offset(c, j - 1), offset(c, j)) << what << " complement " << to_string(c);
    }
    std::vector<std::pair<int64_t, int64_t>> parts; // stride, extent
    for (const Leaf& leaf : leaves(filter(l))) parts.emplace_back(testing::number(leaf.stride), testing::number(leaf.extent));
    std::sort(parts.begin(), parts.end());
    int64_t filled = 1;
    bool even = true;
    for (auto [stride, leaf_extent] : parts) {
        if (leaf_extent == 1) continue;
        even = even && stride % filled == 0;
        filled = stride * leaf_extent;
    }
    if (even) {
        EXPECT_GE(testing::number(cosize(make_layout({l, c}))), extent) << what << " complement " << to_string(c);
        if (extent % filled == 0) {
            EXPECT_EQ(testing::count(c) * testing::count(filter(l)), extent) << what;
        }
    }
    EXPECT_TRUE(testing::injective(make_layout({filter(l), c}))) << what << " complement " << to_string(c);
}

TEST(Complement, fills_what_is_free) {
    int checked = 0;
    std::vector<Layout> all = testing::static_layouts();
    std::mt19937 random(31);
    for (int i = 0; i < 1500; ++i) all.push_back(testing::random_layout(random, 100));
    for (const Layout& l : all) {
        for (int64_t extent : {testing::number(cosize(l)), int64_t{1}, int64_t{60}, int64_t{256}}) {
            try {
                Layout c = complement(l, extent);
                expect_complement(l, c, extent, to_string(l));
                ++checked;
            } catch (const base::UserError& error) {
                // interleaved strides such as (2,2):(3,2) are injective and yet have no ordered complement
                EXPECT_NE(std::string(error.what()).find("it is not injective"), std::string::npos) << error.what();
            }
        }
    }
    EXPECT_GT(checked, 1000);
}

TEST(Complement, examples) {
    auto of = [](const char* l, const char* extent) { return to_string(complement(parse_layout(l), sym::parse_expr(extent))); };
    EXPECT_EQ(of("4:1", "24"), "6:4");
    EXPECT_EQ(of("6:4", "24"), "4:1");
    EXPECT_EQ(of("(4,6):(1,4)", "24"), "1:0");
    EXPECT_EQ(of("4:2", "24"), "(2,3):(1,8)");
    EXPECT_EQ(of("(2,4):(1,6)", "24"), "3:2");
    EXPECT_EQ(of("(2,2):(1,6)", "24"), "(3,2):(2,12)");
    EXPECT_EQ(of("4:0", "24"), "24:1");
    EXPECT_EQ(of("16:1", "s"), "(s + 15) // 16:16");
    EXPECT_EQ(of("s:1", "s*t"), "t:s");
    EXPECT_EQ(of("t:s", "s*t"), "s:1");
    EXPECT_EQ(of("(s,4):(1,2*s)", "8*s*t"), "(2,t):(s,8*s)");
    EXPECT_EQ(testing::user_error([] { complement(parse_layout("(4,4):(1,2)"), 24); }),
              "complement of (4,4):(1,2): it is not injective, stride 2 inside 4 offsets in use");
    EXPECT_EQ(testing::user_error([] { complement(parse_layout("(s,4):(1,t)"), 24); }),
              "complement of (s,4):(1,t): it is not injective, stride t inside s offsets in use; or state facts that show it is");
    EXPECT_EQ(to_string(complement(parse_layout("(8,4):(1,t)"), 64, sym::parse_facts("t % 8 == 0"))), "(t // 8,63 // (4*t) + 1):(8,4*t)");
}

TEST(Inverse, right) {
    std::mt19937 random(41);
    std::vector<Layout> all = testing::static_layouts();
    for (int i = 0; i < 1000; ++i) all.push_back(testing::random_layout(random, 100));
    for (const Layout& l : all) {
        Layout r = right_inverse(l);
        for (int64_t i = 0; i < testing::count(r); ++i)
            ASSERT_EQ(offset(l, offset(r, i)), i) << to_string(l) << " right inverse " << to_string(r);
    }
    for (const Layout& l : testing::symbolic_layouts()) {
        Layout r = right_inverse(l);
        for (const sym::Bindings& values : testing::bindings()) {
            Layout x = testing::bind(l, values), y = testing::bind(r, values);
            for (int64_t i = 0; i < testing::count(y); ++i)
                ASSERT_EQ(offset(x, offset(y, i)), i) << to_string(l) << " right inverse " << to_string(r);
        }
    }
    EXPECT_EQ(to_string(right_inverse(parse_layout("(2,4):(4,1)"))), "(4,2):(2,1)");
    EXPECT_EQ(to_string(right_inverse(parse_layout("(s,t):(t,1)"))), "(t,s):(s,1)");
    EXPECT_EQ(to_string(right_inverse(parse_layout("(2,4):(1,4)"))), "2:1");
    EXPECT_EQ(to_string(right_inverse(parse_layout("4:2"))), "1:0");
}

TEST(Inverse, left) {
    int checked = 0;
    for (const Layout& l : testing::static_layouts()) {
        if (!testing::injective(l)) continue;
        Layout r = left_inverse(l);
        for (int64_t i = 0; i < testing::count(l); ++i)
            ASSERT_EQ(offset(r, offset(l, i)), i) << to_string(l) << " left inverse " << to_string(r);
        ++checked;
    }
    EXPECT_GT(checked, 12);
    EXPECT_EQ(to_string(left_inverse(parse_layout("4:2"))), "(2,4):(4,1)");
    EXPECT_EQ(to_string(left_inverse(parse_layout("(s,t):(t,1)"))), "(t,s):(s,1)");
    EXPECT_EQ(testing::user_error([] { left_inverse(parse_layout("(2,2):(1,3)")); }),
              "(2,2):(1,3) has no inverse that is a layout: ((2,2),1):((1,3),0) fills only 2 of 5 offsets");
}

TEST(CommonVector, is_in_both) {
    std::mt19937 random(51);
    std::vector<Layout> all = testing::static_layouts();
    for (int i = 0; i < 60; ++i) all.push_back(testing::random_layout(random, 64));
    int wide = 0;
    for (const Layout& a : all) {
        for (const Layout& b : all) {
            Layout r = max_common_layout(a, b);
            if (testing::number(size(r)) > 1) {
                ASSERT_LE(testing::number(cosize(r)), std::min(testing::count(a), testing::count(b)))
                    << to_string(a) << " and " << to_string(b);
                ++wide;
            }
            for (int64_t i = 0; i < testing::count(r); ++i) {
                ASSERT_EQ(offset(a, offset(r, i)), i) << to_string(a) << " and " << to_string(b) << ": " << to_string(r);
                ASSERT_EQ(offset(b, offset(r, i)), i) << to_string(a) << " and " << to_string(b) << ": " << to_string(r);
            }
        }
    }
    EXPECT_GT(wide, 100);
    auto width = [](const char* a, const char* b) { return to_string(max_common_vector(parse_layout(a), parse_layout(b))); };
    EXPECT_EQ(width("(8,8):(1,8)", "(8,8):(1,16)"), "8");
    EXPECT_EQ(width("(8,8):(8,1)", "(8,8):(8,1)"), "64");
    EXPECT_EQ(width("(8,8):(8,1)", "(8,8):(1,8)"), "1");
    EXPECT_EQ(width("(s,8):(8,1)", "(s,8):(16,1)"), "8");
    EXPECT_EQ(to_string(contiguous_run(parse_layout("(4,2,8):(1,4,16)"))), "8");
    EXPECT_EQ(to_string(contiguous_run(parse_layout("s:ld"))), "1");
}

} // namespace
} // namespace codetta::layout
