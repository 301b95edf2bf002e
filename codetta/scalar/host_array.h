// A strided array on the host: what interpreters read and write, what constants are.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "codetta/scalar/evaluate.h"

namespace codetta::scalar {

// Extents and strides in elements. Shares its bytes with its copies and views (like a tensor); `clone` makes own ones.
class HostArray {
public:
    HostArray() = default;
    HostArray(DType t, std::vector<int64_t> extents);                                                         // contiguous, zero-filled
    static HostArray borrow(DType t, std::vector<int64_t> extents, std::vector<int64_t> strides, void* data); // not owned
    DType dtype() const { return dtype_; }
    const std::vector<int64_t>& extents() const { return extents_; }
    const std::vector<int64_t>& strides() const { return strides_; }
    int64_t size() const; // elements
    std::byte* data() const { return data_; }
    template <class T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }
    Scalar load(std::span<const int64_t> coordinates) const;                     // out of range: InternalError
    void store(std::span<const int64_t> coordinates, const Scalar& value) const; // rounds or wraps to dtype()
    HostArray view(std::vector<int64_t> extents, std::vector<int64_t> strides, int64_t offset_elements) const;
    HostArray clone() const;                                        // contiguous
    std::byte* address(std::span<const int64_t> coordinates) const; // out of range: InternalError

private:
    DType dtype_ = DType::f32;
    std::vector<int64_t> extents_, strides_;
    std::shared_ptr<std::byte[]> owner_;
    std::byte* data_ = nullptr;
};

std::vector<int64_t> contiguous_strides(std::span<const int64_t> extents);
Scalar load_element(DType t, const std::byte* address);
void store_element(DType t, std::byte* address, const Scalar& value); // rounds or wraps to t

// Calls visit(coordinates) for every coordinate in row-major order.
template <class Visit>
void for_each_coordinate(std::span<const int64_t> extents, Visit&& visit) {
    for (int64_t extent : extents)
        if (extent <= 0) return;
    std::vector<int64_t> at(extents.size(), 0);
    while (true) {
        visit(std::span<const int64_t>(at));
        size_t d = extents.size();
        while (d > 0 && ++at[d - 1] == extents[d - 1]) at[--d] = 0;
        if (d == 0) return;
    }
}

} // namespace codetta::scalar
