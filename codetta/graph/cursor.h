// A place in a text that is being parsed; skips blanks and `#` comments, and says line and column when something is wrong.
#pragma once

#include <string>
#include <string_view>

namespace codetta::graph {

class Cursor {
public:
    explicit Cursor(std::string_view text) : text_(text) {}
    bool at_end();
    bool eat(std::string_view token); // when the text goes on with it; a word token must end there
    void expect(std::string_view token);
    bool next_is(std::string_view token);
    std::string word();   // [A-Za-z0-9_.]+ (a name), or an error
    std::string quoted(); // "..." with \" and \\ undone
    bool next_is_quote();
    // Text up to one of `stops` outside brackets and quotes, trimmed.
    std::string until(std::string_view stops);
    std::string until_word(std::string_view word, std::string_view stops); // also stops before a free-standing word
    std::string comment();                                                 // `# text` on the rest of this line, or ""
    [[noreturn]] void fail(const std::string& message) const;

private:
    void skip();
    std::string take_until(std::string_view word, std::string_view stops);
    std::string_view text_;
    size_t at_ = 0;
};

} // namespace codetta::graph
