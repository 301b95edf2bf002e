// What a caller passes to an Executable: borrowed arrays and integers.
#pragma once

#include <cstdint>

#include "codetta/scalar/dtype.h"

namespace codetta::runtime {

enum class Device : uint8_t { cpu, cuda, other };

/// One argument, borrowed for the call: a strided array or an integer, as the program's Input says.
struct Argument {
    void* data = nullptr; ///< of element [0, 0, ...]; may be null when the array is empty
    const int64_t* shape = nullptr;
    const int64_t* strides = nullptr; ///< in elements
    int64_t integer = 0;              ///< for an integer input; everything else is ignored then
    uint32_t rank = 0;
    scalar::DType dtype = scalar::DType::f32;
    Device device = Device::cpu;

    /// The identity of a frozen input: `token` names the live object (never reused while the process lives; 0 = none), `version` its
    /// content. What `setup` made is kept as long as (token, version, data) are the same.
    uint64_t token = 0;
    uint64_t version = 0;

    static Argument of_integer(int64_t value) {
        Argument argument;
        argument.integer = value;
        return argument;
    }
};

} // namespace codetta::runtime
