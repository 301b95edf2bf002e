#include <charconv>

#include "codetta/base/error.h"
#include "codetta/tile/words.h"

namespace codetta::tile {

using sym::Expr;
using sym::to_string;

namespace {

template <class Range, class F>
std::string join(const Range& range, std::string_view between, F&& f) {
    std::string out;
    bool first = true;
    for (const auto& item : range) {
        if (!first) out += between;
        out += f(item);
        first = false;
    }
    return out;
}

std::string number(double v) {
    char buffer[40];
    auto end = std::to_chars(buffer, buffer + sizeof(buffer), v).ptr;
    std::string out(buffer, end);
    if (out.find_first_of(".ein") == std::string::npos) out += ".0";
    return out;
}

std::string conditions(const std::vector<sym::Condition>& all) {
    return join(all, " and ", [](const sym::Condition& c) { return sym::to_string(c); });
}

class Printer {
public:
    explicit Printer(const Program& p) : p_(p) {}

    std::string program() {
        out_ = "kernel " + p_.name + "(";
        bool first = true;
        for (const Buffer& b : p_.buffers) {
            if (!b.parameter) continue;
            out_ += (first ? "" : ", ") + buffer(b);
            first = false;
        }
        if (!p_.integers.empty()) out_ += "; " + join(p_.integers, ", ", [](const std::string& s) { return s; });
        out_ += ")";
        if (!p_.required.empty()) out_ += " requires " + join(p_.required, ", ", [](const std::string& s) { return s; });
        out_ += "\n";
        if (std::string facts = sym::to_string(p_.facts); !facts.empty()) out_ += "  where " + facts + "\n";
        for (size_t i = 0; i < p_.checks.size(); ++i) out_ += fmt::format("  check {} \"{}\"\n", i + 1, p_.checks[i]);
        if (const Grid* grid = std::get_if<Grid>(&p_.frame)) {
            out_ += fmt::format("  grid {} threads {}", to_string(grid->ctas), grid->threads);
            if (grid->cluster != 1) out_ += fmt::format(" cluster {}", grid->cluster);
        } else {
            out_ +=
                "  tasks " + join(std::get<0>(p_.frame), ", ", [](const TaskIndex& t) { return t.name + " in " + to_string(t.extent); });
        }
        out_ += "\n";
        block(p_.body, 4);
        return std::move(out_);
    }

    std::string line(const Statement& s) {
        return std::visit(
            Overloaded{
                [&](const For& f) {
                    return fmt::format("for {} in {} .. {}{}{}", f.index, to_string(f.lo), to_string(f.hi),
                                       f.step.is(1) ? "" : " step " + to_string(f.step), f.unroll ? " unroll" : "");
                },
                [&](const If& f) { return "if " + conditions(f.condition); },
                [&](const Let& l) { return "let " + l.name + " = " + to_string(l.value); },
                [&](const Var& v) {
                    return fmt::format("var {} = {} in {} .. {}", v.name, to_string(v.init), to_string(v.lo), to_string(v.hi));
                },
                [&](const Set& l) { return "set " + l.name + " = " + to_string(l.value); },
                [&](const LoadIndex& l) { return "load " + l.name + " = " + view(l.source); },
                [&](const CheckIndex& c) {
                    return fmt::format("check {} in {} .. {} code {}", to_string(c.value), to_string(c.lo), to_string(c.hi), c.code);
                },
                [&](const Alloc& a) { return "alloc " + buffer(p_.buffer(a.buffer)); },
                [&](const Fill& f) { return "fill " + view(f.destination) + " " + number(f.value); },
                [&](const Copy& c) { return copy(c); },
                [&](const Map& m) {
                    return "map " + views(m.destinations) + " = { " + scalar::to_string_list(m.body) + " } (" +
                           join(m.arguments, ", ",
                                [&](const auto& a) {
                                    const View* v = std::get_if<View>(&a);
                                    return v ? view(*v) : "index " + to_string(std::get<Expr>(a));
                                }) +
                           ")";
                },
                [&](const Reduce& r) {
                    return "reduce " + views(r.destinations) + " = { " + scalar::to_string_list(r.combine) + " } (" + views(r.sources) +
                           ")";
                },
                [&](const Shuffle& s) { return fmt::format("shuffle {} = {} xor {}", view(s.destination), view(s.source), s.xor_mask); },
                [&](const Prefetch& f) {
                    return fmt::format("prefetch {} level {}{}", view(f.target), f.level, f.for_write ? " write" : "");
                },
                [&](const Atomic& a) { return "atomic " + view(a.destination) + " += " + view(a.source); },
                [&](const Mma& m) {
                    std::string out =
                        fmt::format("mma {} {} {} {} * {}", m.atom, view(m.d), m.accumulate ? "+=" : "=", view(m.a), view(m.b));
                    if (m.asynchronous) out += " async";
                    if (m.accumulate_if) out += " accumulate if " + sym::to_string(*m.accumulate_if);
                    return out;
                },
                [&](const Commit& c) { return fmt::format("commit {}", words::spell(words::kGroups, c.group)); },
                [&](const WaitGroup& w) {
                    return fmt::format("wait group {} {}{}{}", words::spell(words::kGroups, w.group), w.pending, w.read_only ? " read" : "",
                                       w.results.empty() ? "" : " makes " + views(w.results));
                },
                [&](const BarrierInit& b) { return fmt::format("init {} arrivals {}", view(b.barrier), b.arrivals); },
                [&](const BarrierExpect& b) { return fmt::format("expect {} bytes {}", view(b.barrier), b.bytes); },
                [&](const BarrierArrive& b) {
                    return "arrive " + view(b.barrier) + (b.cluster_rank ? " cluster " + to_string(*b.cluster_rank) : "") +
                           (b.condition.empty() ? "" : " if " + conditions(b.condition));
                },
                [&](const BarrierWait& b) { return "wait " + view(b.barrier) + " phase " + to_string(b.phase); },
                [&](const Fence& f) { return fmt::format("fence {}", words::spell(words::kFences, f.kind)); },
                [&](const Sync& s) {
                    return fmt::format("sync {}{}{}", to_string(s.barrier), s.threads ? fmt::format(" threads {}", s.threads) : "",
                                       s.arrive_only ? " arrive" : "");
                },
                [&](const GridDependency& g) { return std::string(g.launch ? "griddep launch" : "griddep wait"); },
                [&](const Role& r) {
                    return fmt::format("role {} warps {} .. {}{}", r.name, r.warp_lo, r.warp_hi,
                                       r.registers ? fmt::format(" registers {}", r.registers) : "");
                },
                [&](const Elect&) { return std::string("elect"); },
            },
            s.node);
    }

    std::string view(const View& v) {
        std::string out = p_.buffer(v.buffer).name + "[";
        if (!v.offset.is(0)) out += to_string(v.offset) + " | ";
        out += layout::to_string(v.layout);
        if (v.swizzle.bits) out += fmt::format(" | swizzle {} {} {}", v.swizzle.bits, v.swizzle.base, v.swizzle.shift);
        return out + "]";
    }

private:
    std::string views(const std::vector<View>& all) {
        return join(all, ", ", [&](const View& v) { return view(v); });
    }

    std::string copy(const Copy& c) {
        std::string out = "copy " + (c.atom.empty() ? "" : c.atom + " ") + view(c.source) + " -> " + view(c.destination);
        if (!c.coordinates.empty()) out += " at (" + join(c.coordinates, ", ", [](const Expr& e) { return to_string(e); }) + ")";
        for (const Limit& l : c.limits) out += " limit " + layout::to_string(l.coordinate) + " < " + to_string(l.limit);
        if (c.fill != 0) out += " fill " + number(c.fill);
        if (c.signal) out += " signal " + view(*c.signal);
        if (c.streaming) out += " streaming";
        return out;
    }

    std::string buffer(const Buffer& b) {
        std::string out = fmt::format("{}: {} {}", b.name, scalar::to_string(b.dtype), words::spell(words::kSpaces, b.space));
        if (b.space == Space::tensormap)
            out += " box (" + join(b.box, ", ", [](int64_t e) { return std::to_string(e); }) + fmt::format(") swizzle {}", b.swizzle_bytes);
        else if (!b.elements.is(0))
            out += " (" + to_string(b.elements) + ")";
        if (b.align_bytes) out += fmt::format(" align {}", b.align_bytes);
        if (b.written) out += " written";
        if (!b.no_alias) out += " aliased";
        return out;
    }

    void block(const Block& body, size_t indent) {
        for (const Statement& s : body) {
            out_.append(indent, ' ').append(line(s)).append("\n");
            if (const If* branch = std::get_if<If>(&s.node)) {
                block(branch->then, indent + 2);
                if (branch->otherwise.empty()) continue;
                out_.append(indent, ' ').append("else\n");
                block(branch->otherwise, indent + 2);
            } else if (const Block* inside = body_of(s)) {
                block(*inside, indent + 2);
            }
        }
    }

    static const Block* body_of(const Statement& s) {
        if (const For* f = std::get_if<For>(&s.node)) return &f->body;
        if (const Role* r = std::get_if<Role>(&s.node)) return &r->body;
        if (const Elect* e = std::get_if<Elect>(&s.node)) return &e->body;
        return nullptr;
    }

    const Program& p_;
    std::string out_;
};

} // namespace

std::string to_string(const Program& p, const View& v) { return Printer(p).view(v); }
std::string to_string(const Program& p, const Statement& s) { return Printer(p).line(s); }
std::string to_string(const Program& p) { return Printer(p).program(); }

} // namespace codetta::tile
