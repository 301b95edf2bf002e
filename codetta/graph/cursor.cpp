#include "codetta/graph/cursor.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "codetta/base/error.h"

namespace codetta::graph {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

std::string trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    return std::string(text);
}

} // namespace

void Cursor::skip() {
    while (at_ < text_.size()) {
        if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
            ++at_;
        } else if (text_[at_] == '#') {
            while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        } else {
            break;
        }
    }
}

bool Cursor::at_end() {
    skip();
    return at_ == text_.size();
}

bool Cursor::next_is(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    size_t end = at_ + token.size();
    return !(is_word(token.back()) && end < text_.size() && is_word(text_[end]));
}

bool Cursor::eat(std::string_view token) {
    if (!next_is(token)) return false;
    at_ += token.size();
    return true;
}

void Cursor::expect(std::string_view token) {
    if (!eat(token)) fail(fmt::format("expected '{}'", token));
}

std::string Cursor::word() {
    skip();
    size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (begin == at_) fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
}

bool Cursor::next_is_quote() {
    skip();
    return at_ < text_.size() && text_[at_] == '"';
}

std::string Cursor::quoted() {
    expect("\"");
    std::string result;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        result += text_[at_];
    }
    if (at_ == text_.size()) fail("the text has no closing quote");
    ++at_;
    return result;
}

std::string Cursor::until(std::string_view stops) { return take_until({}, stops); }

std::string Cursor::until_word(std::string_view word, std::string_view stops) { return take_until(word, stops); }

std::string Cursor::take_until(std::string_view word, std::string_view stops) {
    skip();
    size_t begin = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
        char c = text_[at_];
        if (c == '"') {
            for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
                if (text_[at_] == '\\') ++at_;
            if (at_ >= text_.size()) break;
            continue;
        }
        if (depth == 0 && stops.find(c) != std::string_view::npos) break;
        if (depth == 0 && !word.empty() && (at_ == 0 || !is_word(text_[at_ - 1])) && next_is(word)) break;
        if (c == '(' || c == '[' || c == '{') ++depth;
        if (c == ')' || c == ']' || c == '}') --depth;
    }
    if (at_ > text_.size()) at_ = text_.size();
    return trimmed(text_.substr(begin, at_ - begin));
}

std::string Cursor::comment() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ == text_.size() || text_[at_] != '#') return {};
    size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string result = trimmed(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end;
    return result;
}

void Cursor::fail(const std::string& message) const {
    size_t line = 1 + static_cast<size_t>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
    size_t start = at_ == 0 ? std::string_view::npos : text_.rfind('\n', at_ - 1);
    size_t column = start == std::string_view::npos ? at_ + 1 : at_ - start;
    throw base::UserError(fmt::format("line {}, column {}: {}", line, column, message));
}

} // namespace codetta::graph
