#include "codetta/layout/layout.h"

#include "codetta/layout/coalesce.h"
#include "codetta/layout/coordinates.h"
#include "codetta/layout/modes.h"
#include "tests/support/sample_layouts.h"

#include <gtest/gtest.h>

namespace codetta::layout {
namespace {

using testing::offset;

TEST(IntTuple, structure) {
    IntTuple t = parse_int_tuple("(4,(2,m),3)");
    EXPECT_EQ(t.rank(), 3u);
    EXPECT_EQ(depth(t), 2u);
    EXPECT_EQ(to_string(size(t)), "24*m");
    EXPECT_EQ(to_string(flatten(t)), "(4,2,m,3)");
    EXPECT_EQ(unflatten(t, leaves(t)), t);
    EXPECT_EQ(depth(IntTuple(4)), 0u);
    EXPECT_NE(parse_int_tuple("(4)"), IntTuple(4));
    EXPECT_TRUE(congruent(t, parse_int_tuple("(1,(1,1),1)")));
    EXPECT_FALSE(congruent(t, parse_int_tuple("(1,1,1)")));
    EXPECT_TRUE(compatible(IntTuple(24), parse_int_tuple("(4,(2,3))")));
    EXPECT_TRUE(compatible(parse_int_tuple("(4,6)"), parse_int_tuple("(4,(2,3))")));
    EXPECT_FALSE(compatible(parse_int_tuple("(4,(2,3))"), parse_int_tuple("(4,6)")));
    EXPECT_EQ(to_string(inner_product(parse_int_tuple("(i,(j,2))"), parse_int_tuple("(1,(m,3))"))), "i + j*m + 6");
}

TEST(IntTuple, print_and_parse) {
    for (const char* text : {"4", "(4)", "()", "(4,(2,3))", "m + 1", "(m + 1,(m + 1) // 4)", "(min(m, 4),2*m)"}) {
        EXPECT_EQ(to_string(parse_int_tuple(text)), text);
        EXPECT_EQ(parse_int_tuple(to_string(parse_int_tuple(text))), parse_int_tuple(text));
    }
    EXPECT_EQ(testing::user_error([] { parse_int_tuple("(4,2"); }), "column 5: expected ',' or ')' in '(4,2'");
    EXPECT_EQ(testing::user_error([] { parse_int_tuple("(4,2))"); }), "column 6: unexpected ')' in '(4,2))'");
}

TEST(Layout, print_and_parse) {
    for (const Layout& l : testing::static_layouts()) EXPECT_EQ(parse_layout(to_string(l)), l);
    for (const Layout& l : testing::symbolic_layouts()) EXPECT_EQ(parse_layout(to_string(l)), l);
    EXPECT_EQ(to_string(parse_layout("(6,(16,4)):(64,(1,16))")), "(6,(16,4)):(64,(1,16))");
    EXPECT_EQ(to_string(parse_layout("(2,4)")), "(2,4):(1,2)");
    EXPECT_EQ(testing::user_error([] { parse_layout("(2,4):(1)"); }), "column 1: shape and stride of (2,4):(1) nest differently");
    EXPECT_EQ(testing::user_error([] { parse_layout("4:1 x"); }), "column 5: unexpected 'x' in '4:1 x'");
    EXPECT_EQ(testing::user_error([] { verify({parse_int_tuple("(2,4)"), 1}); }), "layout (2,4):1: shape and stride nest differently");
}

TEST(Layout, is_a_function_of_coordinates) {
    Layout l = parse_layout("(4,(2,3)):(6,(3,1))");
    EXPECT_EQ(l({1, {1, 2}}), sym::Expr(11));
    EXPECT_EQ(l({1, 5}), sym::Expr(11));
    EXPECT_EQ(l(21), sym::Expr(11));
    EXPECT_EQ(to_string(l({sym::parse_expr("i"), sym::parse_expr("j")})), "6*i + j // 2 + 3*(j % 2)");
    for (const Layout& each : testing::static_layouts()) {
        for (int64_t i = 0; i < testing::count(each); ++i) {
            EXPECT_EQ(each(i), sym::Expr(offset(each, i))) << to_string(each);
            EXPECT_EQ(each(idx2crd(i, each.shape)), each(i)) << to_string(each);
            EXPECT_LT(offset(each, i), testing::number(cosize(each))) << to_string(each);
        }
    }
}

TEST(Layout, coordinates_and_indices) {
    for (const Layout& l : testing::static_layouts()) {
        IntTuple stride = make_column_major(l.shape).stride;
        for (int64_t i = 0; i < testing::count(l); ++i) {
            IntTuple c = idx2crd(i, l.shape);
            EXPECT_TRUE(congruent(c, l.shape));
            EXPECT_EQ(crd2idx(c, l.shape, stride), sym::Expr(i)) << to_string(l.shape);
            EXPECT_EQ(crd2crd(i, size(l), l.shape), c);
        }
    }
    EXPECT_EQ(to_string(idx2crd(sym::parse_expr("i"), parse_int_tuple("(4,(2,m))"))), "(i % 4,((i // 4) % 2,i // 8))");
}

TEST(Layout, makers) {
    EXPECT_EQ(to_string(make_column_major(parse_int_tuple("(2,(3,m),4)"))), "(2,(3,m),4):(1,(2,6),6*m)");
    EXPECT_EQ(to_string(make_row_major(parse_int_tuple("(2,(3,m),4)"))), "(2,(3,m),4):(12*m,(4*m,4),1)");
    EXPECT_EQ(to_string(make_ordered(parse_int_tuple("(2,(3,5),4)"), std::vector<int>{1, 2, 0})), "(2,(3,5),4):(4,(8,24),1)");
    EXPECT_EQ(to_string(make_layout({parse_layout("4:1"), parse_layout("(2,3):(4,8)")})), "(4,(2,3)):(1,(4,8))");
    EXPECT_EQ(to_string(make_flat({})), "1:0");
    EXPECT_EQ(testing::user_error([] { make_ordered(parse_int_tuple("(2,3)"), std::vector<int>{0}); }),
              "an order of 1 numbers for the shape (2,3)");
    for (const Layout& l : testing::static_layouts()) {
        EXPECT_TRUE(testing::injective(make_row_major(l.shape)));
        for (int64_t i = 0; i < testing::count(l); ++i) EXPECT_EQ(make_column_major(l.shape)(i), sym::Expr(i));
    }
}

TEST(Coalesce, keeps_the_function) {
    std::mt19937 random(5);
    std::vector<Layout> all = testing::static_layouts();
    for (int i = 0; i < 500; ++i) all.push_back(testing::random_layout(random, 200));
    for (const Layout& l : all) {
        Layout c = coalesce(l);
        EXPECT_LE(depth(c), 1u);
        EXPECT_EQ(testing::offsets(c), testing::offsets(l)) << to_string(l) << " -> " << to_string(c);
        EXPECT_EQ(coalesce(c), c);
        Layout by_mode = coalesce_modes(l);
        EXPECT_EQ(by_mode.rank(), l.rank());
        EXPECT_EQ(testing::offsets(by_mode), testing::offsets(l)) << to_string(l);
    }
    for (const Layout& l : testing::symbolic_layouts())
        for (const sym::Bindings& values : testing::bindings())
            EXPECT_EQ(testing::offsets(testing::bind(coalesce(l), values)), testing::offsets(testing::bind(l, values))) << to_string(l);
    EXPECT_EQ(to_string(coalesce(parse_layout("(2,(1,6)):(1,(6,2))"))), "12:1");
    EXPECT_EQ(to_string(coalesce(parse_layout("((4,s),t):((1,4),4*s)"))), "4*s*t:1");
    EXPECT_EQ(to_string(coalesce(parse_layout("(s,t):(t,1)"))), "(s,t):(t,1)");
    EXPECT_EQ(to_string(coalesce_modes(parse_layout("((2,2),(2,1)):((1,2),(8,0))"))), "(4,2):(1,8)");
}

TEST(Modes, regroup_slice_and_filter) {
    for (const Layout& l : testing::static_layouts()) {
        EXPECT_EQ(testing::offsets(flatten(l)), testing::offsets(l));
        EXPECT_LE(depth(flatten(l)), 1u);
        std::vector<int64_t> kept = testing::offsets(filter(l)), all = testing::offsets(l);
        EXPECT_EQ(std::set<int64_t>(kept.begin(), kept.end()), std::set<int64_t>(all.begin(), all.end())) << to_string(l);
        if (l.rank() >= 2) {
            EXPECT_EQ(testing::offsets(group(l, 0, 2)), testing::offsets(l));
        }
    }
    EXPECT_EQ(to_string(group(parse_layout("(2,3,4):(1,2,6)"), 1, 3)), "(2,(3,4)):(1,(2,6))");
    EXPECT_EQ(to_string(select(parse_layout("(2,3,4):(1,2,6)"), std::vector<size_t>{2, 0})), "(4,2):(6,1)");
    EXPECT_EQ(to_string(append(parse_layout("4:2"), 2)), "(4,1):(2,0)");
    EXPECT_EQ(to_string(filter_zeros(parse_layout("((2,3),4):((0,1),0)"))), "((1,3),1):((0,1),0)");
    Layout l = parse_layout("(4,(2,3),5):(6,(3,1),24)");
    std::vector<std::optional<IntTuple>> at = {IntTuple(2), std::nullopt, IntTuple(sym::parse_expr("i"))};
    Slice s = slice(l, at);
    EXPECT_EQ(to_string(s.layout), "(2,3):(3,1)");
    EXPECT_EQ(to_string(s.offset), "24*i + 12");
    EXPECT_EQ(slice(l, std::vector<std::optional<IntTuple>>{1, 2, 3}), (Slice{{1, 0}, 6 + 1 + 72}));
}

} // namespace
} // namespace codetta::layout
