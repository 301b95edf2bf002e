// The state of a reduction or scan: identity, lift, combine, finish, each a scalar::Function. Written once, used by the interpreter and
// every target.
#pragma once

#include "codetta/scalar/function.h"

namespace codetta::scalar {

// lift: (element, i64 position in the reduced axes, row-major) -> state...; combine: (state a..., state b...) -> state...; finish: state...
// -> result. combine is associative and commutative up to rounding (lanes may be combined in any order): ties and NaNs are decided by the
// position (argmax: a NaN wins, then the first position).
struct Combiner {
    std::string name; // `sum`, `max`, ...; the text form, unique per definition
    std::vector<DType> state;
    std::vector<Op> identity; // constants, one per state component
    Function lift, combine, finish;
    friend bool operator==(const Combiner&, const Combiner&) = default;
};

// t: dtype of the element and of the result, except where said. Floats of 16 bits must be cast to f32 before.
Combiner sum(DType t);
Combiner product(DType t);
Combiner maximum(DType t); // NaN propagates (torch.amax); identity -inf or lowest
Combiner minimum(DType t);
Combiner any(); // bool
Combiner all();
Combiner argmax(DType t); // result i64
Combiner argmin(DType t);

Combiner logsumexp(DType t); // log(sum(exp x)) with a running maximum; -inf when empty
Combiner welford(DType t);   // the sum of squared deviations from the mean

bool is_combiner(std::string_view name);
Combiner make_combiner(std::string_view name, DType t); // by its text form; UserError with the list
void verify(const Combiner& c);

} // namespace codetta::scalar
