// docs/chapters/layout.md: each line of its ```layout blocks is an example that must hold.
#include "codetta/base/error.h"
#include "codetta/layout/coalesce.h"
#include "codetta/layout/complement.h"
#include "codetta/layout/coordinates.h"
#include "codetta/layout/divide.h"
#include "codetta/layout/inverse.h"
#include "codetta/layout/modes.h"
#include "codetta/layout/product.h"
#include "codetta/layout/swizzle.h"
#include "tests/support/sample_layouts.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>

namespace codetta::layout {
namespace {

using Arguments = std::vector<std::string>;
using Law = std::function<std::string(const Arguments&)>;

Layout layout_of(const Arguments& a, size_t i) { return parse_layout(a.at(i)); }

Tiler tiler_of(const Arguments& a) {
    Tiler tiler;
    for (size_t i = 1; i < a.size(); ++i) tiler.push_back(parse_layout(a[i]));
    return tiler;
}

int64_t swizzle(const Arguments& a) {
    size_t position = 0;
    return parse_swizzle_prefix(a.at(0), position)(std::stoll(a.at(1)));
}

std::map<std::string, Law> laws() {
    return {
        {"at", [](const Arguments& a) { return to_string(layout_of(a, 1)(parse_int_tuple(a[0]))); }},
        {"size", [](const Arguments& a) { return to_string(size(layout_of(a, 0))); }},
        {"cosize", [](const Arguments& a) { return to_string(cosize(layout_of(a, 0))); }},
        {"coalesce", [](const Arguments& a) { return to_string(coalesce(layout_of(a, 0))); }},
        {"flatten", [](const Arguments& a) { return to_string(flatten(layout_of(a, 0))); }},
        {"compose", [](const Arguments& a) { return to_string(composition(layout_of(a, 0), layout_of(a, 1))); }},
        {"complement", [](const Arguments& a) { return to_string(complement(layout_of(a, 0), sym::parse_expr(a.at(1)))); }},
        {"divide", [](const Arguments& a) { return to_string(logical_divide(layout_of(a, 0), layout_of(a, 1))); }},
        {"zipped_divide", [](const Arguments& a) { return to_string(zipped_divide(layout_of(a, 0), tiler_of(a))); }},
        {"tiled_divide", [](const Arguments& a) { return to_string(tiled_divide(layout_of(a, 0), tiler_of(a))); }},
        {"flat_divide", [](const Arguments& a) { return to_string(flat_divide(layout_of(a, 0), tiler_of(a))); }},
        {"blocked_product", [](const Arguments& a) { return to_string(blocked_product(layout_of(a, 0), layout_of(a, 1))); }},
        {"raked_product", [](const Arguments& a) { return to_string(raked_product(layout_of(a, 0), layout_of(a, 1))); }},
        {"right_inverse", [](const Arguments& a) { return to_string(right_inverse(layout_of(a, 0))); }},
        {"left_inverse", [](const Arguments& a) { return to_string(left_inverse(layout_of(a, 0))); }},
        {"max_common_vector", [](const Arguments& a) { return to_string(max_common_vector(layout_of(a, 0), layout_of(a, 1))); }},
        {"contiguous_run", [](const Arguments& a) { return to_string(contiguous_run(layout_of(a, 0))); }},
        {"swizzle", [](const Arguments& a) { return std::to_string(swizzle(a)); }},
    };
}

TEST(LayoutChapter, every_example_holds) {
    std::ifstream page(CODETTA_SOURCE_DIR "/docs/chapters/layout.md");
    ASSERT_TRUE(page) << "docs/chapters/layout.md is missing";
    std::map<std::string, Law> known = laws();
    std::set<std::string> used;
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("```")) {
            inside = line == "```layout";
            continue;
        }
        if (!inside) continue;
        size_t equals = line.find(" = ");
        ASSERT_NE(equals, std::string::npos) << line;
        std::istringstream words(line.substr(0, equals));
        std::string name;
        words >> name;
        Arguments arguments;
        for (std::string word; words >> word;) arguments.push_back(word);
        ASSERT_TRUE(known.contains(name)) << line;
        used.insert(name);
        std::string result, expected = line.substr(equals + 3);
        try {
            result = known[name](arguments);
        } catch (const base::UserError& error) {
            result = std::string("error ") + error.what();
        }
        EXPECT_EQ(result, expected) << line;
    }
    EXPECT_EQ(used.size(), known.size());
}

// The C++ example of the page.
TEST(LayoutChapter, tiles_of_a_matrix) {
    Layout c = parse_layout("(m,n):(ldc,1)");
    Layout tiles = zipped_divide(c, Tiler{{6, 1}, {64, 1}});
    EXPECT_EQ(to_string(tiles.shape), "((6,64),((m + 5) // 6,(n + 63) // 64))");
    EXPECT_EQ(to_string(tiles({0, {sym::parse_expr("i"), sym::parse_expr("j")}})), "6*i*ldc + 64*j");
}

} // namespace
} // namespace codetta::layout
