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
    std::erase_if(sums_, [&](const auto& entry) { return depends_on(entry.first, symbol); });
}

void Facts::add(const Facts& other) {
    const auto narrowed = [](auto& map, const auto& key, Range range) {
        const auto known = map.find(key);
        return meet(known == map.end() ? Range{} : known->second, range);
    };
    for (const auto& [name, range] : other.ranges_) set_range(name, narrowed(ranges_, name, range));
    for (const auto& [name, of] : other.multiples_) set_multiple(name, multiples_.contains(name) ? std::lcm(multiples_.at(name), of) : of);
    for (const auto& [name, bound] : other.bounds_)
        if (!bounds_.contains(name)) set_less(name, bound);
    for (const auto& [sum, range] : other.sums_) sums_.insert_or_assign(sum, narrowed(sums_, sum, range));
}

std::optional<LinearView> view_linear(const Expr& e) {
    if (e.kind() != Kind::add) return std::nullopt;
    std::span<const Expr> terms = terms_of(e);
    int64_t shift = 0, scale = 0;
    if (const auto literal = terms.back().constant()) {
        shift = *literal;
        terms = terms.first(terms.size() - 1);
    }
    if (terms.size() < 2) return std::nullopt;
    for (const Expr& term : terms) {
        const TermView t = view_term(term);
        if (t.factors.size() != 1 || t.factors[0].kind() != Kind::symbol || t.coefficient == INT64_MIN) return std::nullopt;
        scale = std::gcd(scale, t.coefficient);
    }
    if (view_term(terms[0]).coefficient < 0) scale = -scale;
    Expr sum = 0;
    for (const Expr& term : terms) sum = sum + make_term(view_term(term).coefficient / scale, view_term(term).factors);
    return LinearView{scale, sum, shift};
}

namespace {

// Narrows the range of x by `scale * x + shift relation 0` turned round: 0 relation scale * x + shift.
template <class Key>
bool assume_range(auto& ranges, const Key& x, Relation relation, int64_t scale, int64_t shift) {
    const int64_t least = relation == Relation::lt ? 1 : 0; // scale * x >= least - shift
    if (relation == Relation::eq && shift % scale != 0) return false;
    Range range;
    if (scale > 0 || relation == Relation::eq) range.lo = saturate(-__int128{floor_div_int(checked_add(shift, -least), std::abs(scale))});
    if (scale < 0) range.hi = saturate(__int128{floor_div_int(checked_add(shift, -least), -scale)});
    if (relation == Relation::eq) range.lo = range.hi = saturate(-(__int128{shift} / scale));
    const auto known = ranges.find(x);
    range = meet(known == ranges.end() ? Range{} : known->second, range);
    ranges.insert_or_assign(x, range);
    return true;
}

} // namespace

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
    if (c.relation == Relation::ne) return false;
    const Expr difference = c.rhs - c.lhs;
    if (const auto terms = terms_of(difference); !terms.empty() && view_term(terms[0]).factors.size() == 1) {
        const TermView t = view_term(terms[0]);
        const bool plain = t.factors[0].kind() == Kind::symbol && (terms.size() == 1 || (terms.size() == 2 && terms[1].constant()));
        if (plain) return assume_range(ranges_, t.factors[0].name(), c.relation, t.coefficient, *(difference - terms[0]).constant());
    }
    if (const auto v = view_linear(difference)) return assume_range(sums_, v->sum, c.relation, v->scale, v->shift);
    return false;
}

std::string to_string(const Facts& facts) {
    std::string out;
    auto add = [&](const Condition& c) { out += (out.empty() ? "" : ", ") + to_string(c); };
    const auto add_range = [&](const Expr& e, Range range) {
        if (range.pinned()) return add(eq(e, range.lo));
        if (range.lo > -kUnbounded) out += (out.empty() ? "" : ", ") + to_string(e) + " >= " + std::to_string(range.lo);
        if (range.hi < kUnbounded) add(le(e, range.hi));
    };
    for (const auto& [name, range] : facts.ranges()) add_range(Expr::symbol(name), range);
    for (const auto& [name, of] : facts.multiples()) add(eq(mod(Expr::symbol(name), of), 0));
    for (const auto& [name, bound] : facts.bounds()) add(lt(Expr::symbol(name), bound));
    for (const auto& [sum, range] : facts.sums()) add_range(sum, range);
    return out;
}

} // namespace codetta::sym
