#include "codetta/scalar/host_array.h"

#include "codetta/base/error.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace codetta::scalar {

namespace {

template <class T>
T read(const std::byte* p) {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <class T>
void write(std::byte* p, T v) {
    std::memcpy(p, &v, sizeof v);
}

double half_to_double(uint16_t h) {
    int exponent = (h >> 10) & 31, mantissa = h & 1023;
    double magnitude = exponent == 31  ? (mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                       : exponent == 0 ? std::ldexp(mantissa, -24)
                                       : std::ldexp(1024 + mantissa, exponent - 25);
    return h & 0x8000 ? -magnitude : magnitude;
}

uint16_t double_to_half(double v) { // v is a value of f16
    uint16_t sign = std::signbit(v) ? 0x8000 : 0;
    v = std::abs(v);
    if (std::isnan(v)) return sign | 0x7e00;
    if (std::isinf(v)) return sign | 0x7c00;
    if (v < 0x1p-14) return sign | static_cast<uint16_t>(v * 0x1p24);
    int exponent;
    double fraction = std::frexp(v, &exponent); // in [0.5, 1)
    return sign | static_cast<uint16_t>(((exponent + 14) << 10) + static_cast<int>(fraction * 2048 - 1024));
}

} // namespace

std::vector<int64_t> contiguous_strides(std::span<const int64_t> extents) {
    std::vector<int64_t> strides(extents.size());
    int64_t step = 1;
    for (size_t i = extents.size(); i-- > 0;) {
        strides[i] = step;
        step *= std::max<int64_t>(extents[i], 1);
    }
    return strides;
}

Scalar load_element(DType t, const std::byte* p) {
    switch (t) {
    case DType::boolean: return {t, 0, read<uint8_t>(p) != 0};
    case DType::u8: return {t, 0, read<uint8_t>(p)};
    case DType::i8: return {t, 0, read<int8_t>(p)};
    case DType::i16: return {t, 0, read<int16_t>(p)};
    case DType::i32: return {t, 0, read<int32_t>(p)};
    case DType::i64: return {t, 0, read<int64_t>(p)};
    case DType::f16: return {t, half_to_double(read<uint16_t>(p)), 0};
    case DType::bf16: return {t, std::bit_cast<float>(uint32_t{read<uint16_t>(p)} << 16), 0};
    case DType::f32: return {t, read<float>(p), 0};
    case DType::f64: return {t, read<double>(p), 0};
    }
    return {};
}

void store_element(DType t, std::byte* p, const Scalar& value) {
    if (is_float(t)) {
        double v = round_to(t, as_double(value));
        switch (t) {
        case DType::f16: write(p, double_to_half(v)); break;
        case DType::bf16:
            write(p, static_cast<uint16_t>(std::isnan(v) ? 0x7fc0 : std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16));
            break;
        case DType::f32: write(p, static_cast<float>(v)); break;
        default: write(p, v);
        }
        return;
    }
    int64_t v = wrap_to(t, as_integer(value));
    switch (bytes(t)) {
    case 1: write(p, static_cast<uint8_t>(v)); break;
    case 2: write(p, static_cast<uint16_t>(v)); break;
    case 4: write(p, static_cast<uint32_t>(v)); break;
    default: write(p, v);
    }
}

HostArray::HostArray(DType t, std::vector<int64_t> extents)
    : dtype_(t), extents_(std::move(extents)), strides_(contiguous_strides(extents_)) {
    for (int64_t extent : extents_) CODETTA_CHECK(extent >= 0, "an array extent of {}", extent);
    auto byte_count = static_cast<size_t>(std::max<int64_t>(size(), 1) * bytes(t));
    owner_ = std::shared_ptr<std::byte[]>(new std::byte[byte_count]());
    data_ = owner_.get();
}

HostArray HostArray::borrow(DType t, std::vector<int64_t> extents, std::vector<int64_t> strides, void* data) {
    CODETTA_CHECK(extents.size() == strides.size(), "{} extents with {} strides", extents.size(), strides.size());
    HostArray a;
    a.dtype_ = t;
    a.extents_ = std::move(extents);
    a.strides_ = std::move(strides);
    a.data_ = static_cast<std::byte*>(data);
    return a;
}

int64_t HostArray::size() const {
    int64_t n = 1;
    for (int64_t extent : extents_) n *= extent;
    return n;
}

std::byte* HostArray::address(std::span<const int64_t> coordinates) const {
    CODETTA_CHECK(coordinates.size() == extents_.size(), "{} coordinates for {} dimensions", coordinates.size(), extents_.size());
    int64_t offset = 0;
    for (size_t i = 0; i < coordinates.size(); ++i) {
        CODETTA_CHECK(coordinates[i] >= 0 && coordinates[i] < extents_[i], "coordinate {} is {}, extent {}", i, coordinates[i],
                      extents_[i]);
        offset += coordinates[i] * strides_[i];
    }
    return data_ + offset * bytes(dtype_);
}

Scalar HostArray::load(std::span<const int64_t> coordinates) const { return load_element(dtype_, address(coordinates)); }

void HostArray::store(std::span<const int64_t> coordinates, const Scalar& value) const {
    store_element(dtype_, address(coordinates), value);
}

HostArray HostArray::view(std::vector<int64_t> extents, std::vector<int64_t> strides, int64_t offset_elements) const {
    CODETTA_CHECK(extents.size() == strides.size(), "{} extents with {} strides", extents.size(), strides.size());
    HostArray a = *this;
    a.extents_ = std::move(extents);
    a.strides_ = std::move(strides);
    a.data_ += offset_elements * bytes(dtype_);
    return a;
}

HostArray HostArray::clone() const {
    HostArray copy(dtype_, extents_);
    int64_t element = bytes(dtype_);
    for_each_coordinate(extents_, [&, at = copy.data_](std::span<const int64_t> c) mutable {
        std::memcpy(at, address(c), static_cast<size_t>(element));
        at += element;
    });
    return copy;
}

} // namespace codetta::scalar
