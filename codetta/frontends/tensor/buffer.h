// What a compiled function is called with and what it returns: arrays in plain memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "codetta/scalar/dtype.h"

namespace codetta::frontends::tensor {

using scalar::DType;
inline constexpr DType f32 = DType::f32, f64 = DType::f64, f16 = DType::f16, bf16 = DType::bf16;
inline constexpr DType i8 = DType::i8, i16 = DType::i16, i32 = DType::i32, i64 = DType::i64, u8 = DType::u8, boolean = DType::boolean;

/// The dtype of a C++ type. The 16-bit floats have none in C++20: name their dtype and pass uint16_t.
template <class T>
constexpr DType dtype_of() {
    if constexpr (std::is_same_v<T, float>)
        return f32;
    else if constexpr (std::is_same_v<T, double>)
        return f64;
    else if constexpr (std::is_same_v<T, bool>)
        return boolean;
    else if constexpr (std::is_same_v<T, int8_t>)
        return i8;
    else if constexpr (std::is_same_v<T, uint8_t>)
        return u8;
    else if constexpr (std::is_same_v<T, int16_t>)
        return i16;
    else if constexpr (std::is_same_v<T, int32_t>)
        return i32;
    else {
        static_assert(std::is_same_v<T, int64_t> || (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8),
                      "no dtype for this type");
        return i64;
    }
}

/// An array in the caller's memory, which must outlive the use. Strides count elements; none given: row-major.
class Buffer {
public:
    Buffer(DType dtype, void* data, std::vector<int64_t> shape, std::vector<int64_t> strides = {});
    Buffer(DType dtype, const void* data, std::vector<int64_t> shape, std::vector<int64_t> strides = {}); // is only read
    template <class T>
        requires(!std::is_void_v<T>)
    Buffer(T* data, std::vector<int64_t> shape, std::vector<int64_t> strides = {})
        : Buffer(dtype_of<std::remove_const_t<T>>(), data, std::move(shape), std::move(strides)) {}
    /// @throws UserError when the vector's size is not that of the shape
    template <class T>
    Buffer(std::vector<T>& data, std::vector<int64_t> shape) : Buffer(dtype_of<T>(), data.data(), std::move(shape)) {
        check_elements(data.size());
    }
    template <class T>
    Buffer(const std::vector<T>& data, std::vector<int64_t> shape) : Buffer(dtype_of<T>(), data.data(), std::move(shape)) {
        check_elements(data.size());
    }

    DType dtype() const { return dtype_; }
    const std::vector<int64_t>& shape() const { return shape_; }
    const std::vector<int64_t>& strides() const { return strides_; }
    void* data() const { return data_; }
    bool read_only() const { return read_only_; }
    bool contiguous() const;
    int64_t size() const; ///< elements

private:
    void check_elements(size_t given) const;
    DType dtype_;
    bool read_only_ = false;
    void* data_;
    std::vector<int64_t> shape_, strides_;
};

/// An array with memory of its own, row-major; copies share it.
class Array {
public:
    Array(DType dtype, std::vector<int64_t> shape); ///< not initialised; UserError when there is no memory
    DType dtype() const { return dtype_; }
    const std::vector<int64_t>& shape() const { return shape_; }
    int64_t size() const;
    void* data() const { return data_; }
    /// The elements. @throws UserError when T is not the array's type (uint16_t views 16-bit floats)
    template <class T>
    std::span<T> as() const {
        check_type(sizeof(T), std::is_same_v<T, uint16_t> ? dtype_ : dtype_of<T>());
        return {static_cast<T*>(data_), static_cast<size_t>(size())};
    }
    operator Buffer() const { return Buffer(dtype_, data_, shape_); } // NOLINT: results are arguments of the next call

private:
    void check_type(size_t bytes, DType asked) const;
    DType dtype_;
    std::vector<int64_t> shape_;
    std::shared_ptr<const void> memory_;
    void* data_;
};

} // namespace codetta::frontends::tensor
