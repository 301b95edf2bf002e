#include "codetta/scalar/dtype.h"

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"

#include <string>

namespace codetta::scalar {

namespace {

constexpr std::array<std::string_view, kDTypes.size()> kNames = {"bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"};

} // namespace

int64_t bytes(DType t) {
    constexpr std::array<int64_t, kDTypes.size()> sizes = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
    return sizes[static_cast<size_t>(t)];
}

bool is_float(DType t) { return t >= DType::f16; }

bool is_integer(DType t) { return t != DType::boolean && !is_float(t); }

std::string_view to_string(DType t) { return kNames[static_cast<size_t>(t)]; }

std::optional<DType> find_dtype(std::string_view text) {
    for (DType t : kDTypes)
        if (to_string(t) == text) return t;
    return std::nullopt;
}

DType parse_dtype(std::string_view text) {
    if (auto t = find_dtype(text)) return *t;
    throw base::UserError("unknown dtype '" + std::string(text) + "'" + base::did_you_mean(text, kNames));
}

DType promote(DType a, DType b) {
    if (a == b) return a;
    if (a > b) std::swap(a, b);
    // The enum's order is torch's widening order except for two pairs without a common member: u8 with i8, f16 with bf16.
    if (a == DType::u8 && b == DType::i8) return DType::i16;
    if (a == DType::f16 && b == DType::bf16) return DType::f32;
    return b;
}

DType compute_type(DType t) { return t == DType::f16 || t == DType::bf16 ? DType::f32 : t; }

} // namespace codetta::scalar
