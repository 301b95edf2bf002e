#include "codetta/base/error.h"
#include "codetta/layout/divide.h"

#include "codetta/layout/complement.h"
#include "codetta/layout/product.h"
#include "tests/support/sample_layouts.h"

#include <gtest/gtest.h>

namespace codetta::layout {
namespace {

using testing::offset;

TEST(Divide, holds_every_element_once) {
    int divided = 0;
    for (const Layout& l : testing::static_layouts()) {
        for (const char* text : {"2:1", "4:1", "2:2", "(2,2):(1,4)", "4:2", "3:1", "8:1", "1:0"}) {
            Layout tile = parse_layout(text), d;
            try {
                d = logical_divide(l, tile);
            } catch (const base::UserError&) {
                continue;
            }
            ++divided;
            EXPECT_EQ(d.rank(), 2u);
            EXPECT_EQ(d.mode(0), composition(l, tile)) << to_string(l) << " / " << text;
            Layout rest = complement(tile, size(l));
            for (int64_t i = 0; i < testing::count(tile); ++i) {
                for (int64_t j = 0; j < testing::count(rest); ++j) {
                    int64_t index = offset(tile, i) + offset(rest, j);
                    if (index >= testing::count(l)) continue;
                    ASSERT_EQ(d({i, j}), sym::Expr(offset(l, index))) << to_string(l) << " / " << text << " = " << to_string(d);
                }
            }
        }
    }
    EXPECT_GT(divided, 80);
}

TEST(Divide, forms) {
    Layout l = parse_layout("(16,32):(32,1)");
    Tiler tiler = {{4, 1}, {8, 1}};
    EXPECT_EQ(to_string(logical_divide(l, tiler)), "((4,4),(8,4)):((32,128),(1,8))");
    EXPECT_EQ(to_string(zipped_divide(l, tiler)), "((4,8),(4,4)):((32,1),(128,8))");
    EXPECT_EQ(to_string(tiled_divide(l, tiler)), "((4,8),4,4):((32,1),128,8)");
    EXPECT_EQ(to_string(flat_divide(l, tiler)), "(4,8,4,4):(32,1,128,8)");
    EXPECT_EQ(to_string(zipped_divide(l, Tiler{{4, 1}})), "((4),(4,32)):((32),(128,1))");
    EXPECT_EQ(to_string(logical_divide(parse_layout("(4,2,3):(2,1,8)"), parse_layout("4:2"))), "((2,2),(2,3)):((4,1),(2,8))");
    EXPECT_EQ(testing::user_error([&] { logical_divide(l, Tiler{{2, 1}, {2, 1}, {2, 1}}); }),
              "a tiler of 3 modes for the layout (16,32):(32,1)");
}

TEST(Divide, symbols_agree_with_numbers_and_round_up) {
    Layout l = parse_layout("(s,t):(ld,1)");
    Layout d = zipped_divide(l, Tiler{{2, 1}, {4, 1}});
    EXPECT_EQ(to_string(d), "((2,4),((s + 1) // 2,(t + 3) // 4)):((ld,1),(2*ld,4))");
    for (const sym::Bindings& values : testing::bindings()) {
        Layout x = testing::bind(d, values), whole = testing::bind(l, values);
        int64_t s = values.at("s"), t = values.at("t");
        for (int64_t i = 0; i < s; ++i)
            for (int64_t j = 0; j < t; ++j) EXPECT_EQ(x({{i % 2, j % 4}, {i / 2, j / 4}}), whole({i, j}));
    }
}

TEST(Product, places_copies_in_the_gaps) {
    int made = 0;
    for (const Layout& block : testing::static_layouts()) {
        for (const Layout& tiles : testing::static_layouts()) {
            if (testing::count(block) * testing::number(cosize(tiles)) > 2000 || !testing::injective(block)) continue;
            Layout p, free;
            try {
                free = complement(block, size(block) * cosize(tiles));
                p = logical_product(block, tiles);
            } catch (const base::UserError&) {
                continue;
            }
            ++made;
            EXPECT_EQ(p.mode(0), block);
            EXPECT_TRUE(compatible(tiles.shape, p.mode(1).shape));
            for (int64_t i = 0; i < testing::count(tiles); ++i)
                ASSERT_EQ(offset(p.mode(1), i), offset(free, offset(tiles, i))) << to_string(block) << " x " << to_string(tiles);
            if (testing::injective(tiles)) {
                EXPECT_TRUE(testing::injective(p)) << to_string(block) << " x " << to_string(tiles) << " = " << to_string(p);
            }
        }
    }
    EXPECT_GT(made, 100);
}

TEST(Product, forms) {
    Layout block = parse_layout("(2,5):(5,1)"), tiles = parse_layout("(3,4):(1,3)");
    EXPECT_EQ(to_string(logical_product(parse_layout("(2,2):(4,1)"), parse_layout("6:1"))), "((2,2),(2,3)):((4,1),(2,8))");
    EXPECT_EQ(to_string(blocked_product(block, tiles)), "((2,3),(5,4)):((5,10),(1,30))");
    EXPECT_EQ(to_string(raked_product(block, tiles)), "((3,2),(4,5)):((10,5),(30,1))");
    EXPECT_EQ(to_string(zipped_product(parse_layout("(2,4):(1,2)"), Tiler{{3, 1}, {6, 1}})), "((2,4),(3,(2,3))):((1,2),(2,(1,8)))");
    EXPECT_EQ(to_string(tiled_product(parse_layout("(2,4):(1,2)"), Tiler{{3, 1}, {2, 1}})), "((2,4),3,2):((1,2),2,1)");
    EXPECT_EQ(to_string(flat_product(parse_layout("(2,4):(1,2)"), Tiler{{3, 1}, {2, 1}})), "(2,4,3,2):(1,2,2,1)");
    EXPECT_EQ(to_string(tile_to_shape(parse_layout("(8,64):(64,1)"), parse_int_tuple("(128,64)"), std::vector<int>{0, 1})),
              "((8,16),(64,1)):((64,512),(1,0))");
    EXPECT_EQ(to_string(tile_to_shape(parse_layout("(8,8):(8,1)"), parse_int_tuple("(16,16,3)"), std::vector<int>{1, 0, 2})),
              "((8,2),(8,2),(1,3)):((8,128),(1,64),(0,256))");
}

TEST(Product, modes_of_blocked_and_raked_have_the_product_sizes) {
    for (const char* block_text : {"(2,5):(5,1)", "(4,2):(1,4)", "(2,(2,2)):(1,(2,4))"}) {
        for (const char* tile_text : {"(3,4):(1,3)", "(2,2):(2,1)", "4:1"}) {
            Layout block = parse_layout(block_text), tiles = parse_layout(tile_text);
            for (bool blocked : {true, false}) {
                Layout p = blocked ? blocked_product(block, tiles) : raked_product(block, tiles);
                ASSERT_EQ(p.rank(), 2u);
                for (size_t k = 0; k < 2; ++k)
                    EXPECT_EQ(size(p.mode(k)), (k < block.rank() ? size(block.mode(k)) : 1) * (k < tiles.rank() ? size(tiles.mode(k)) : 1));
                EXPECT_TRUE(testing::injective(p));
                EXPECT_EQ(testing::number(cosize(p)), testing::count(p));
            }
        }
    }
}

} // namespace
} // namespace codetta::layout
