// Closed intervals with saturating ends: an end at +-kUnbounded means "no bound". For the sources of this room.
#pragma once

#include <algorithm>

#include "codetta/sym/facts.h"

namespace codetta::sym {

inline int64_t saturate(__int128 value) {
    return value > kUnbounded ? kUnbounded : value < -kUnbounded ? -kUnbounded : static_cast<int64_t>(value);
}

Range meet(Range a, Range b); // both hold
Range join(Range a, Range b); // one of them holds
Range operator+(Range a, Range b);
Range operator*(Range a, Range b);
Range floor_div(Range a, Range b); // over the pairs with a divisor other than 0
Range mod(Range a, Range b);

} // namespace codetta::sym
