// Element types, with torch's promotion rules.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace codetta::scalar {

enum class DType : uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };
inline constexpr std::array kDTypes = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                       DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

int64_t bytes(DType t); // of one element: 1, 2, 4, 8
bool is_float(DType t);
bool is_integer(DType t);            // not boolean
std::string_view to_string(DType t); // `bool u8 i8 i16 i32 i64 f16 bf16 f32 f64`
std::optional<DType> find_dtype(std::string_view text);
DType parse_dtype(std::string_view text); // UserError with the list on an unknown name

// torch.promote_types (ATen c10/core/ScalarType promotion table).
DType promote(DType a, DType b);
// The type in which a float body computes: f32 for 16-bit floats, else the type itself.
DType compute_type(DType t);

} // namespace codetta::scalar
