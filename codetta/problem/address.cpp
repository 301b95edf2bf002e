#include "codetta/problem/address.h"

namespace codetta::problem {

sym::Expr address(const Problem& p, const Operand& o, const Access& a) {
    sym::Expr e = 0;
    for (size_t i = 0; i < a.coordinates.size(); ++i) e = e + a.coordinates[i] * o.strides[i];
    return index_facts(p).simplify(e);
}

std::optional<AffineAddress> as_affine_address(const Problem& p, const Operand& o, const Access& a) {
    sym::Expr rest = address(p, o, a);
    AffineAddress result;
    for (const Axis& axis : p.axes) {
        auto affine = sym::as_affine(rest, axis.name);
        if (!affine) return std::nullopt;
        result.coefficient.push_back(affine->coefficient);
        rest = affine->rest;
    }
    result.offset = rest;
    std::set<std::string> names = sym::symbols(rest);
    for (const sym::Expr& e : result.coefficient) sym::collect_symbols(e, names);
    for (const Axis& axis : p.axes)
        if (names.contains(axis.name)) return std::nullopt; // a product of two indices
    for (const std::string& name : names)
        if (name[0] == '$') return std::nullopt;
    return result;
}

std::optional<AffineAddress> as_affine_address(const Problem& p, const Read& r) {
    if (r.from != Read::From::operand) return std::nullopt;
    return as_affine_address(p, p.operands[r.source], r.access);
}

} // namespace codetta::problem
