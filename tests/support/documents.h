// Pages of the documentation that show what the program really says. Above a fenced block stands a comment that a reader doesn't see:
//   <!-- made: NAME -->   the block is what the test makes under that name
//   <!-- in: FILE -->     the block stands in that file, word for word
// With CODETTA_UPDATE_GOLDENS set (`./dev goldens --update`) blocks that are made are written into the page.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

namespace codetta::test {

inline const std::filesystem::path& source_folder() {
    static const std::filesystem::path folder = CODETTA_SOURCE_DIR;
    return folder;
}

inline std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file.good()) << path;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

inline bool updating() { return std::getenv("CODETTA_UPDATE_GOLDENS") != nullptr; }

// A whole page that is made.
inline void check_page(const std::string& name, const std::string& made) {
    const auto path = source_folder() / name;
    if (updating()) {
        std::ofstream(path) << made;
        return;
    }
    EXPECT_EQ(read_text(path), made) << name << " is out of date; ./dev goldens --update";
}

using Makers = std::map<std::string, std::function<std::string()>>;

// Returns how many blocks were checked.
inline size_t check_blocks(const std::string& name, const Makers& makers = {}) {
    const auto path = source_folder() / name;
    const std::string page = read_text(path);
    std::string rewritten;
    size_t at = 0, count = 0;
    while (true) {
        const size_t made = page.find("<!-- made: ", at), in = page.find("<!-- in: ", at), mark = std::min(made, in);
        if (mark == std::string::npos) break;
        const size_t word = page.find(": ", mark) + 2, word_end = page.find(" -->", word);
        const std::string what = page.substr(word, word_end - word);
        const size_t fence = page.find("```", word_end), begin = page.find('\n', fence) + 1, end = page.find("\n```", begin - 1) + 1;
        if (fence == std::string::npos || end == 0) {
            ADD_FAILURE() << name << ": no block follows the mark " << what;
            break;
        }
        const std::string block = page.substr(begin, end - begin);
        rewritten += page.substr(at, begin - at);
        ++count;
        if (mark == in) {
            EXPECT_NE(read_text(source_folder() / what).find(block), std::string::npos)
                << name << ": this block does not stand in " << what << ":\n"
                << block;
            rewritten += block;
        } else if (const auto maker = makers.find(what); maker != makers.end()) {
            const std::string wanted = maker->second();
            if (!updating()) {
                EXPECT_EQ(block, wanted) << name << ": block '" << what << "' is out of date; ./dev goldens --update";
            }
            rewritten += wanted;
        } else {
            rewritten += block;
            --count; // another test's
        }
        at = end;
    }
    if (updating()) std::ofstream(path) << rewritten + page.substr(at);
    return count;
}

} // namespace codetta::test
