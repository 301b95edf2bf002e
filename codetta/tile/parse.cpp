// Reads what print.cpp writes. Blocks are told by indentation: the statements of a block begin in the column of its first one.
#include <algorithm>
#include <map>

#include "codetta/base/error.h"
#include "codetta/scalar/lexer.h"
#include "codetta/tile/words.h"

namespace codetta::tile {

using layout::Layout;
using scalar::Lexer;
using scalar::Token;
using sym::Expr;

namespace {

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text), lexer_(text) {}

    Program program() {
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

private:
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

    void take_facts() {
        Token at = lexer_.peek();
        size_t end = std::min(text_.find('\n', at.offset), text_.size());
        std::string_view line = text_.substr(at.offset, end - at.offset);
        line = line.substr(0, line.find('#'));
        p_.facts = scalar::at_place(lexer_, at, [&] { return sym::parse_facts(line); });
        skip_to(end);
    }

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

    void take_buffer(bool parameter) {
        Buffer b;
        b.parameter = parameter;
        Token at = lexer_.peek();
        b.name = lexer_.take_name("a buffer's name");
        lexer_.expect(":");
        Token type = lexer_.peek();
        b.dtype = scalar::at_place(lexer_, type, [&] { return scalar::parse_dtype(lexer_.take_name("a dtype")); });
        b.space = word(words::kSpaces, "a space");
        if (lexer_.accept("box")) {
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

    Block block(int parent_column) {
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

    Statement statement() {
        Token at = lexer_.peek();
        std::string name = lexer_.take_name("a statement");
        if (name == "for") {
            For f;
            f.index = lexer_.take_name("a loop index");
            lexer_.expect("in");
            f.lo = expr();
            lexer_.expect("..");
            f.hi = expr();
            if (lexer_.accept("step")) f.step = expr();
            f.unroll = lexer_.accept("unroll");
            f.body = block(at.column);
            return {std::move(f)};
        }
        if (name == "if") {
            If f;
            f.condition = conditions();
            f.then = block(at.column);
            if (lexer_.is("else") && lexer_.peek().starts_line && lexer_.peek().column == at.column) {
                lexer_.take();
                f.otherwise = block(at.column);
            }
            return {std::move(f)};
        }
        if (name == "let") {
            std::string own = lexer_.take_name("a name");
            lexer_.expect("=");
            return {Let{std::move(own), expr()}};
        }
        if (name == "var") {
            Var v;
            v.name = lexer_.take_name("a name");
            lexer_.expect("=");
            v.init = expr();
            lexer_.expect("in");
            v.lo = expr();
            lexer_.expect("..");
            v.hi = expr();
            return {std::move(v)};
        }
        if (name == "set") {
            std::string own = lexer_.take_name("a name");
            lexer_.expect("=");
            return {Set{std::move(own), expr()}};
        }
        if (name == "load") {
            std::string own = lexer_.take_name("a name");
            lexer_.expect("=");
            return {LoadIndex{std::move(own), view()}};
        }
        if (name == "check") {
            CheckIndex c;
            c.value = expr();
            lexer_.expect("in");
            c.lo = expr();
            lexer_.expect("..");
            c.hi = expr();
            lexer_.expect("code");
            c.code = integer("the number of a check");
            return {std::move(c)};
        }
        if (name == "alloc") {
            take_buffer(false);
            return {Alloc{BufferId(p_.buffers.size() - 1)}};
        }
        if (name == "fill") {
            View v = view();
            return {Fill{std::move(v), lexer_.take_number("a number")}};
        }
        if (name == "copy") return copy();
        if (name == "map") {
            Map m;
            m.destinations = views();
            lexer_.expect("=");
            size_t body = skip_list();
            std::vector<scalar::DType> types;
            while (!lexer_.accept(")")) {
                if (!types.empty()) lexer_.expect(",");
                if (lexer_.accept("index")) {
                    m.arguments.emplace_back(expr());
                    types.push_back(scalar::DType::i64);
                } else {
                    View v = view();
                    types.push_back(dtype(v));
                    m.arguments.emplace_back(std::move(v));
                }
            }
            m.body = function(types, body);
            return {std::move(m)};
        }
        if (name == "reduce") {
            Reduce r;
            r.destinations = views();
            lexer_.expect("=");
            size_t body = skip_list();
            r.sources = views();
            lexer_.expect(")");
            std::vector<scalar::DType> types;
            for (const View& v : r.destinations) types.push_back(dtype(v));
            for (const View& v : r.sources) types.push_back(dtype(v));
            r.combine = function(types, body);
            return {std::move(r)};
        }
        if (name == "shuffle") {
            Shuffle s;
            s.destination = view();
            lexer_.expect("=");
            s.source = view();
            lexer_.expect("xor");
            s.xor_mask = integer("a mask of lane bits");
            return {std::move(s)};
        }
        if (name == "prefetch") {
            Prefetch f;
            f.target = view();
            lexer_.expect("level");
            f.level = integer("a cache level");
            f.for_write = lexer_.accept("write");
            return {std::move(f)};
        }
        if (name == "atomic") {
            Atomic a;
            a.destination = view();
            lexer_.expect("+=");
            a.source = view();
            return {std::move(a)};
        }
        if (name == "mma") {
            Mma m;
            m.atom = lexer_.take_name("an atom");
            m.d = view();
            m.accumulate = lexer_.accept("+=");
            if (!m.accumulate) lexer_.expect("=");
            m.a = view();
            lexer_.expect("*");
            m.b = view();
            m.asynchronous = lexer_.accept("async");
            if (lexer_.accept("accumulate")) {
                lexer_.expect("if");
                m.accumulate_if = condition();
            }
            return {std::move(m)};
        }
        if (name == "commit") return {Commit{word(words::kGroups, "a group")}};
        if (name == "wait") {
            if (lexer_.is("group") && !lexer_.is("[", 1)) {
                lexer_.take();
                WaitGroup w;
                w.group = word(words::kGroups, "a group");
                w.pending = integer("how many may be pending");
                w.read_only = lexer_.accept("read");
                if (lexer_.accept("makes")) w.results = views();
                return {std::move(w)};
            }
            View v = view();
            lexer_.expect("phase");
            return {BarrierWait{std::move(v), expr()}};
        }
        if (name == "init") {
            View v = view();
            lexer_.expect("arrivals");
            return {BarrierInit{std::move(v), integer("how many arrive")}};
        }
        if (name == "expect") {
            View v = view();
            lexer_.expect("bytes");
            return {BarrierExpect{std::move(v), lexer_.take_integer("a number of bytes")}};
        }
        if (name == "arrive") {
            BarrierArrive b;
            b.barrier = view();
            if (lexer_.accept("cluster")) b.cluster_rank = expr();
            if (lexer_.accept("if")) b.condition = conditions();
            return {std::move(b)};
        }
        if (name == "fence") return {Fence{word(words::kFences, "a fence")}};
        if (name == "sync") {
            Sync s;
            s.barrier = expr();
            if (lexer_.accept("threads")) s.threads = integer("a number of threads");
            s.arrive_only = lexer_.accept("arrive");
            return {std::move(s)};
        }
        if (name == "griddep") {
            bool launch = lexer_.accept("launch");
            if (!launch) lexer_.expect("wait");
            return {GridDependency{launch}};
        }
        if (name == "role") {
            Role r;
            r.name = lexer_.take_name("the role's name");
            lexer_.expect("warps");
            r.warp_lo = integer("the first warp");
            lexer_.expect("..");
            r.warp_hi = integer("the end of the warps");
            if (lexer_.accept("registers")) r.registers = integer("a number of registers");
            r.body = block(at.column);
            return {std::move(r)};
        }
        if (name == "elect") return {Elect{block(at.column)}};
        lexer_.fail_at(at, "this is no statement");
    }

    Statement copy() {
        Copy c;
        if (!lexer_.is("[", 1)) c.atom = lexer_.take_name("an atom or a view");
        c.source = view();
        lexer_.expect("->");
        c.destination = view();
        if (lexer_.accept("at")) {
            lexer_.expect("(");
            do c.coordinates.push_back(expr());
            while (lexer_.accept(","));
            lexer_.expect(")");
        }
        while (lexer_.accept("limit")) {
            Layout l = layout();
            lexer_.expect("<");
            c.limits.push_back({std::move(l), expr()});
        }
        if (lexer_.accept("fill")) c.fill = lexer_.take_number("a number");
        if (lexer_.accept("signal")) c.signal = view();
        c.streaming = lexer_.accept("streaming");
        return {std::move(c)};
    }

    std::string_view text_;
    Lexer lexer_;
    Program p_;
    std::map<std::string, BufferId, std::less<>> buffers_;
};

} // namespace

Program parse_program(std::string_view text) { return Parser(text).program(); }

} // namespace codetta::tile
