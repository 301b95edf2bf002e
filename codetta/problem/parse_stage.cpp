#include "codetta/problem/parse_stage.h"

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"
#include "codetta/scalar/expression.h"

#include <algorithm>

namespace codetta::problem {

namespace {

using scalar::Lexer;
using scalar::Token;
using scalar::TokenKind;
using sym::Expr;

class StageParser {
public:
    StageParser(Lexer& lexer, const Problem& p, size_t stage_count) : lexer_(lexer), p_(p), stage_count_(stage_count) {}

    Stage run() {
        Stage s;
        s.name = lexer_.take_name("the name of a stage");
        lexer_.expect(":");
        Token type_at = lexer_.peek();
        scalar::DType declared = at_place(lexer_, type_at, [&] { return scalar::parse_dtype(lexer_.take_name("a dtype")); });
        lexer_.expect("[");
        s.axes = axis_list("]");
        lexer_.expect("=");
        std::string combiner;
        Token combiner_at = lexer_.peek();
        if (lexer_.is("scan") && lexer_.is("(", 1)) {
            lexer_.take();
            lexer_.take();
            Token at = lexer_.peek();
            auto scanned = axis_list(")");
            if (scanned.size() != 1) lexer_.fail_at(at, "a scan runs along one axis");
            s.scan = scanned[0];
            combiner_at = lexer_.peek();
            combiner = lexer_.take_name("a combiner");
        } else if (scalar::is_combiner(lexer_.peek().text) && lexer_.is("(", 1)) {
            combiner = lexer_.take().text;
            lexer_.take();
            s.reduce = axis_list(")");
        }
        if (lexer_.accept("let"))
            parse_list(s);
        else
            parse_plain(s);
        if (!combiner.empty())
            s.combiner = at_place(lexer_, combiner_at, [&] { return scalar::make_combiner(combiner, s.body.result_type()); });
        if (!lexer_.peek().starts_line) lexer_.fail("expected the end of the stage");
        if (s.dtype() != declared) lexer_.fail_at(type_at, fmt::format("the stage's value is {}", scalar::to_string(s.dtype())));
        return s;
    }

private:
    std::vector<AxisId> axis_list(std::string_view close) {
        std::vector<AxisId> axes;
        while (!lexer_.accept(close)) {
            if (!axes.empty()) lexer_.expect(",");
            auto a = lexer_.peek().kind == TokenKind::name ? find_axis(lexer_.peek().text) : std::nullopt;
            if (!a) lexer_.fail("expected an axis");
            lexer_.take();
            axes.push_back(*a);
        }
        return axes;
    }

    std::optional<AxisId> find_axis(std::string_view name) const {
        for (size_t i = 0; i < p_.axes.size(); ++i)
            if (p_.axes[i].name == name) return AxisId(i);
        return std::nullopt;
    }

    void parse_list(Stage& s) {
        listed_ = true;
        while (!lexer_.accept("do")) {
            if (!reads_.empty()) lexer_.expect(";");
            Read r;
            if (!parse_read(r)) lexer_.fail("expected a read");
            reads_.push_back(std::move(r));
        }
        std::vector<scalar::DType> types;
        for (const Read& r : reads_) types.push_back(read_dtype(p_, r));
        s.body = scalar::parse_function_list(lexer_, types);
        parse_writes(s);
        s.reads = std::move(reads_);
    }

    // The reads of the line are collected first, since a body's parameters come before its ops.
    void parse_plain(Stage& s) {
        size_t start = lexer_.position();
        skim();
        lexer_.rewind(start);
        scalar::Builder builder;
        for (const Read& r : reads_) builder.parameter(read_dtype(p_, r));
        scalar::Value v = scalar::parse_expression(lexer_, builder, [&](Lexer&) -> std::optional<scalar::Value> {
            Read r;
            if (!parse_read(r)) {
                if (find_axis(lexer_.peek().text)) lexer_.fail(fmt::format("an axis is no value; write index({})", lexer_.peek().text));
                return std::nullopt;
            }
            return static_cast<scalar::Value>(number_of(r));
        });
        s.body = builder.finish({v});
        parse_writes(s);
        s.reads = std::move(reads_);
    }

    void skim() {
        while (!lexer_.at_end() && !lexer_.peek().starts_line) {
            if (lexer_.accept("->")) {
                Stage ignored;
                lexer_.rewind(lexer_.position() - 1);
                parse_writes(ignored);
                continue;
            }
            Read r;
            if (lexer_.peek().kind == TokenKind::name && parse_read(r))
                number_of(r);
            else
                lexer_.take();
        }
    }

    size_t number_of(const Read& r) {
        auto found = std::ranges::find(reads_, r);
        if (found == reads_.end()) {
            reads_.push_back(r);
            return reads_.size() - 1;
        }
        return static_cast<size_t>(found - reads_.begin());
    }

    // `name[...]` with what follows it, or `index(...)`; false and nothing taken when there is none.
    bool parse_read(Read& r) {
        if (lexer_.is("index") && lexer_.is("(", 1)) {
            lexer_.take();
            lexer_.take();
            r.from = Read::From::index;
            r.expression = expression(nullptr);
            lexer_.expect(")");
            return true;
        }
        if (lexer_.peek().kind != TokenKind::name || !lexer_.is("[", 1)) return false;
        Token at = lexer_.peek();
        for (size_t i = 0; i < p_.operands.size(); ++i)
            if (p_.operands[i].name == at.text) {
                r.from = Read::From::operand;
                r.source = static_cast<uint32_t>(i);
                lexer_.take();
                parse_access(r.access, p_.operands[i].shape.size(), true);
                return true;
            }
        for (size_t i = 0; i < stage_count_; ++i)
            if (p_.stages[i].name == at.text) {
                r.from = Read::From::stage;
                r.source = static_cast<uint32_t>(i);
                lexer_.take();
                parse_access(r.access, p_.stages[i].axes.size(), true);
                return true;
            }
        lexer_.fail(fmt::format("unknown value '{}'{}", at.text, suggestion(at.text)));
    }

    std::string suggestion(std::string_view name) const {
        std::vector<std::string_view> names;
        for (const Operand& o : p_.operands) names.push_back(o.name);
        for (size_t i = 0; i < stage_count_; ++i) names.push_back(p_.stages[i].name);
        return base::did_you_mean(name, names);
    }

    void parse_access(Access& a, size_t rank, bool read) {
        lexer_.expect("[");
        Token at = lexer_.peek();
        while (!lexer_.accept("]")) {
            if (!a.coordinates.empty()) lexer_.expect(",");
            a.coordinates.push_back(expression(&a.checks));
        }
        if (a.coordinates.size() != rank) lexer_.fail_at(at, fmt::format("{} coordinates where {} are needed", a.coordinates.size(), rank));
        if (lexer_.accept("where")) {
            do {
                Check c;
                c.lo = expression(nullptr);
                lexer_.expect("<=");
                c.index = expression(nullptr);
                lexer_.expect("<");
                c.hi = expression(nullptr);
                if (lexer_.peek().kind == TokenKind::text) c.origin = lexer_.take().text;
                a.checks.push_back(std::move(c));
            } while (lexer_.accept("and"));
        }
        if (lexer_.accept("if")) {
            do conditions(a.guard);
            while (lexer_.accept("and"));
            if (read && lexer_.accept("else")) a.fill = lexer_.take_number("a fill value");
        }
    }

    // `a < b`, or a chain `a <= b < c`, which is a <= b and b < c.
    void conditions(std::vector<sym::Condition>& out) {
        Expr left = expression(nullptr);
        bool any = false;
        while (true) {
            Token op = lexer_.peek();
            static constexpr std::string_view relations[] = {"==", "!=", "<", "<=", ">", ">="};
            if (std::ranges::none_of(relations, [&](std::string_view t) { return lexer_.is(t); })) break;
            lexer_.take();
            Expr right = expression(nullptr);
            if (op.text == "==") out.push_back(sym::eq(left, right));
            if (op.text == "!=") out.push_back(sym::ne(left, right));
            if (op.text == "<") out.push_back(sym::lt(left, right));
            if (op.text == "<=") out.push_back(sym::le(left, right));
            if (op.text == ">") out.push_back(sym::lt(right, left));
            if (op.text == ">=") out.push_back(sym::le(right, left));
            left = right;
            any = true;
        }
        if (!any) lexer_.fail("expected a comparison");
    }

    // Integer expressions with reads in them. `checks`: where checked(...) may stand.
    Expr expression(std::vector<Check>* checks) {
        Expr left = product(checks);
        while (lexer_.is("+") || lexer_.is("-")) {
            bool plus = lexer_.take().text == "+";
            Expr right = product(checks);
            left = plus ? left + right : left - right;
        }
        return left;
    }

    Expr product(std::vector<Check>* checks) {
        Expr left = factor(checks);
        while (lexer_.is("*") || lexer_.is("//") || lexer_.is("%")) {
            Token op = lexer_.take();
            Expr right = factor(checks);
            if (op.text != "*" && right.is(0)) lexer_.fail_at(op, "a division by zero");
            left = at_place(lexer_, op, [&] {
                return op.text == "*" ? left * right : op.text == "//" ? sym::floor_div(left, right) : sym::mod(left, right);
            });
        }
        return left;
    }

    Expr factor(std::vector<Check>* checks) {
        if (++depth_ > 200) lexer_.fail("an expression that is nested too deep");
        Expr e = atom(checks);
        --depth_;
        return e;
    }

    Expr atom(std::vector<Check>* checks) {
        Token at = lexer_.peek();
        if (at.kind == TokenKind::integer) return Expr(lexer_.take_integer("an integer"));
        if (lexer_.is("-") && lexer_.peek(1).kind == TokenKind::integer) return Expr(lexer_.take_integer("an integer"));
        if (lexer_.accept("-")) return -factor(checks);
        if (lexer_.accept("(")) {
            Expr e = expression(checks);
            lexer_.expect(")");
            return e;
        }
        if (at.kind != TokenKind::name) lexer_.fail("expected an integer expression");
        if (lexer_.is("(", 1)) {
            if (at.text == "min" || at.text == "max") {
                lexer_.take();
                lexer_.take();
                Expr e = expression(checks);
                while (lexer_.accept(",")) {
                    Expr next = expression(checks);
                    e = at.text == "min" ? sym::min(e, next) : sym::max(e, next);
                }
                lexer_.expect(")");
                return e;
            }
            if (at.text == "checked") {
                if (!checks) lexer_.fail("checked(...) may stand in a coordinate only");
                lexer_.take();
                lexer_.take();
                Check c;
                c.index = expression(checks);
                lexer_.expect(",");
                c.lo = expression(nullptr);
                lexer_.expect(",");
                c.hi = expression(nullptr);
                if (lexer_.accept(",")) {
                    if (lexer_.peek().kind != TokenKind::text) lexer_.fail("expected who asks for the check, in quotes");
                    c.origin = lexer_.take().text;
                }
                lexer_.expect(")");
                checks->push_back(c);
                return c.index;
            }
        }
        if (!listed_) {
            Read r;
            if (parse_read(r)) {
                if (scalar::is_float(read_dtype(p_, r))) lexer_.fail_at(at, "a coordinate must be an integer");
                return read_symbol(number_of(r));
            }
        }
        lexer_.take();
        if (at.text[0] == '$' && (!listed_ || !read_index(at.text))) lexer_.fail_at(at, "'$' stands for a read, in a list only");
        return Expr::symbol(std::string(at.text));
    }

    void parse_writes(Stage& s) {
        if (!lexer_.accept("->")) return;
        do {
            Write w;
            w.accumulate = lexer_.accept("+=");
            Token at = lexer_.peek();
            std::string name = lexer_.take_name("an operand");
            auto o = std::ranges::find(p_.operands, name, &Operand::name);
            if (o == p_.operands.end()) lexer_.fail_at(at, fmt::format("unknown operand '{}'{}", name, suggestion(name)));
            w.operand = OperandId(static_cast<size_t>(o - p_.operands.begin()));
            parse_access(w.access, o->shape.size(), false);
            s.writes.push_back(std::move(w));
        } while (lexer_.accept(","));
    }

    Lexer& lexer_;
    const Problem& p_;
    size_t stage_count_;
    std::vector<Read> reads_;
    bool listed_ = false;
    int depth_ = 0;
};

} // namespace

Stage parse_stage(Lexer& lexer, const Problem& p, size_t stage_count) { return StageParser(lexer, p, stage_count).run(); }

bool reads_back(std::string_view line, const Problem& p, size_t number) {
    try {
        Lexer lexer(line);
        return parse_stage(lexer, p, number) == p.stages[number];
    } catch (const base::UserError&) {
        return false;
    }
}

} // namespace codetta::problem
