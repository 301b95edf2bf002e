#include "codetta/sym/interval.h"

#include "codetta/sym/node.h"

#include <algorithm>

namespace codetta::sym {

Range meet(Range a, Range b) { return {std::max(a.lo, b.lo), std::min(a.hi, b.hi)}; }
Range join(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

Range operator+(Range a, Range b) {
    bool no_lo = a.lo <= -kUnbounded || b.lo <= -kUnbounded;
    bool no_hi = a.hi >= kUnbounded || b.hi >= kUnbounded;
    return {no_lo ? -kUnbounded : saturate(__int128{a.lo} + b.lo), no_hi ? kUnbounded : saturate(__int128{a.hi} + b.hi)};
}

Range operator*(Range a, Range b) {
    Range result{kUnbounded, -kUnbounded};
    for (int64_t x : {a.lo, a.hi}) {
        for (int64_t y : {b.lo, b.hi}) {
            int64_t value = saturate(__int128{x} * y);
            result = join(result, {value, value});
        }
    }
    return result;
}

namespace {

Range floor_div_positive(Range a, Range b) { // 1 <= b.lo
    if (b.lo >= kUnbounded) return {};
    auto divide = [](int64_t x, int64_t y) {
        if (x <= -kUnbounded || x >= kUnbounded) return y >= kUnbounded ? (x < 0 ? int64_t{-kUnbounded} : int64_t{0}) : x;
        return y >= kUnbounded ? (x < 0 ? int64_t{-1} : int64_t{0}) : floor_div_int(x, y);
    };
    Range result{kUnbounded, -kUnbounded};
    for (int64_t y : {b.lo, b.hi}) result = join(result, {divide(a.lo, y), a.hi >= kUnbounded && y >= kUnbounded ? 0 : divide(a.hi, y)});
    return result;
}

Range negate(Range a) { return {-a.hi, -a.lo}; }

} // namespace

Range floor_div(Range a, Range b) {
    if (b.lo == 0) b.lo = 1;
    if (b.hi == 0) b.hi = -1;
    if (b.lo >= 1) return floor_div_positive(a, b);
    if (b.hi <= -1) return floor_div_positive(negate(a), negate(b));
    return join(floor_div_positive(a, {1, b.hi}), floor_div_positive(negate(a), {1, -b.lo}));
}

Range mod(Range a, Range b) {
    if (b.lo == 0) b.lo = 1;
    if (b.hi == 0) b.hi = -1;
    if (b.lo >= 1) {
        if (b.lo == b.hi && a.lo > -kUnbounded && a.hi < kUnbounded && floor_div_int(a.lo, b.lo) == floor_div_int(a.hi, b.lo))
            return {mod_int(a.lo, b.lo), mod_int(a.hi, b.lo)};
        if (a.lo >= 0 && a.hi < b.lo) return a;
        Range result{0, b.hi >= kUnbounded ? kUnbounded : b.hi - 1};
        if (a.lo >= 0) result.hi = std::min(result.hi, a.hi);
        return result;
    }
    if (b.hi <= -1) return negate(mod(negate(a), negate(b)));
    return join(mod(a, Range{1, b.hi}), mod(a, Range{b.lo, -1}));
}

} // namespace codetta::sym
