#include "codetta/frontends/tensor/buffer.h"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codetta/base/error.h"
#include "codetta/runtime/memory.h"
#include "codetta/scalar/host_array.h"

namespace codetta::frontends::tensor {

namespace {

constexpr int64_t most_elements = std::numeric_limits<int64_t>::max() / 16;

int64_t elements(const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (const int64_t extent : shape) {
        CODETTA_USER_CHECK(extent >= 0, "a shape can't be [{}]: sizes are not negative", fmt::join(shape, ", "));
        CODETTA_USER_CHECK(extent == 0 || count <= most_elements / extent, "a shape can't be [{}]: that are too many elements",
                           fmt::join(shape, ", "));
        count *= extent;
    }
    return count;
}

} // namespace

Buffer::Buffer(DType dtype, void* data, std::vector<int64_t> shape, std::vector<int64_t> strides)
    : dtype_(dtype), data_(data), shape_(std::move(shape)), strides_(std::move(strides)) {
    const int64_t count = elements(shape_);
    if (strides_.empty()) strides_ = scalar::contiguous_strides(shape_);
    CODETTA_USER_CHECK(strides_.size() == shape_.size(), "a buffer of shape [{}] has {} strides", fmt::join(shape_, ", "), strides_.size());
    CODETTA_USER_CHECK(data_ != nullptr || count == 0, "a buffer of shape [{}] has no data", fmt::join(shape_, ", "));
}

Buffer::Buffer(DType dtype, const void* data, std::vector<int64_t> shape, std::vector<int64_t> strides)
    : Buffer(dtype, const_cast<void*>(data), std::move(shape), std::move(strides)) {
    read_only_ = true;
}

int64_t Buffer::size() const { return elements(shape_); }

bool Buffer::contiguous() const {
    const std::vector<int64_t> wanted = scalar::contiguous_strides(shape_);
    for (size_t d = 0; d < shape_.size(); ++d)
        if (shape_[d] > 1 && strides_[d] != wanted[d]) return false;
    return true;
}

void Buffer::check_elements(size_t given) const {
    CODETTA_USER_CHECK(given == static_cast<size_t>(size()), "a vector of {} elements can't have shape [{}]", given,
                       fmt::join(shape_, ", "));
}

Array::Array(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
    const auto memory = std::make_shared<runtime::Memory>(static_cast<size_t>(elements(shape_) * scalar::bytes(dtype)), "a result");
    data_ = memory->data();
    memory_ = memory;
}

int64_t Array::size() const { return elements(shape_); }

void Array::check_type(size_t bytes, DType asked) const {
    CODETTA_USER_CHECK(asked == dtype_ && bytes == static_cast<size_t>(scalar::bytes(dtype_)), "the array holds {}, not {}",
                       scalar::to_string(dtype_), asked == dtype_ ? "16-bit floats" : scalar::to_string(asked));
}

} // namespace codetta::frontends::tensor
