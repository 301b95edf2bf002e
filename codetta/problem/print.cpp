#include "codetta/base/error.h"
#include "codetta/problem/parse_stage.h"
#include "codetta/problem/problem.h"
#include "codetta/scalar/expression.h"

#include <algorithm>

namespace codetta::problem {

namespace {

std::string join(const auto& items, const char* between, auto&& text) {
    std::string result;
    for (const auto& item : items) {
        if (!result.empty()) result += between;
        result += text(item);
    }
    return result;
}

std::string float_text(double v) {
    scalar::Op op;
    op.dtype = scalar::DType::f64;
    op.float_value = v;
    return scalar::constant_text(op);
}

// One stage's line. `plain`: reads in place, else as a list.
class StagePrinter {
public:
    StagePrinter(const Problem& p, const Stage& s, bool plain) : p_(p), s_(s), plain_(plain) {
        for (const Read& r : s.reads) texts_.push_back(plain ? read_text(r) : "");
    }

    // Empty when the body is no expression of moderate size.
    std::string print() {
        std::string line = fmt::format("{}: {}[{}] = ", s_.name, scalar::to_string(s_.dtype()), axes(s_.axes));
        if (s_.scan)
            line += fmt::format("scan({}) {} ", p_.axis(*s_.scan).name, s_.combiner->name);
        else if (s_.combiner)
            line += fmt::format("{}({}) ", s_.combiner->name, axes(s_.reduce));
        if (plain_) {
            std::vector<std::string> arguments;
            for (size_t i = 0; i < s_.reads.size(); ++i) arguments.push_back(bare(s_.reads[i]) ? texts_[i] : "(" + texts_[i] + ")");
            std::string body = scalar::to_expression(s_.body, arguments);
            if (body.empty()) return body;
            if (!s_.combiner && body == "(" + texts_.front_or_empty() + ")") body = texts_.front_or_empty();
            line += body;
        } else {
            line += "let " + join(s_.reads, "; ", [&](const Read& r) { return read_text(r); }) + " do " + scalar::to_string_list(s_.body);
        }
        if (!s_.writes.empty())
            line += " -> " + join(s_.writes, ", ", [&](const Write& w) {
                        return (w.accumulate ? "+= " : "") + p_.operand(w.operand).name + access_text(w.access, false);
                    });
        return line;
    }

private:
    struct Texts : std::vector<std::string> {
        std::string front_or_empty() const { return empty() ? "" : front(); }
    };

    std::string axes(const std::vector<AxisId>& list) const {
        return join(list, ", ", [&](AxisId a) { return p_.axis(a).name; });
    }

    // Whether the text ends in `where` or `if` clauses, which do not bind tighter than anything.
    bool bare(const Read& r) const {
        if (!r.access.guard.empty()) return false;
        return inline_checks(r.access) == r.access.checks.size();
    }

    // How many of the first checks stand as checked(...) in a coordinate.
    size_t inline_checks(const Access& a) const {
        std::vector<const Check*> checks;
        for (const Check& c : a.checks) checks.push_back(&c);
        for (const sym::Expr& e : a.coordinates) fill_in(sym::to_string(e), &checks);
        return a.checks.size() - checks.size();
    }

    std::string read_text(const Read& r) const {
        if (r.from == Read::From::index) return "index(" + fill_in(sym::to_string(r.expression), nullptr) + ")";
        const std::string& name = r.from == Read::From::operand ? p_.operands[r.source].name : p_.stages[r.source].name;
        return name + access_text(r.access, true);
    }

    // `$i` replaced by the text of the read; the first `$i` that a check of `checks` bounds becomes `checked(..., lo, hi)`.
    std::string fill_in(const std::string& text, std::vector<const Check*>* checks) const {
        if (!plain_) return text;
        std::string result;
        for (size_t i = 0; i < text.size();) {
            if (text[i] != '$') {
                result += text[i++];
                continue;
            }
            size_t end = i + 1;
            while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
            size_t number = *read_index(std::string_view(text).substr(i, end - i));
            std::string inner = bare(s_.reads[number]) ? texts_[number] : "(" + texts_[number] + ")";
            if (checks && !checks->empty() && checks->front()->index == read_symbol(number)) {
                const Check& c = *checks->front();
                inner = fmt::format("checked({}, {}, {}{})", texts_[number], fill_in(sym::to_string(c.lo), nullptr),
                                    fill_in(sym::to_string(c.hi), nullptr), c.origin.empty() ? "" : fmt::format(", \"{}\"", c.origin));
                checks->erase(checks->begin());
            }
            result += inner;
            i = end;
        }
        return result;
    }

    std::string condition_text(const sym::Condition& c) const { return fill_in(sym::to_string(c), nullptr); }

    std::string access_text(const Access& a, bool read) const {
        std::vector<const Check*> checks;
        if (plain_)
            for (const Check& c : a.checks) checks.push_back(&c);
        std::string text = "[" + join(a.coordinates, ", ", [&](const sym::Expr& e) { return fill_in(sym::to_string(e), &checks); }) + "]";
        if (!plain_)
            for (const Check& c : a.checks) checks.push_back(&c);
        if (!checks.empty())
            text += " where " + join(checks, " and ", [&](const Check* c) {
                        return fill_in(fmt::format("{} <= {} < {}", sym::to_string(c->lo), sym::to_string(c->index), sym::to_string(c->hi)),
                                       nullptr) +
                               (c->origin.empty() ? "" : fmt::format(" \"{}\"", c->origin));
                    });
        if (!a.guard.empty()) {
            text += " if ";
            for (size_t i = 0; i < a.guard.size(); ++i) {
                if (i) text += " and ";
                const sym::Condition& c = a.guard[i];
                // lo <= e, e < hi as one chain
                bool chain = i + 1 < a.guard.size() && c.relation == sym::Relation::le && a.guard[i + 1].relation == sym::Relation::lt &&
                             a.guard[i + 1].lhs == c.rhs && !c.rhs.constant();
                text += condition_text(c);
                if (chain) text += " < " + fill_in(sym::to_string(a.guard[++i].rhs), nullptr);
            }
            if (read && !scalar::same_bits(a.fill, 0)) text += " else " + float_text(a.fill);
        }
        return text;
    }

    const Problem& p_;
    const Stage& s_;
    bool plain_;
    Texts texts_;
};

// The axis that runs over dimension d of operand o, for the text.
std::optional<AxisId> axis_of(const Problem& p, uint32_t o, size_t d) {
    auto check = [&](const Access& a) -> std::optional<AxisId> {
        for (size_t i = 0; i < p.axes.size(); ++i)
            if (a.coordinates[d] == sym::Expr::symbol(p.axes[i].name) && p.axes[i].extent == p.operands[o].shape[d]) return AxisId(i);
        return std::nullopt;
    };
    for (const Stage& s : p.stages) {
        for (const Read& r : s.reads)
            if (r.from == Read::From::operand && r.source == o)
                if (auto a = check(r.access)) return a;
        for (const Write& w : s.writes)
            if (w.operand.value == o)
                if (auto a = check(w.access)) return a;
    }
    return std::nullopt;
}

bool is_plain_name(std::string_view s) {
    if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
    return std::ranges::all_of(
        s, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9'); });
}

std::string operand_text(const Problem& p, uint32_t o) {
    const Operand& x = p.operands[o];
    std::string text = fmt::format("{}: {}[", x.name, scalar::to_string(x.dtype));
    for (size_t d = 0; d < x.shape.size(); ++d) {
        auto a = axis_of(p, o, d);
        text += (d ? ", " : "") + (a ? p.axis(*a).name : sym::to_string(x.shape[d]));
    }
    text += "]";
    if (x.strides != contiguous_strides(x.shape))
        text += " strides [" + join(x.strides, ", ", [](const sym::Expr& e) { return sym::to_string(e); }) + "]";
    text += x.role == Role::in ? " in" : x.role == Role::out ? " out" : " inout";
    if (x.frozen) text += " frozen";
    if (x.aliases) text += " aliases " + p.operand(*x.aliases).name;
    return text;
}

// `lists`: every body as a list, without looking whether it reads back.
std::string print(const Problem& p, bool lists) {
    std::string name = is_plain_name(p.name) ? p.name : "\"" + p.name + "\"";
    std::erase_if(name, [](char c) { return c == '\n'; });
    std::string text =
        fmt::format("problem {}({})", name, join(p.axes, ", ", [](const Axis& a) { return a.name + " = " + sym::to_string(a.extent); }));
    if (std::string facts = sym::to_string(p.facts); !facts.empty()) text += " where " + facts;
    text += "\n";
    for (uint32_t o = 0; o < p.operands.size(); ++o) text += "  " + operand_text(p, o) + "\n";
    for (size_t i = 0; i < p.stages.size(); ++i) {
        const Stage& s = p.stages[i];
        std::string line = lists ? std::string() : StagePrinter(p, s, true).print();
        if (lists || line.empty() || !reads_back(line, p, i)) line = StagePrinter(p, s, false).print();
        text += "  " + line + "\n";
    }
    return text;
}

} // namespace

std::string canonical_key(const Problem& p) {
    Problem q = p;
    sym::Substitution renamed;
    for (size_t i = 0; i < q.axes.size(); ++i) {
        std::string name = fmt::format("_a{}", i);
        renamed.emplace(q.axes[i].name, sym::Expr::symbol(name));
        q.axes[i].name = name;
    }
    q.name = "_";
    for (size_t i = 0; i < q.operands.size(); ++i) q.operands[i].name = fmt::format("_o{}", i);
    for (size_t i = 0; i < q.stages.size(); ++i) {
        Stage& s = q.stages[i];
        s.name = fmt::format("_s{}", i);
        for (Read& r : s.reads) r = substitute(r, renamed);
        for (Write& w : s.writes) w.access = substitute(w.access, renamed);
    }
    return print(q, true);
}

std::string to_string(const Problem& p) { return print(p, false); }

} // namespace codetta::problem
