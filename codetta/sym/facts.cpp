// Keeping facts: what may be recorded, and its text.
#include "codetta/sym/facts.h"

#include <numeric>

#include "codetta/base/error.h"
#include "codetta/sym/interval.h"
#include "codetta/sym/node.h"

namespace codetta::sym {

void Facts::set_range(const std::string& symbol, Range range) {
    range = meet(range, Range{});
    if (range == Range{})
        ranges_.erase(symbol);
    else
        ranges_[symbol] = range;
}

void Facts::set_multiple(const std::string& symbol, int64_t of) {
    CODETTA_CHECK(of >= 1, "{} is a multiple of {}?", symbol, of);
    if (of == 1)
        multiples_.erase(symbol);
    else
        multiples_[symbol] = of;
}

void Facts::set_less(const std::string& symbol, Expr bound) {
    CODETTA_CHECK(!depends_on(bound, symbol), "{} < {} bounds a symbol by itself", symbol, to_string(bound));
    bounds_.erase(symbol);
    if (auto value = bound.constant()) {
        auto known = ranges_.find(symbol);
        set_range(symbol, {known == ranges_.end() ? -kUnbounded : known->second.lo, saturate(__int128{*value} - 1)});
    } else {
        bounds_.emplace(symbol, std::move(bound));
    }
}

void Facts::set_index(const std::string& symbol, Expr extent) {
    set_range(symbol, {0, kUnbounded});
    set_less(symbol, std::move(extent));
}

void Facts::forget(const std::string& symbol) {
    ranges_.erase(symbol);
    multiples_.erase(symbol);
    bounds_.erase(symbol);
}

bool Facts::assume(const Condition& c) {
    auto known_range = [&](const std::string& name) {
        auto found = ranges_.find(name);
        return found == ranges_.end() ? Range{} : found->second;
    };
    bool left = c.lhs.kind() == Kind::symbol, right = c.rhs.kind() == Kind::symbol;
    auto lhs_value = c.lhs.constant(), rhs_value = c.rhs.constant();
    if (c.relation == Relation::eq && c.lhs.kind() == Kind::mod && c.rhs.is(0)) {
        const Expr& x = c.lhs.operands()[0];
        auto of = c.lhs.operands()[1].constant();
        if (x.kind() != Kind::symbol || !of) return false;
        auto known = multiples_.find(x.name());
        __int128 both = known == multiples_.end() ? *of : __int128{known->second} / std::gcd(known->second, *of) * *of;
        if (both > kUnbounded) return false;
        set_multiple(x.name(), static_cast<int64_t>(both));
        return true;
    }
    if (left && rhs_value) {
        Range known = known_range(c.lhs.name());
        switch (c.relation) {
        case Relation::eq: known = meet(known, {*rhs_value, *rhs_value}); break;
        case Relation::lt: known = meet(known, {-kUnbounded, saturate(__int128{*rhs_value} - 1)}); break;
        case Relation::le: known = meet(known, {-kUnbounded, *rhs_value}); break;
        case Relation::ne:
            if (*rhs_value != known.lo && *rhs_value != known.hi) return false;
            *rhs_value == known.lo ? ++known.lo : --known.hi;
            break;
        }
        set_range(c.lhs.name(), known);
        return true;
    }
    if (right && lhs_value && c.relation != Relation::ne) {
        Range known = known_range(c.rhs.name());
        if (c.relation == Relation::eq) return assume(eq(c.rhs, c.lhs));
        set_range(c.rhs.name(), meet(known, {saturate(__int128{*lhs_value} + (c.relation == Relation::lt ? 1 : 0)), kUnbounded}));
        return true;
    }
    if (left && (c.relation == Relation::lt || c.relation == Relation::le) && !depends_on(c.rhs, c.lhs.name()) &&
        !bounds_.contains(c.lhs.name())) {
        set_less(c.lhs.name(), c.relation == Relation::lt ? c.rhs : c.rhs + 1);
        return true;
    }
    return false;
}

std::string to_string(const Facts& facts) {
    std::string out;
    auto add = [&](const Condition& c) { out += (out.empty() ? "" : ", ") + to_string(c); };
    for (const auto& [name, range] : facts.ranges()) {
        Expr symbol = Expr::symbol(name);
        if (range.pinned()) {
            add(eq(symbol, range.lo));
            continue;
        }
        if (range.lo > -kUnbounded) out += (out.empty() ? "" : ", ") + name + " >= " + std::to_string(range.lo);
        if (range.hi < kUnbounded) add(le(symbol, range.hi));
    }
    for (const auto& [name, of] : facts.multiples()) add(eq(mod(Expr::symbol(name), of), 0));
    for (const auto& [name, bound] : facts.bounds()) add(lt(Expr::symbol(name), bound));
    return out;
}

} // namespace codetta::sym
