#include "codetta/sym/condition.h"

namespace codetta::sym {

Condition negate(const Condition& c) {
    switch (c.relation) {
    case Relation::eq: return ne(c.lhs, c.rhs);
    case Relation::ne: return eq(c.lhs, c.rhs);
    case Relation::lt: return le(c.rhs, c.lhs);
    case Relation::le: return lt(c.rhs, c.lhs);
    }
    return c;
}

bool evaluate(const Condition& c, const Bindings& values) {
    int64_t lhs = evaluate(c.lhs, values), rhs = evaluate(c.rhs, values);
    switch (c.relation) {
    case Relation::eq: return lhs == rhs;
    case Relation::ne: return lhs != rhs;
    case Relation::lt: return lhs < rhs;
    case Relation::le: return lhs <= rhs;
    }
    return false;
}

Condition substitute(const Condition& c, const Substitution& by) { return {c.relation, substitute(c.lhs, by), substitute(c.rhs, by)}; }

void collect_symbols(const Condition& c, std::set<std::string>& out) {
    collect_symbols(c.lhs, out);
    collect_symbols(c.rhs, out);
}

} // namespace codetta::sym
