// Reads what print.cpp writes: header, facts, frame, buffers and blocks.
#include <algorithm>

#include "codetta/tile/parser.h"

namespace codetta::tile {

Program Parser::program() {
    lexer_.expect("kernel");
    p_.name = lexer_.take_name("the kernel's name");
    lexer_.expect("(");
    while (!lexer_.is(")") && !lexer_.is(";")) {
        if (!p_.buffers.empty()) lexer_.expect(",");
        take_buffer(true);
    }
    if (lexer_.accept(";")) {
        do p_.integers.push_back(lexer_.take_name("an integer parameter"));
        while (lexer_.accept(","));
    }
    lexer_.expect(")");
    if (lexer_.accept("requires")) {
        do p_.required.push_back(lexer_.take_name("a feature"));
        while (lexer_.accept(","));
    }
    if (lexer_.accept("where")) take_facts();
    while (lexer_.is("check")) {
        lexer_.take();
        Token at = lexer_.peek();
        if (lexer_.take_integer("the number of a check") != static_cast<int64_t>(p_.checks.size()) + 1)
            lexer_.fail_at(at, "checks are numbered from 1 in order");
        if (lexer_.peek().kind != scalar::TokenKind::text) lexer_.fail("expected a sentence in quotes");
        p_.checks.emplace_back(lexer_.take().text);
    }
    Token frame = lexer_.peek();
    if (lexer_.accept("grid")) {
        Grid grid;
        grid.ctas = expr();
        lexer_.expect("threads");
        grid.threads = integer("a number of threads");
        if (lexer_.accept("cluster")) grid.cluster = integer("a number of CTAs");
        p_.frame = grid;
    } else {
        lexer_.expect("tasks");
        std::vector<TaskIndex> tasks;
        if (!lexer_.peek().starts_line) do {
                std::string name = lexer_.take_name("a task index");
                lexer_.expect("in");
                tasks.push_back({std::move(name), expr()});
            } while (lexer_.accept(","));
        p_.frame = std::move(tasks);
    }
    p_.body = block(frame.column);
    if (!lexer_.at_end()) lexer_.fail("expected a statement of the block or the end");
    return std::move(p_);
}

void Parser::take_facts() {
    Token at = lexer_.peek();
    size_t end = std::min(text_.find('\n', at.offset), text_.size());
    std::string_view line = text_.substr(at.offset, end - at.offset);
    line = line.substr(0, line.find('#'));
    p_.facts = scalar::at_place(lexer_, at, [&] { return sym::parse_facts(line); });
    skip_to(end);
}

void Parser::take_buffer(bool parameter) {
    Buffer b;
    b.parameter = parameter;
    Token at = lexer_.peek();
    b.name = lexer_.take_name("a buffer's name");
    lexer_.expect(":");
    Token type = lexer_.peek();
    b.dtype = scalar::at_place(lexer_, type, [&] { return scalar::parse_dtype(lexer_.take_name("a dtype")); });
    b.space = word(words::kSpaces, "a space");
    if (b.space == Space::tensormap) {
        lexer_.expect("box");
        lexer_.expect("(");
        do b.box.push_back(lexer_.take_integer("an extent of the box"));
        while (lexer_.accept(","));
        lexer_.expect(")");
        lexer_.expect("swizzle");
        b.swizzle_bytes = integer("the swizzle's bytes");
    } else if (lexer_.accept("(")) {
        b.elements = expr();
        lexer_.expect(")");
    }
    if (lexer_.accept("align")) b.align_bytes = lexer_.take_integer("an alignment in bytes");
    if (lexer_.accept("written")) b.written = true;
    if (lexer_.accept("aliased")) b.no_alias = false;
    p_.buffers.push_back(std::move(b));
    if (!buffers_.emplace(p_.buffers.back().name, BufferId(p_.buffers.size() - 1)).second)
        lexer_.fail_at(at, "a buffer has this name already");
}

Block Parser::block(int parent_column) {
    Block out;
    int column = lexer_.peek().column;
    if (column <= parent_column) return out;
    while (!lexer_.at_end() && lexer_.peek().starts_line && lexer_.peek().column > parent_column) {
        if (lexer_.peek().column != column) lexer_.fail("this line stands in no block's column");
        out.push_back(statement());
        if (!lexer_.at_end() && !lexer_.peek().starts_line) lexer_.fail("expected the end of the statement");
    }
    return out;
}

Program parse_program(std::string_view text) { return Parser(text).program(); }

} // namespace codetta::tile
