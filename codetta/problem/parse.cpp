#include "codetta/base/error.h"
#include "codetta/problem/parse_stage.h"
#include "codetta/problem/problem.h"

#include <algorithm>

namespace codetta::problem {

namespace {

using scalar::Lexer;
using scalar::Token;
using scalar::TokenKind;

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text), lexer_(text) {}

    Problem run() {
        lexer_.expect("problem");
        header_ = lexer_.peek();
        if (header_.kind == TokenKind::text)
            p_.name = lexer_.take().text;
        else
            p_.name = lexer_.take_name("the name of the problem");
        parse_axes();
        if (lexer_.accept("where")) parse_facts();
        if (!lexer_.peek().starts_line) lexer_.fail("expected the end of the line");
        while (!lexer_.at_end()) {
            const Token start = lexer_.peek();
            scalar::at_place(lexer_, start, [&] { parse_line(); });
        }
        resolve_aliases();
        scalar::at_place(lexer_, header_, [&] { verify(p_); });
        return std::move(p_);
    }

private:
    // Text up to `stop` or the end of the line, handed to `parse`, whose errors get the place.
    template <class F>
    auto rest(std::string_view stops, F&& parse) {
        Token at = lexer_.peek();
        size_t depth = 0;
        size_t begin = at.offset, end = begin;
        while (!lexer_.at_end() && !(lexer_.peek().starts_line && lexer_.peek().line != at.line)) {
            const Token& t = lexer_.peek();
            if (depth == 0 && t.text.size() == 1 && stops.find(t.text[0]) != std::string_view::npos) break;
            if (t.text == "(" || t.text == "[") ++depth;
            if ((t.text == ")" || t.text == "]") && depth > 0) --depth;
            end = t.offset + t.text.size();
            lexer_.take();
        }
        return scalar::at_place(lexer_, at, [&] { return parse(text_.substr(begin, end - begin)); });
    }

    sym::Expr size_expression(std::string_view stops) {
        return rest(stops, [](std::string_view t) { return sym::parse_expr(t); });
    }

    void parse_line() {
        if (at_stage()) {
            p_.stages.push_back(parse_stage(lexer_, p_, p_.stages.size()));
            return;
        }
        if (!p_.stages.empty()) lexer_.fail("operands come before stages");
        parse_operand();
    }

    void parse_axes() {
        lexer_.expect("(");
        while (!lexer_.accept(")")) {
            if (!p_.axes.empty()) lexer_.expect(",");
            Axis a;
            a.name = lexer_.take_name("an axis");
            lexer_.expect("=");
            a.extent = size_expression(",)");
            p_.axes.push_back(std::move(a));
        }
    }

    void parse_facts() {
        p_.facts = rest("", [](std::string_view t) { return sym::parse_facts(t); });
    }

    // `name: dtype[...] =`
    bool at_stage() const {
        size_t i = 0;
        if (!lexer_.is(":", 1) || !lexer_.is("[", 3)) return false;
        for (i = 4; !lexer_.is("]", i); ++i)
            if (lexer_.peek(i).kind == TokenKind::end) return false;
        return lexer_.is("=", i + 1);
    }

    std::vector<sym::Expr> sizes() {
        std::vector<sym::Expr> list;
        lexer_.expect("[");
        while (!lexer_.accept("]")) {
            if (!list.empty()) lexer_.expect(",");
            sym::Expr e = size_expression(",]");
            // An axis stands for its extent.
            sym::Substitution extents;
            for (const Axis& a : p_.axes) extents.emplace(a.name, a.extent);
            list.push_back(sym::substitute(e, extents));
        }
        return list;
    }

    void parse_operand() {
        Operand o;
        o.name = lexer_.take_name("an operand or a stage");
        lexer_.expect(":");
        Token type = lexer_.peek();
        o.dtype = scalar::at_place(lexer_, type, [&] { return scalar::parse_dtype(lexer_.take_name("a dtype")); });
        o.shape = sizes();
        if (lexer_.accept("strides")) {
            Token at = lexer_.peek();
            o.strides = sizes();
            if (o.strides.size() != o.shape.size())
                lexer_.fail_at(at, fmt::format("{} strides for {} dimensions", o.strides.size(), o.shape.size()));
        } else {
            o.strides = contiguous_strides(o.shape);
        }
        if (lexer_.accept("out"))
            o.role = Role::out;
        else if (lexer_.accept("inout"))
            o.role = Role::inout;
        else
            lexer_.expect("in");
        o.frozen = lexer_.accept("frozen");
        if (lexer_.accept("aliases")) {
            alias_of_.emplace_back(p_.operands.size(), lexer_.peek());
            lexer_.take_name("the operand whose memory it is");
        }
        p_.operands.push_back(std::move(o));
    }

    void resolve_aliases() {
        for (const auto& [o, at] : alias_of_) {
            auto target = std::ranges::find(p_.operands, at.text, &Operand::name);
            if (target == p_.operands.end()) lexer_.fail_at(at, "unknown operand");
            p_.operands[o].aliases = OperandId(static_cast<size_t>(target - p_.operands.begin()));
        }
    }

    std::string_view text_;
    Lexer lexer_;
    Problem p_;
    Token header_;
    std::vector<std::pair<size_t, Token>> alias_of_;
};

} // namespace

Problem parse_problem(std::string_view text) { return Parser(text).run(); }

} // namespace codetta::problem
