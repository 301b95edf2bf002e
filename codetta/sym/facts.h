// What is known of symbols (range, divisibility, symbolic bound) and of their sums, and what follows for expressions. Conservative: "not
// provable" is never "false".
#pragma once

#include "codetta/sym/condition.h"

namespace codetta::sym {

inline constexpr int64_t kUnbounded = int64_t{1} << 60; // ranges saturate at +-kUnbounded

struct Range { // closed: lo <= value <= hi
    int64_t lo = -kUnbounded, hi = kUnbounded;
    bool pinned() const { return lo == hi && -kUnbounded < lo && lo < kUnbounded; } // one value
    friend bool operator==(const Range&, const Range&) = default;
};

// A value; printed as `s0 >= 2, s0 % 8 == 0, i >= 0, i < s0`.
// @post for every binding that satisfies the facts: range(e).lo <= e <= range(e).hi, divisor(e) divides e, simplify(e) == e in value
class Facts {
public:
    void set_range(const std::string& symbol, Range range);   // replaces
    void set_multiple(const std::string& symbol, int64_t of); // replaces; of >= 1
    void set_less(const std::string& symbol, Expr bound);     // symbol < bound, replaces; a literal bound goes into the range
    void set_index(const std::string& symbol, Expr extent);   // 0 <= symbol < extent: a loop's index
    // Narrows by a condition of the form: symbol against a literal, symbol % literal == 0, symbol < or <= expression, a sum of multiples of
    // symbols against another, or a side swapped. False, and nothing changed, when the condition can't be kept this way.
    bool assume(const Condition& c);
    void forget(const std::string& symbol); // of the symbol itself and sums with it; bounds of others by it stay
    void add(const Facts& other);           // narrows by all that the other knows; a bound of this stays beside the other's

    Range range(const Expr& e) const;
    // Largest d found such that d divides e for every binding that satisfies the facts (0 for e == 0).
    int64_t divisor(const Expr& e) const;
    bool proves(const Condition& c) const;  // true for every binding that satisfies the facts
    bool refutes(const Condition& c) const; // false for every such binding
    bool positive(const Expr& e) const { return range(e).lo >= 1; }
    bool non_negative(const Expr& e) const { return range(e).lo >= 0; }
    // Equal in value under the facts, and not longer: (a*S + b) // S == a when 0 <= b < S, x//S*S + x%S == x, x % S, min, max ...
    Expr simplify(const Expr& e) const;
    Condition simplify(const Condition& c) const; // `0 == 0` when proven, `0 == 1` when refuted, else both sides simplified

    const std::map<std::string, Range, std::less<>>& ranges() const { return ranges_; }
    const std::map<std::string, int64_t, std::less<>>& multiples() const { return multiples_; }
    const std::map<std::string, Expr, std::less<>>& bounds() const { return bounds_; } // symbol < bound
    const std::map<Expr, Range>& sums() const { return sums_; } // of multiples of symbols: no literal, no common divisor, first positive
    friend bool operator==(const Facts&, const Facts&) = default;

private:
    std::map<std::string, Range, std::less<>> ranges_;
    std::map<std::string, int64_t, std::less<>> multiples_;
    std::map<std::string, Expr, std::less<>> bounds_;
    std::map<Expr, Range> sums_;
};

// @post parse_facts(to_string(f)) == f
std::string to_string(const Facts& facts);
Facts parse_facts(std::string_view text);

} // namespace codetta::sym
