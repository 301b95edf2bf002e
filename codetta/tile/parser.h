// The parser of tile programs, inside: what parse.cpp (the frame) and parse_statement.cpp share. Blocks are told by indentation: the
// statements of a block begin in the column of its first one.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codetta/base/error.h"
#include "codetta/scalar/lexer.h"
#include "codetta/tile/words.h"

namespace codetta::tile {

using layout::Layout;
using scalar::Lexer;
using scalar::Token;
using sym::Expr;

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text), lexer_(text) {}

    Program program();

private:
    // An optional word of this statement: on the next line the same word begins another one.
    bool accept_here(std::string_view word) { return !lexer_.peek().starts_line && lexer_.accept(word); }
    int integer(std::string_view what) { return static_cast<int>(lexer_.take_integer(what)); }

    void skip_to(size_t position) {
        while (!lexer_.at_end() && lexer_.peek().offset < position) lexer_.take();
    }

    template <class F>
    auto symbolic(F&& read) {
        Token at = lexer_.peek();
        if (lexer_.at_end()) lexer_.fail("expected an expression");
        size_t position = at.offset;
        auto result = scalar::at_place(lexer_, at, [&] { return read(text_, position); });
        skip_to(position);
        return result;
    }
    Expr expr() {
        return symbolic([](std::string_view text, size_t& position) { return sym::parse_expr_prefix(text, position); });
    }
    sym::Condition condition() {
        return symbolic([](std::string_view text, size_t& position) { return sym::parse_condition_prefix(text, position); });
    }
    std::vector<sym::Condition> conditions() {
        std::vector<sym::Condition> all;
        do all.push_back(condition());
        while (lexer_.accept("and"));
        return all;
    }

    void take_facts();

    Layout layout() {
        return symbolic([](std::string_view text, size_t& position) { return layout::parse_layout_prefix(text, position); });
    }

    // Whether a `:` comes before the `|` or `]` that ends this part of a view.
    bool at_layout() const {
        for (size_t i = 0;; ++i) {
            if (lexer_.is(":", i)) return true;
            if (lexer_.is("|", i) || lexer_.is("]", i) || lexer_.peek(i).kind == scalar::TokenKind::end) return false;
        }
    }

    BufferId buffer_name() {
        Token at = lexer_.peek();
        auto found = buffers_.find(lexer_.take_name("a buffer"));
        if (found == buffers_.end()) lexer_.fail_at(at, "no buffer has this name");
        return found->second;
    }

    View view() {
        View v;
        v.buffer = buffer_name();
        lexer_.expect("[");
        if (!at_layout()) {
            v.offset = expr();
            lexer_.expect("|");
        }
        v.layout = layout();
        if (lexer_.accept("|")) {
            lexer_.expect("swizzle");
            v.swizzle.bits = integer("the swizzle's bits");
            v.swizzle.base = integer("the swizzle's base");
            v.swizzle.shift = integer("the swizzle's shift");
        }
        lexer_.expect("]");
        return v;
    }
    std::vector<View> views() {
        std::vector<View> all;
        do all.push_back(view());
        while (lexer_.accept(","));
        return all;
    }

    template <class T, size_t N>
    T word(const words::Table<T, N>& table, std::string_view what) {
        Token at = lexer_.peek();
        std::string name = lexer_.take_name(what), all;
        for (const auto& [key, spelled] : table) {
            if (spelled == name) return key;
            all += (all.empty() ? "" : ", ") + std::string(spelled);
        }
        lexer_.fail_at(at, fmt::format("expected {}: {}", what, all));
    }

    void take_buffer(bool parameter);

    Block block(int parent_column);

    scalar::Function function(const std::vector<scalar::DType>& parameters, size_t body) {
        size_t after = lexer_.position();
        lexer_.rewind(body);
        scalar::Function f = parse_function_list(lexer_, parameters);
        lexer_.expect("}");
        lexer_.rewind(after);
        return f;
    }

    // `{ ... } (`: remembers where the list begins (its parameters' types stand behind it) and goes on behind the parenthesis.
    size_t skip_list() {
        lexer_.expect("{");
        size_t body = lexer_.position();
        while (!lexer_.accept("}")) {
            if (lexer_.at_end()) lexer_.fail("expected `}`");
            lexer_.take();
        }
        lexer_.expect("(");
        return body;
    }

    scalar::DType dtype(const View& v) const { return p_.buffer(v.buffer).dtype; }

    Statement statement();
    Statement copy();

    std::string_view text_;
    Lexer lexer_;
    Program p_;
    std::map<std::string, BufferId, std::less<>> buffers_;
};

} // namespace codetta::tile
