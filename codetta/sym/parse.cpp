// Reads expressions and conditions with Python's precedences. A parser of a larger text calls the _prefix functions at its own position.
#include "codetta/base/error.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"
#include "codetta/sym/node.h"

namespace codetta::sym {
namespace {

class Parser {
public:
    Parser(std::string_view text, size_t position) : text_(text), position_(position) {}

    size_t position() const { return position_; }
    bool at_end() { return skip_blanks(), position_ >= text_.size(); }

    [[noreturn]] void fail(const std::string& what) const {
        constexpr size_t kSide = 50; // of a long text, what stands around the fault
        size_t begin = position_ > kSide ? position_ - kSide : 0;
        std::string shown(text_.substr(begin, position_ - begin + kSide));
        if (begin > 0) shown = "..." + shown;
        if (position_ + kSide < text_.size()) shown += "...";
        throw base::UserError(fmt::format("{} in '{}'", what, shown), fmt::format("column {}", position_ + 1));
    }

    bool accept(std::string_view token) {
        size_t before = position_;
        skip_blanks();
        if (text_.substr(position_, token.size()) != token) return position_ = before, false;
        position_ += token.size();
        return true;
    }

    // Runs one of the parse functions; what can't be computed (an overflow) is the text's fault.
    template <class Parse>
    auto guarded(const Parse& parse) {
        try {
            return parse();
        } catch (const base::InternalError& error) {
            fail(error.message().substr(0, error.message().find(" [check failed")));
        }
    }

    Expr parse_sum() {
        Nesting nesting(*this);
        Expr result = parse_product();
        while (true) {
            if (accept("+"))
                result = result + parse_product();
            else if (!next_is("->") && accept("-"))
                result = result - parse_product();
            else
                return result;
        }
    }

    Condition parse_condition() {
        Expr lhs = parse_sum();
        if (accept("==")) return eq(lhs, parse_sum());
        if (accept("!=")) return ne(lhs, parse_sum());
        if (accept("<=")) return le(lhs, parse_sum());
        if (accept(">=")) return le(parse_sum(), lhs);
        if (!next_is("<-") && accept("<")) return lt(lhs, parse_sum());
        if (accept(">")) return lt(parse_sum(), lhs);
        skip_blanks();
        fail("expected ==, !=, <, <=, > or >=");
    }

private:
    static constexpr int kDeepest = 200;
    std::string_view text_;
    size_t position_;
    int depth_ = 0;

    struct Nesting {
        explicit Nesting(Parser& parser) : parser_(parser) {
            if (++parser_.depth_ > kDeepest) parser_.fail("parentheses nest too deep");
        }
        ~Nesting() { --parser_.depth_; }
        Parser& parser_;
    };

    void skip_blanks() {
        while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t' || text_[position_] == '\n')) ++position_;
    }

    bool next_is(std::string_view token) {
        size_t before = position_;
        bool found = accept(token);
        position_ = before;
        return found;
    }

    Expr parse_product() {
        Expr result = parse_unary();
        while (true) {
            if (accept("*")) {
                result = result * parse_unary();
            } else if (accept("//")) {
                result = floor_div(result, parse_divisor());
            } else if (accept("%")) {
                result = mod(result, parse_divisor());
            } else {
                return result;
            }
        }
    }

    Expr parse_divisor() {
        Expr divisor = parse_unary();
        if (divisor.is(0)) fail("division by zero");
        return divisor;
    }

    Expr parse_unary() {
        if (!accept("-")) return parse_atom();
        Nesting nesting(*this);
        skip_blanks();
        if (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') return parse_literal(true);
        return -parse_unary();
    }

    Expr parse_literal(bool negative) {
        uint64_t limit = (uint64_t{1} << 63) - (negative ? 0 : 1);
        uint64_t value = 0;
        for (; position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9'; ++position_) {
            uint64_t digit = static_cast<uint64_t>(text_[position_] - '0');
            if (value > (limit - digit) / 10) fail("a literal does not fit 64 bits");
            value = value * 10 + digit;
        }
        return static_cast<int64_t>(negative ? ~value + 1 : value);
    }

    Expr parse_atom() {
        skip_blanks();
        if (position_ >= text_.size()) fail("expected an expression");
        char c = text_[position_];
        if (c >= '0' && c <= '9') return parse_literal(false);
        if (accept("(")) {
            Expr inner = parse_sum();
            expect(")");
            return inner;
        }
        size_t begin = position_;
        if (!is_letter(c)) fail("expected an expression");
        while (position_ < text_.size() && (is_letter(text_[position_]) || is_digit(text_[position_]) || starts_member())) ++position_;
        std::string name(text_.substr(begin, position_ - begin));
        bool call = position_ < text_.size() && text_[position_] == '(';
        if (call && (name == "min" || name == "max" || name == "ceil_div")) return parse_call(name);
        return Expr::symbol(std::move(name));
    }

    static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '$'; }
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }

    // A dot inside a name belongs to it, but `0..n` and `m..` are ranges.
    bool starts_member() const {
        return text_[position_] == '.' && position_ + 1 < text_.size() &&
               (is_letter(text_[position_ + 1]) || is_digit(text_[position_ + 1]));
    }

    Expr parse_call(const std::string& name) {
        expect("(");
        Expr result = parse_sum();
        size_t count = 1;
        while (accept(",")) {
            Expr operand = parse_sum();
            ++count;
            result = name == "min" ? min(result, operand) : name == "max" ? max(result, operand) : ceil_div(result, operand);
        }
        expect(")");
        if (name == "ceil_div" && count != 2) fail("ceil_div takes two operands");
        return result;
    }

    void expect(std::string_view token) {
        if (!accept(token)) {
            skip_blanks();
            fail(fmt::format("expected '{}'", token));
        }
    }
};

} // namespace

Expr parse_expr_prefix(std::string_view text, size_t& position) {
    Parser parser(text, position);
    Expr result = parser.guarded([&] { return parser.parse_sum(); });
    position = parser.position();
    return result;
}

Expr parse_expr(std::string_view text) {
    Parser parser(text, 0);
    Expr result = parser.guarded([&] { return parser.parse_sum(); });
    if (!parser.at_end()) parser.fail(fmt::format("unexpected '{}'", text.substr(parser.position(), 1)));
    return result;
}

Condition parse_condition_prefix(std::string_view text, size_t& position) {
    Parser parser(text, position);
    Condition result = parser.guarded([&] { return parser.parse_condition(); });
    position = parser.position();
    return result;
}

Condition parse_condition(std::string_view text) {
    Parser parser(text, 0);
    Condition result = parser.guarded([&] { return parser.parse_condition(); });
    if (!parser.at_end()) parser.fail(fmt::format("unexpected '{}'", text.substr(parser.position(), 1)));
    return result;
}

Facts parse_facts(std::string_view text) {
    Parser parser(text, 0);
    Facts facts;
    if (parser.at_end()) return facts;
    do {
        Condition condition = parser.guarded([&] { return parser.parse_condition(); });
        if (!facts.assume(condition)) parser.fail(fmt::format("'{}' can not be kept as a fact", to_string(condition)));
    } while (parser.accept(","));
    if (!parser.at_end()) parser.fail(fmt::format("unexpected '{}'", text.substr(parser.position(), 1)));
    return facts;
}

} // namespace codetta::sym
