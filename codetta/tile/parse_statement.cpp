// Statements, one a line, by their first word.
#include "codetta/tile/parser.h"

namespace codetta::tile {

Statement Parser::statement() {
    Token at = lexer_.peek();
    std::string name = lexer_.take_name("a statement");
    if (name == "for") {
        For f;
        f.index = lexer_.take_name("a loop index");
        lexer_.expect("in");
        f.lo = expr();
        lexer_.expect("..");
        f.hi = expr();
        if (accept_here("step")) f.step = expr();
        f.unroll = accept_here("unroll");
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
        f.for_write = accept_here("write");
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
        m.asynchronous = accept_here("async");
        if (accept_here("accumulate")) {
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
            w.read_only = accept_here("read");
            if (accept_here("makes")) w.results = views();
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
        if (accept_here("cluster")) b.cluster_rank = expr();
        if (accept_here("if")) b.condition = conditions();
        return {std::move(b)};
    }
    if (name == "fence") return {Fence{word(words::kFences, "a fence")}};
    if (name == "sync") {
        Sync s;
        s.barrier = expr();
        if (accept_here("threads")) s.threads = integer("a number of threads");
        s.arrive_only = accept_here("arrive");
        return {std::move(s)};
    }
    if (name == "griddep") {
        bool launch = accept_here("launch");
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
        if (accept_here("registers")) r.registers = integer("a number of registers");
        r.body = block(at.column);
        return {std::move(r)};
    }
    if (name == "elect") return {Elect{block(at.column)}};
    lexer_.fail_at(at, "this is no statement");
}

Statement Parser::copy() {
    Copy c;
    if (!lexer_.is("[", 1)) c.atom = lexer_.take_name("an atom or a view");
    c.source = view();
    lexer_.expect("->");
    c.destination = view();
    if (accept_here("at")) {
        lexer_.expect("(");
        do c.coordinates.push_back(expr());
        while (lexer_.accept(","));
        lexer_.expect(")");
    }
    while (accept_here("limit")) {
        Layout l = layout();
        lexer_.expect("<");
        c.limits.push_back({std::move(l), expr()});
    }
    if (accept_here("fill")) c.fill = lexer_.take_number("a number");
    if (accept_here("signal")) c.signal = view();
    c.streaming = accept_here("streaming");
    return {std::move(c)};
}

} // namespace codetta::tile
