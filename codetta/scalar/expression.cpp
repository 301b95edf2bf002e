#include "codetta/scalar/expression.h"

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"
#include "codetta/scalar/evaluate.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace codetta::scalar {

namespace {

struct Operator {
    Prim prim;
    std::string_view text;
    int precedence;
};

constexpr std::array kOperators = {
    Operator{Prim::eq, "==", 1},         Operator{Prim::ne, "!=", 1},          Operator{Prim::lt, "<", 1},
    Operator{Prim::le, "<=", 1},         Operator{Prim::gt, ">", 1},           Operator{Prim::ge, ">=", 1},
    Operator{Prim::bit_or, "|", 2},      Operator{Prim::bit_xor, "^", 3},      Operator{Prim::bit_and, "&", 4},
    Operator{Prim::shift_left, "<<", 5}, Operator{Prim::shift_right, ">>", 5}, Operator{Prim::add, "+", 6},
    Operator{Prim::sub, "-", 6},         Operator{Prim::mul, "*", 7},          Operator{Prim::div, "/", 7},
    Operator{Prim::floor_div, "//", 7},  Operator{Prim::mod, "%", 7},
};
constexpr int kComparison = 1, kUnary = 8, kAtom = 9;

const Operator* operator_of(Prim p) {
    for (const Operator& o : kOperators)
        if (o.prim == p) return &o;
    return nullptr;
}

const Operator* operator_at(const Lexer& lexer) {
    for (const Operator& o : kOperators)
        if (lexer.is(o.text)) return &o;
    return nullptr;
}

struct Piece {
    std::string text;
    int precedence = kAtom;
};

class Printer {
public:
    Printer(const Function& f, std::span<const std::string> arguments, size_t limit) : f_(f), arguments_(arguments), left_(limit) {}

    Piece print(Value v) {
        if (left_ == 0) return {};
        --left_;
        const Op& op = f_.ops[v];
        if (op.prim == Prim::parameter) return {arguments_[static_cast<size_t>(op.int_value)]};
        if (op.prim == Prim::constant) return print_constant(op);
        if (op.prim == Prim::cast) return {std::string(to_string(op.dtype)) + "(" + print(op.inputs[0]).text + ")"};
        if (op.prim == Prim::narrow) return {"narrow." + std::string(to_string(op.dtype)) + "(" + print(op.inputs[0]).text + ")"};
        if (op.prim == Prim::neg) return {"-" + wrap(print(op.inputs[0]), kAtom), kUnary};
        if (op.prim == Prim::bit_not) return {"~" + wrap(print(op.inputs[0]), kUnary), kUnary};
        if (const Operator* o = operator_of(op.prim)) {
            // Left-associative; comparisons do not chain.
            std::string a = wrap(print(op.inputs[0]), o->precedence == kComparison ? o->precedence + 1 : o->precedence);
            return {a + " " + std::string(o->text) + " " + wrap(print(op.inputs[1]), o->precedence + 1), o->precedence};
        }
        std::string text = std::string(to_string(op.prim)) + "(";
        for (size_t i = 0; i < op.inputs.size(); ++i) text += (i ? ", " : "") + print(op.inputs[i]).text;
        return {text + ")"};
    }
    bool out_of_room() const { return left_ == 0; }

private:
    static std::string wrap(Piece p, int precedence) { return p.precedence < precedence ? "(" + p.text + ")" : p.text; }

    static Piece print_constant(const Op& op) {
        std::string text = constant_text(op);
        bool plain = op.dtype == DType::f32 || op.dtype == DType::i64 || op.dtype == DType::boolean;
        if (!plain) return {std::string(to_string(op.dtype)) + "(" + text + ")"};
        return {text, text[0] == '-' ? kUnary : kAtom};
    }

    const Function& f_;
    std::span<const std::string> arguments_;
    size_t left_;
};

class Parser {
public:
    Parser(Lexer& lexer, Builder& builder, const std::function<std::optional<Value>(Lexer&)>& atom)
        : lexer_(lexer), builder_(builder), atom_(atom) {}

    Value expression(int precedence = kComparison) {
        DepthGuard guard(*this);
        Value left = unary();
        while (const Operator* o = operator_at(lexer_)) {
            if (o->precedence < precedence) break;
            Token at = lexer_.take();
            Value right = expression(o->precedence + 1);
            left = apply(at, o->prim, {left, right});
            if (o->precedence == kComparison) break;
        }
        return left;
    }

private:
    struct DepthGuard { // an expression of a thousand parentheses is an error, not a crash
        explicit DepthGuard(Parser& p) : parser(p) {
            if (++parser.depth_ > 400) parser.lexer_.fail("an expression that is nested too deep");
        }
        ~DepthGuard() { --parser.depth_; }
        Parser& parser;
    };

    Value apply(const Token& at, Prim p, std::vector<Value> inputs) {
        return at_place(lexer_, at, [&] { return builder_.apply(p, inputs); });
    }

    bool at_literal(size_t ahead) const {
        const Token& t = lexer_.peek(ahead);
        return t.kind == TokenKind::integer || t.kind == TokenKind::real || lexer_.is("inf", ahead) || lexer_.is("nan", ahead);
    }

    Value literal(DType t) {
        return is_float(t) ? builder_.constant(t, lexer_.take_number("a number")) : builder_.integer(t, lexer_.take_integer("an integer"));
    }

    Value unary() {
        DepthGuard guard(*this);
        Token at = lexer_.peek();
        if (lexer_.is("-") && at_literal(1)) return literal(lexer_.peek(1).kind == TokenKind::integer ? DType::i64 : DType::f32);
        if (at_literal(0)) return literal(at.kind == TokenKind::integer ? DType::i64 : DType::f32);
        if (lexer_.accept("-")) return apply(at, Prim::neg, {unary()});
        if (lexer_.accept("~")) return apply(at, Prim::bit_not, {unary()});
        if (lexer_.accept("(")) {
            Value v = expression();
            lexer_.expect(")");
            return v;
        }
        if (lexer_.accept("true")) return builder_.integer(DType::boolean, 1);
        if (lexer_.accept("false")) return builder_.integer(DType::boolean, 0);
        if (at.kind != TokenKind::name) lexer_.fail("expected an expression");
        if (lexer_.is("(", 1)) {
            if (auto t = find_dtype(at.text)) return cast(*t);
            if (at.text.starts_with("narrow.")) {
                lexer_.take();
                DType t = at_place(lexer_, at, [&] { return parse_dtype(at.text.substr(7)); });
                lexer_.expect("(");
                Value v = expression();
                lexer_.expect(")");
                return builder_.narrow(t, v);
            }
            if (auto p = find_prim(at.text); p && *p != Prim::parameter && *p != Prim::constant && !is_conversion(*p)) return call(*p);
        }
        if (auto v = atom_(lexer_)) return *v;
        std::vector<std::string_view> names;
        for (int p = static_cast<int>(Prim::add); p < static_cast<int>(Prim::cast); ++p) names.push_back(to_string(static_cast<Prim>(p)));
        if (lexer_.is("(", 1)) lexer_.fail(fmt::format("unknown function '{}'{}", at.text, base::did_you_mean(at.text, names)));
        lexer_.fail(fmt::format("unknown name '{}'", at.text));
    }

    Value cast(DType t) {
        Token at = lexer_.take();
        lexer_.expect("(");
        size_t length = lexer_.is("-") ? 1 : 0;
        bool fits = is_float(t) || lexer_.peek(length).kind == TokenKind::integer;
        if (at_literal(length) && lexer_.is(")", length + 1) && fits) {
            Value v = literal(t);
            lexer_.expect(")");
            return v;
        }
        Value v = expression();
        lexer_.expect(")");
        return at_place(lexer_, at, [&] { return builder_.cast(t, v); });
    }

    Value call(Prim p) {
        Token at = lexer_.take();
        lexer_.expect("(");
        std::vector<Value> inputs;
        if (!lexer_.is(")")) {
            do inputs.push_back(expression());
            while (lexer_.accept(","));
        }
        lexer_.expect(")");
        if (inputs.size() != static_cast<size_t>(arity(p)))
            lexer_.fail_at(at, fmt::format("{} arguments for '{}', which takes {}", inputs.size(), to_string(p), arity(p)));
        return apply(at, p, std::move(inputs));
    }

    Lexer& lexer_;
    Builder& builder_;
    const std::function<std::optional<Value>(Lexer&)>& atom_;
    int depth_ = 0;
};

} // namespace

std::string constant_text(const Op& op) {
    if (op.dtype == DType::boolean) return op.int_value ? "true" : "false";
    if (!is_float(op.dtype)) return std::to_string(op.int_value);
    double v = op.float_value;
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    std::string text = fmt::format("{}", static_cast<float>(v));
    if (!same_bits(round_to(op.dtype, std::strtod(text.c_str(), nullptr)), v)) text = fmt::format("{}", v);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

std::string to_expression(const Function& f, std::span<const std::string> arguments, size_t limit) {
    Printer printer(f, arguments, limit + 1);
    std::string text = printer.print(f.results[0]).text;
    return printer.out_of_room() ? std::string() : text;
}

Value parse_expression(Lexer& lexer, Builder& builder, const std::function<std::optional<Value>(Lexer&)>& atom) {
    return Parser(lexer, builder, atom).expression();
}

} // namespace codetta::scalar
