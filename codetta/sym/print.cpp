#include <limits>

#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"
#include "codetta/sym/node.h"

namespace codetta::sym {
namespace {

void print(const Expr& e, std::string& out);

// An operand of `*`, `//` or `%`: anything but a name, a call and a literal gets parentheses.
void print_operand(const Expr& e, std::string& out) {
    bool plain = e.constant() || e.kind() == Kind::symbol || e.kind() == Kind::min || e.kind() == Kind::max;
    if (!plain) out += '(';
    print(e, out);
    if (!plain) out += ')';
}

// |coefficient| * factors; the sign is the caller's.
void print_magnitude(const TermView& term, std::string& out) {
    uint64_t magnitude = term.coefficient < 0 ? ~static_cast<uint64_t>(term.coefficient) + 1 : static_cast<uint64_t>(term.coefficient);
    if (term.factors.empty()) {
        out += std::to_string(magnitude);
        return;
    }
    if (magnitude != 1) out += std::to_string(magnitude) + "*";
    for (size_t i = 0; i < term.factors.size(); ++i) {
        if (i > 0) out += '*';
        bool alone = magnitude == 1 && term.factors.size() == 1 && term.coefficient > 0;
        if (alone)
            print(term.factors[i], out);
        else
            print_operand(term.factors[i], out);
    }
}

void print(const Expr& e, std::string& out) {
    switch (e.kind()) {
    case Kind::symbol: out += e.name(); return;
    case Kind::floor_div:
    case Kind::mod:
        print_operand(e.operands()[0], out);
        out += e.kind() == Kind::mod ? " % " : " // ";
        print_operand(e.operands()[1], out);
        return;
    case Kind::min:
    case Kind::max:
        out += e.kind() == Kind::min ? "min(" : "max(";
        for (size_t i = 0; i < e.operands().size(); ++i) {
            if (i > 0) out += ", ";
            print(e.operands()[i], out);
        }
        out += ')';
        return;
    case Kind::constant:
    case Kind::add:
    case Kind::mul: break;
    }
    if (e.is(0)) {
        out += '0';
        return;
    }
    bool first = true;
    for (const Expr& term : terms_of(e)) {
        TermView t = view_term(term);
        out += first ? (t.coefficient < 0 ? "-" : "") : (t.coefficient < 0 ? " - " : " + ");
        print_magnitude(t, out);
        first = false;
    }
}

} // namespace

std::string to_string(const Expr& e) {
    std::string out;
    print(e, out);
    return out;
}

std::string to_string(const Condition& c) {
    const char* relation = c.relation == Relation::eq   ? " == "
                           : c.relation == Relation::ne ? " != "
                           : c.relation == Relation::lt ? " < "
                                                        : " <= ";
    return to_string(c.lhs) + relation + to_string(c.rhs);
}

} // namespace codetta::sym
