#include "codetta/problem/bijection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "codetta/scalar/host_array.h"

namespace codetta::problem {
namespace {

using sym::Expr;

struct Case {
    const char* why;
    std::vector<const char*> coordinates;
    std::vector<std::pair<const char*, const char*>> sources;
    std::vector<const char*> targets; // extents of t0, t1 ...
    bool invertible = true, onto = true;
};

const Case kCases[] = {
    {"identity", {"a", "b"}, {{"a", "3"}, {"b", "s"}}, {"3", "s"}},
    {"transpose", {"b", "a"}, {{"a", "3"}, {"b", "s"}}, {"s", "3"}},
    {"merge", {"a*s + b"}, {{"a", "4"}, {"b", "s"}}, {"4*s"}},
    {"split", {"a // 4", "a % 4"}, {{"a", "4*s"}}, {"s", "4"}},
    {"split by a size", {"a // s", "a % s"}, {{"a", "6*s"}}, {"6", "s"}},
    {"heads: b, h, s, d from m, n", {"b*s + q", "h*8 + d"}, {{"b", "2"}, {"h", "3"}, {"q", "s"}, {"d", "8"}}, {"2*s", "24"}},
    {"reshape that refines nothing", {"(6*a + b) // 4", "(6*a + b) % 4"}, {{"a", "4"}, {"b", "6"}}, {"6", "4"}},
    {"and with a neighbour", {"c", "(4*a + b) // 3", "(4*a + b) % 3"}, {{"a", "3"}, {"b", "4"}, {"c", "s"}}, {"s", "4", "3"}},
    {"three digits", {"a % 2", "a // 2 % 3", "a // 6"}, {{"a", "30"}}, {"2", "3", "5"}},
    {"flip", {"-a + 4", "b"}, {{"a", "5"}, {"b", "2"}}, {"5", "2"}},
    {"flip inside a merge", {"4*a - b + 3"}, {{"a", "5"}, {"b", "4"}}, {"20"}},
    {"slice", {"a + 2"}, {{"a", "3"}}, {"7"}, true, false},
    {"slice at a size", {"a + s"}, {{"a", "s"}}, {"3*s"}, true, false},
    {"broadcast source", {"a"}, {{"a", "3"}, {"b", "2"}}, {"3"}, false},
    {"source of one", {"a", "0"}, {{"a", "3"}, {"b", "1"}}, {"3", "1"}},
    {"diagonal", {"a", "a"}, {{"a", "3"}}, {"3", "3"}, false},
    {"step", {"2*a"}, {{"a", "3"}}, {"6"}, false},
    {"overlapping windows", {"a + b"}, {{"a", "3"}, {"b", "2"}}, {"4"}, false},
    {"half a digit", {"a // 2"}, {{"a", "6"}}, {"3"}, false},
    {"split, permute, merge", {"a // 3", "(a % 3)*4 + b"}, {{"a", "6"}, {"b", "4"}}, {"2", "12"}},
    {"empty", {"a*s + b"}, {{"a", "0"}, {"b", "s"}}, {"0"}},
};

TEST(Invert, is_the_inverse_at_every_point) {
    for (const Case& c : kCases)
        for (int64_t s : {1, 2, 5}) {
            SCOPED_TRACE(std::string(c.why) + " s = " + std::to_string(s));
            sym::Facts facts;
            facts.set_range("s", {1, sym::kUnbounded});
            std::vector<Dimension> sources, targets;
            std::vector<Expr> coordinates;
            std::vector<int64_t> source_extents, target_extents;
            for (auto [name, extent] : c.sources) {
                sources.push_back({Expr::symbol(name), sym::parse_expr(extent)});
                facts.set_index(name, sources.back().extent);
                source_extents.push_back(sym::evaluate(sources.back().extent, {{"s", s}}));
            }
            for (size_t i = 0; i < c.targets.size(); ++i) {
                targets.push_back({Expr::symbol("t" + std::to_string(i)), sym::parse_expr(c.targets[i])});
                target_extents.push_back(sym::evaluate(targets.back().extent, {{"s", s}}));
            }
            for (const char* text : c.coordinates) coordinates.push_back(sym::parse_expr(text));
            auto inverse = invert(coordinates, sources, targets, facts);
            ASSERT_EQ(inverse.has_value(), c.invertible);
            if (!inverse) continue;
            EXPECT_EQ(inverse->image.empty(), c.onto);
            std::set<std::vector<int64_t>> hit;
            scalar::for_each_coordinate(source_extents, [&](auto at) {
                sym::Bindings values = {{"s", s}};
                for (size_t i = 0; i < sources.size(); ++i) values[sources[i].index.name()] = at[i];
                std::vector<int64_t> target;
                for (const Expr& e : coordinates) target.push_back(sym::evaluate(e, values));
                EXPECT_TRUE(hit.insert(target).second);
                sym::Bindings there = {{"s", s}};
                for (size_t i = 0; i < target.size(); ++i) there["t" + std::to_string(i)] = target[i];
                for (size_t i = 0; i < sources.size(); ++i)
                    EXPECT_EQ(sym::evaluate(inverse->index[i], there), at[i]) << sym::to_string(inverse->index[i]);
            });
            scalar::for_each_coordinate(target_extents, [&](auto at) {
                sym::Bindings there = {{"s", s}};
                for (size_t i = 0; i < at.size(); ++i) there["t" + std::to_string(i)] = at[i];
                bool inside =
                    std::ranges::all_of(inverse->image, [&](const sym::Condition& condition) { return sym::evaluate(condition, there); });
                EXPECT_EQ(inside, hit.contains({at.begin(), at.end()}));
            });
        }
}

} // namespace
} // namespace codetta::problem
