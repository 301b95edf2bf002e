// min and max: flat, sorted, without operands that another one decides by a constant difference.
#include <algorithm>

#include "codetta/sym/expr.h"
#include "codetta/sym/node.h"

namespace codetta::sym {
namespace {

Expr extremum(Kind kind, const Expr& a, const Expr& b) {
    std::vector<Expr> all;
    for (const Expr* side : {&a, &b}) {
        if (side->kind() == kind)
            all.insert(all.end(), side->operands().begin(), side->operands().end());
        else
            all.push_back(*side);
    }
    std::vector<Expr> kept;
    for (const Expr& candidate : all) {
        bool needed = true;
        for (Expr& other : kept) {
            auto difference = (candidate - other).constant();
            if (!difference) continue;
            if (kind == Kind::min ? *difference < 0 : *difference > 0) other = candidate;
            needed = false;
            break;
        }
        if (needed) kept.push_back(candidate);
    }
    if (kept.size() == 1) return kept[0];
    std::sort(kept.begin(), kept.end());
    return ExprFactory::make(kind, std::move(kept));
}

} // namespace

Expr min(const Expr& a, const Expr& b) { return extremum(Kind::min, a, b); }
Expr max(const Expr& a, const Expr& b) { return extremum(Kind::max, a, b); }

} // namespace codetta::sym
