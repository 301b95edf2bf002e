// Words of Codetta's texts, with their places for error messages. Used by the parsers of functions, Problems and what else likes the same
// words.
#pragma once

#include "codetta/base/error.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace codetta::scalar {

enum class TokenKind : uint8_t { name, integer, real, text, punctuation, end };

struct Token {
    TokenKind kind = TokenKind::end;
    std::string_view text;    // as it stands; of a `text` token without its quotes
    int line = 1, column = 1; // from 1
    size_t offset = 0;
    bool starts_line = false; // the first word of its line
};

// Words: names [A-Za-z_$][A-Za-z0-9_.$]* (no `..` inside), integers, reals (with `.` or an exponent), "text", and punctuation
// (`->` `<-` `//` `<=` `>=` `==` `!=` `<<` `>>` `..` `+=` or one character). `#` starts a comment up to the end of the line.
// All failures are UserError "line L, column C: message, found 'x'".
class Lexer {
public:
    explicit Lexer(std::string_view text); // `text` must outlive the lexer
    const Token& peek(size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
    Token take();
    bool is(std::string_view punctuation_or_name, size_t ahead = 0) const;
    bool accept(std::string_view punctuation_or_name);
    void expect(std::string_view punctuation_or_name);
    std::string take_name(std::string_view what);
    int64_t take_integer(std::string_view what); // with an optional `-`
    double take_number(std::string_view what);   // integer, real, inf or nan, with an optional `-`
    bool at_end() const { return peek().kind == TokenKind::end; }
    size_t position() const { return next_; }
    void rewind(size_t position) { next_ = position; }
    [[noreturn]] void fail(std::string_view message) const; // at the next word
    [[noreturn]] void fail_at(const Token& token, std::string_view message) const;

private:
    std::vector<Token> tokens_;
    size_t next_ = 0;
};

// Calls f and gives a UserError or InternalError that it throws the place of `token` ("line L, column C: ..."): for rules that know no
// text.
template <class F>
auto at_place(const Lexer& lexer, const Token& token, F&& f) {
    try {
        return f();
    } catch (const base::Error& error) {
        if (error.message().starts_with("line ")) throw;
        lexer.fail_at(token, error.message().substr(0, error.message().find(" [check failed")));
    }
}

} // namespace codetta::scalar
