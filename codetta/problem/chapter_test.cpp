// docs/chapters/problem.md: its Problems stand, and what it says is made from them is made. CODETTA_UPDATE_GOLDENS rewrites the made
// blocks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "codetta/problem/normalise.h"
#include "codetta/problem/region.h"
#include "codetta/problem/test_support.h"

namespace codetta::problem {
namespace {

const char* const kPage = CODETTA_SOURCE_DIR "/docs/chapters/problem.md";

std::string made(const std::string& how, const std::map<std::string, Problem>& problems) {
    std::istringstream words(how);
    std::string verb, first, second, binding;
    words >> verb >> first;
    if (verb == "merge") return to_string(merge_axes(problems.at(first)));
    if (verb == "split") return to_string(split_axes(problems.at(first)));
    EXPECT_EQ(verb, "compose");
    words >> second >> binding;
    const std::string read = binding.substr(0, binding.find('=')), held = binding.substr(binding.find('=') + 1);
    return to_string(test::compose_and_compare(problems.at(first), problems.at(second), {{read, held}}, {}, {{{"s0", 2}}}));
}

TEST(ProblemChapter, says_what_is) {
    std::ifstream page(kPage);
    ASSERT_TRUE(page) << kPage;
    std::map<std::string, Problem> problems;
    std::string rewritten, line;
    size_t count = 0;
    while (std::getline(page, line)) {
        rewritten += line + "\n";
        const bool given = line.starts_with("```problem "), make = line.starts_with("```made ");
        if (!given && !make) continue;
        const std::string head = line.substr(line.find(' ') + 1);
        std::string block;
        while (std::getline(page, line) && line != "```") block += line + "\n";
        std::string expected = block;
        if (given) {
            problems[head] = parse_problem(block);
            expected = to_string(problems[head]);
        } else {
            expected = made(head, problems);
        }
        if (std::getenv("CODETTA_UPDATE_GOLDENS") == nullptr) {
            EXPECT_EQ(block, expected) << head;
        }
        rewritten += (make ? expected : block) + "```\n";
        ++count;
    }
    EXPECT_GE(count, 6U);
    if (std::getenv("CODETTA_UPDATE_GOLDENS") != nullptr) std::ofstream(kPage) << rewritten;
}

} // namespace
} // namespace codetta::problem
