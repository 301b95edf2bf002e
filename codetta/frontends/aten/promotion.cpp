#include "codetta/frontends/aten/promotion.h"

namespace codetta::frontends::aten {

using scalar::DType;

namespace {

int kind_of(DType dtype) { return scalar::is_float(dtype) ? 2 : scalar::is_integer(dtype) ? 1 : 0; }

std::optional<DType> join(std::optional<DType> a, std::optional<DType> b) {
    if (!a) return b;
    if (!b) return a;
    return scalar::promote(*a, *b);
}

// c10 combine_categories: the lower rank counts only when it is of a higher kind.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
    if (!higher) return lower;
    if (!lower || kind_of(*higher) >= kind_of(*lower)) return higher;
    return scalar::promote(*higher, *lower);
}

} // namespace

void Promotion::add_tensor(DType dtype, bool zero_dimensional) {
    std::optional<DType>& slot = zero_dimensional ? zero_ : dimensional_;
    slot = join(slot, dtype);
}

void Promotion::add_number(DType dtype) { number_ = join(number_, dtype == DType::f64 ? DType::f32 : dtype); }

std::optional<DType> Promotion::result() const { return combine(combine(dimensional_, zero_), number_); }

} // namespace codetta::frontends::aten
