#include "codetta/scalar/lexer.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>

namespace codetta::scalar {

namespace {

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void fail_there(int line, int column, std::string_view message) {
    throw base::UserError(fmt::format("line {}, column {}: {}", line, column, message));
}

constexpr std::array<std::string_view, 11> kDouble = {"->", "<-", "//", "<=", ">=", "==", "!=", "<<", ">>", "..", "+="};

size_t name_length(std::string_view s) {
    size_t n = 0;
    while (n < s.size() &&
           (starts_name(s[n]) || is_digit(s[n]) || (s[n] == '.' && n + 1 < s.size() && (starts_name(s[n + 1]) || is_digit(s[n + 1])))))
        ++n;
    return n;
}

size_t number_length(std::string_view s, bool& real) {
    size_t n = 0;
    auto digits = [&] {
        while (n < s.size() && is_digit(s[n])) ++n;
    };
    digits();
    if (n < s.size() && s[n] == '.' && !(n + 1 < s.size() && s[n + 1] == '.')) {
        real = true;
        ++n;
        digits();
    }
    if (n < s.size() && (s[n] == 'e' || s[n] == 'E')) {
        size_t m = n + 1;
        if (m < s.size() && (s[m] == '+' || s[m] == '-')) ++m;
        if (m < s.size() && is_digit(s[m])) {
            real = true;
            n = m;
            digits();
        }
    }
    return n;
}

} // namespace

Lexer::Lexer(std::string_view text) {
    int line = 1;
    size_t line_start = 0, i = 0;
    bool first = true;
    while (i < text.size()) {
        char c = text[i];
        if (c == '\n') {
            ++line, ++i;
            line_start = i;
            first = true;
            continue;
        }
        if (c == ' ' || c == '\t' || c == '\r') {
            ++i;
            continue;
        }
        if (c == '#') {
            while (i < text.size() && text[i] != '\n') ++i;
            continue;
        }
        Token t;
        t.line = line;
        t.column = static_cast<int>(i - line_start) + 1;
        t.offset = i;
        t.starts_line = first;
        first = false;
        std::string_view rest = text.substr(i);
        size_t length = 1;
        if (starts_name(c)) {
            t.kind = TokenKind::name;
            length = name_length(rest);
        } else if (is_digit(c)) {
            bool real = false;
            length = number_length(rest, real);
            t.kind = real ? TokenKind::real : TokenKind::integer;
        } else if (c == '"') {
            size_t close = rest.find_first_of("\"\n", 1);
            if (close == std::string_view::npos || rest[close] == '\n') fail_there(t.line, t.column, "a text without its closing quote");
            t.kind = TokenKind::text;
            length = close + 1;
        } else {
            if (c < 0x20 || c > 0x7e) fail_there(t.line, t.column, "a character that is not plain ASCII");
            t.kind = TokenKind::punctuation;
            for (std::string_view p : kDouble)
                if (rest.starts_with(p)) length = 2;
        }
        t.text = t.kind == TokenKind::text ? rest.substr(1, length - 2) : rest.substr(0, length);
        tokens_.push_back(t);
        i += length;
    }
    Token end;
    end.line = line;
    end.column = static_cast<int>(text.size() - line_start) + 1;
    end.offset = text.size();
    end.starts_line = true;
    tokens_.push_back(end);
}

Token Lexer::take() {
    Token t = peek();
    if (next_ + 1 < tokens_.size()) ++next_;
    return t;
}

bool Lexer::is(std::string_view word, size_t ahead) const {
    const Token& t = peek(ahead);
    return (t.kind == TokenKind::punctuation || t.kind == TokenKind::name) && t.text == word;
}

bool Lexer::accept(std::string_view word) {
    if (!is(word)) return false;
    take();
    return true;
}

void Lexer::expect(std::string_view word) {
    if (!accept(word)) fail(fmt::format("expected '{}'", word));
}

std::string Lexer::take_name(std::string_view what) {
    if (peek().kind != TokenKind::name) fail(fmt::format("expected {}", what));
    return std::string(take().text);
}

int64_t Lexer::take_integer(std::string_view what) {
    bool negative = accept("-");
    if (peek().kind != TokenKind::integer) fail(fmt::format("expected {}", what));
    Token t = peek();
    uint64_t v = 0;
    auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), v);
    if (error != std::errc() || v > (uint64_t{1} << 63) - (negative ? 0 : 1)) fail("an integer that does not fit 64 bits");
    take();
    return static_cast<int64_t>(negative ? 0 - v : v);
}

double Lexer::take_number(std::string_view what) {
    bool negative = accept("-");
    double v;
    if (accept("inf")) {
        v = std::numeric_limits<double>::infinity();
    } else if (accept("nan")) {
        v = std::numeric_limits<double>::quiet_NaN();
    } else {
        if (peek().kind != TokenKind::integer && peek().kind != TokenKind::real) fail(fmt::format("expected {}", what));
        v = std::strtod(std::string(take().text).c_str(), nullptr);
    }
    return negative && v == v ? -v : v;
}

void Lexer::fail(std::string_view message) const { fail_at(peek(), message); }

void Lexer::fail_at(const Token& token, std::string_view message) const {
    std::string found = token.kind == TokenKind::end ? "the end of the text" : "'" + std::string(token.text) + "'";
    fail_there(token.line, token.column, fmt::format("{}, found {}", message, found));
}

} // namespace codetta::scalar
