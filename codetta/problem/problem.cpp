#include "codetta/problem/problem.h"

#include "codetta/base/error.h"

#include <algorithm>
#include <charconv>

namespace codetta::problem {

std::vector<sym::Expr> contiguous_strides(const std::vector<sym::Expr>& shape) {
    std::vector<sym::Expr> strides(shape.size());
    sym::Expr step = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        strides[i] = step;
        step = step * shape[i];
    }
    return strides;
}

sym::Expr read_symbol(size_t i) { return sym::Expr::symbol("$" + std::to_string(i)); }

std::optional<size_t> read_index(std::string_view symbol) {
    if (symbol.size() < 2 || symbol[0] != '$') return std::nullopt;
    size_t i = 0;
    auto [end, error] = std::from_chars(symbol.data() + 1, symbol.data() + symbol.size(), i);
    if (error != std::errc() || end != symbol.data() + symbol.size()) return std::nullopt;
    return i;
}

scalar::DType read_dtype(const Problem& p, const Read& r) {
    switch (r.from) {
    case Read::From::operand: return p.operands[r.source].dtype;
    case Read::From::stage: return p.stages[r.source].dtype();
    case Read::From::index: break;
    }
    return scalar::DType::i64;
}

sym::Expr axis_symbol(const Problem& p, AxisId a) { return sym::Expr::symbol(p.axis(a).name); }

sym::Facts index_facts(const Problem& p) {
    sym::Facts facts = p.facts;
    for (const Axis& a : p.axes) facts.set_index(a.name, a.extent);
    return facts;
}

void collect_symbols(const Access& a, std::set<std::string>& out) {
    for (const sym::Expr& e : a.coordinates) sym::collect_symbols(e, out);
    for (const sym::Condition& c : a.guard) sym::collect_symbols(c, out);
    for (const Check& c : a.checks) {
        sym::collect_symbols(c.index, out);
        sym::collect_symbols(c.lo, out);
        sym::collect_symbols(c.hi, out);
    }
}

void collect_symbols(const Read& r, std::set<std::string>& out) {
    collect_symbols(r.access, out);
    if (r.from == Read::From::index) sym::collect_symbols(r.expression, out);
}

bool depends_on_data(const Access& a) {
    std::set<std::string> names;
    collect_symbols(a, names);
    return !names.empty() && names.lower_bound("$") != names.end() && names.lower_bound("$")->starts_with('$');
}

Access substitute(const Access& a, const sym::Substitution& by) {
    Access result = a;
    for (sym::Expr& e : result.coordinates) e = sym::substitute(e, by);
    for (sym::Condition& c : result.guard) c = sym::substitute(c, by);
    for (Check& c : result.checks)
        for (sym::Expr* e : {&c.index, &c.lo, &c.hi}) *e = sym::substitute(*e, by);
    return result;
}

Read substitute(const Read& r, const sym::Substitution& by) {
    Read result = r;
    result.access = substitute(r.access, by);
    if (r.from == Read::From::index) result.expression = sym::substitute(r.expression, by);
    return result;
}

std::vector<std::string> Problem::size_symbols() const {
    std::set<std::string> names;
    for (const Axis& a : axes) sym::collect_symbols(a.extent, names);
    for (const Operand& o : operands) {
        for (const sym::Expr& e : o.shape) sym::collect_symbols(e, names);
        for (const sym::Expr& e : o.strides) sym::collect_symbols(e, names);
    }
    for (const Stage& s : stages) {
        for (const Read& r : s.reads) collect_symbols(r, names);
        for (const Write& w : s.writes) collect_symbols(w.access, names);
    }
    for (const Axis& a : axes) names.erase(a.name);
    std::erase_if(names, [](const std::string& n) { return n[0] == '$'; });
    return {names.begin(), names.end()};
}

} // namespace codetta::problem
