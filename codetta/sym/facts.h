// What is known of symbols (range, divisibility) and what follows for expressions. Conservative: "not provable" is never "false".
#pragma once

#include "codetta/sym/condition.h"

namespace codetta::sym {

inline constexpr int64_t kUnbounded = int64_t{1} << 60;  // ranges saturate at +-kUnbounded

struct Range {  // closed: lo <= value <= hi
  int64_t lo = -kUnbounded, hi = kUnbounded;
  friend bool operator==(const Range&, const Range&) = default;
};

// A value; printed as `s0 >= 2, s0 % 8 == 0`.
class Facts {
 public:
  void set_range(const std::string& symbol, Range range);
  void set_multiple(const std::string& symbol, int64_t of);
  Range range(const Expr& e) const;
  // Largest d found such that d divides e for every binding that satisfies the facts (0 for e == 0).
  int64_t divisor(const Expr& e) const;
  bool proves(const Condition& c) const;    // true for every binding that satisfies the facts
  bool refutes(const Condition& c) const;   // false for every such binding
  // Equal in value under the facts, and not longer: (a*S + b) // S == a when 0 <= b < S, x % S, min, max ...
  Expr simplify(const Expr& e) const;
  const std::map<std::string, Range, std::less<>>& ranges() const { return ranges_; }
  const std::map<std::string, int64_t, std::less<>>& multiples() const { return multiples_; }
  friend bool operator==(const Facts&, const Facts&) = default;

 private:
  std::map<std::string, Range, std::less<>> ranges_;
  std::map<std::string, int64_t, std::less<>> multiples_;
};

std::string to_string(const Facts& facts);
Facts parse_facts(std::string_view text);

}  // namespace codetta::sym
