// HostProgram: what one call does, as plain data: inputs and their size symbols, memory, launches in order, and what becomes of the
// outputs.
//
//   program linear_gelu
//     input x: bf16[s0, 768] strides [768, 1]
//     input w: bf16[3072, 768] strides [768, 1] frozen
//     input b: bf16[3072] strides [1]
//     size s0 = shape(x, 0)
//     size a0 = alignment(x)
//     require s0 >= 2
//     prepared w16: 4718592
//     buffer t0: 12288*s0 live 0..1
//     storage y: bf16[s0, 3072] strides [3072, 1]
//   setup
//     launch pack16(w, w16) tasks 96 grain 8
//   call
//     choice
//       when s0 % 32 == 0, a0 % 64 == 0
//         launch gemm_a(x, w16, b, y; s0) tasks 96*((s0 + 255) // 256) grain 1 scratch 4096 work 4718592*s0 flops 1536*s0 bytes bf16 label
//         "linear model.py:12"
//       otherwise
//         launch gemm_b(x, w16, b, y; s0) tasks 96*((s0 + 255) // 256) grain 1
//   outputs
//     view of y: bf16[s0, 3072] strides [3072, 1] offset 0
//     input x
//     size 2*s0
//     nothing
//   end
//
// All names are unique. Strides and view offsets count elements, everything named bytes counts bytes. An expression speaks of size symbols
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codetta/base/id.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/condition.h"

namespace codetta::runtime {

using InputId = base::Id<struct InputTag>;
using ConstantId = base::Id<struct ConstantTag>;
using PreparedId = base::Id<struct PreparedTag>;
using BufferId = base::Id<struct BufferTag>;
using StorageId = base::Id<struct StorageTag>;

/// What the caller passes: a strided array, or (`integer`) one int64 without dtype, shape and strides.
/// A call whose array differs from shape or strides is refused; strides of dimensions of size 1 and of empty arrays are free.
struct Input {
    std::string name;
    bool integer = false;
    bool frozen = false; ///< the content is the same at every call with the same identity (see Argument): `setup` may read it
    scalar::DType dtype = scalar::DType::f32;
    std::vector<sym::Expr> shape, strides;
    friend bool operator==(const Input&, const Input&) = default;
};

enum class SizeSource {
    shape,     ///< extent of dimension `dimension` of the input
    stride,    ///< stride of that dimension, in elements
    value,     ///< the integer input itself
    alignment, ///< the largest power of two <= 64 that divides the input's address
};

/// Where a size symbol gets its value from at each call.
struct Size {
    std::string symbol;
    SizeSource source = SizeSource::shape;
    InputId input;
    uint32_t dimension = 0;
    friend bool operator==(const Size&, const Size&) = default;
};

/// Bytes that belong to the program, contiguous; 64-byte aligned in memory.
struct Constant {
    std::string name;
    scalar::DType dtype = scalar::DType::f32;
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes; ///< product(shape) elements
    friend bool operator==(const Constant&, const Constant&) = default;
};

/// Memory that `setup` fills once per identity of the frozen inputs it depends on (packed weights); lives beyond the call.
struct Prepared {
    std::string name;
    sym::Expr bytes;
    friend bool operator==(const Prepared&, const Prepared&) = default;
};

/// A temporary of one call. Its memory is its own during the steps first .. last (inclusive, counted in `call`) and is undefined at
/// `first`.
struct Buffer {
    std::string name;
    sym::Expr bytes;
    uint32_t first = 0, last = 0;
    friend bool operator==(const Buffer&, const Buffer&) = default;
};

/// Memory that the caller's allocator gives for outputs; several outputs may be views of one storage.
struct Storage {
    std::string name;
    scalar::DType dtype = scalar::DType::f32;
    std::vector<sym::Expr> shape, strides;
    friend bool operator==(const Storage&, const Storage&) = default;
};

enum class Place { input, constant, prepared, buffer, storage };

/// A pointer argument of a launch: the start of a thing plus an offset.
struct PointerArgument {
    Place place = Place::input;
    uint32_t index = 0; ///< of inputs, constants, prepared, buffers or storages
    sym::Expr offset_bytes;
    friend bool operator==(const PointerArgument&, const PointerArgument&) = default;
};

inline PointerArgument pointer_to(InputId id, sym::Expr offset_bytes = 0) { return {Place::input, id.value, offset_bytes}; }
inline PointerArgument pointer_to(ConstantId id, sym::Expr offset_bytes = 0) { return {Place::constant, id.value, offset_bytes}; }
inline PointerArgument pointer_to(PreparedId id, sym::Expr offset_bytes = 0) { return {Place::prepared, id.value, offset_bytes}; }
inline PointerArgument pointer_to(BufferId id, sym::Expr offset_bytes = 0) { return {Place::buffer, id.value, offset_bytes}; }
inline PointerArgument pointer_to(StorageId id, sym::Expr offset_bytes = 0) { return {Place::storage, id.value, offset_bytes}; }

/// What a region has to do at least: operations, elements touched once, and the dtype that its products multiply.
struct Work {
    sym::Expr flops = 0, bytes = 0;
    scalar::DType dtype = scalar::DType::f32;
    friend bool operator==(const Work&, const Work&) = default;
};

/// One kernel over its tasks. Launches run one after another; a launch sees all that the earlier ones wrote.
struct Launch {
    std::string kernel;                    ///< symbol of a CodeEntry
    std::vector<PointerArgument> pointers; ///< in the order of the kernel's signature
    std::vector<sym::Expr> integers;       ///< likewise
    sym::Expr tasks = 1;                   ///< 0: nothing runs
    sym::Expr grain = 1;                   ///< tasks that a thread takes at least; tasks <= grain run on the calling thread alone
    sym::Expr scratch_bytes = 0;           ///< per thread
    std::string label;                     ///< where it comes from, for people: "linear+gelu model.py:12"
    Work work;                             ///< for explain; a region of several launches has it at the first
    friend bool operator==(const Launch&, const Launch&) = default;
};

/// Launches for one set of circumstances; `when` is a conjunction over size symbols.
struct Alternative {
    std::vector<sym::Condition> when;
    std::vector<Launch> launches;
    friend bool operator==(const Alternative&, const Alternative&) = default;
};

/// The first alternative that holds runs; the last one is unconditional.
struct Step {
    std::vector<Alternative> alternatives;
    friend bool operator==(const Step&, const Step&) = default;
};

enum class OutputKind {
    view,    ///< shape, strides, offset over a storage or an input
    input,   ///< the very object that was passed
    size,    ///< an integer
    nothing, ///< None
};

/// What the caller gets back in one place of the result.
struct Output {
    OutputKind kind = OutputKind::view;
    Place place = Place::storage; ///< view: storage or input
    uint32_t index = 0;           ///< view, input
    scalar::DType dtype = scalar::DType::f32;
    std::vector<sym::Expr> shape, strides; ///< view; in elements of `dtype`
    sym::Expr offset = 0;                  ///< view, in elements of `dtype`; size: the value
    friend bool operator==(const Output&, const Output&) = default;
};

struct HostProgram {
    std::string name;
    std::vector<Input> inputs;
    std::vector<Size> sizes;
    std::vector<sym::Condition> requirements; ///< a call that breaks one is refused
    std::vector<Constant> constants;
    std::vector<Prepared> prepared;
    std::vector<Buffer> buffers;
    std::vector<Storage> storages;
    std::vector<Launch> setup; ///< reads frozen inputs, constants and earlier prepared, writes prepared
    std::vector<Step> call;
    std::vector<Output> outputs;
    friend bool operator==(const HostProgram&, const HostProgram&) = default;
};

Step single(Launch launch);                                  ///< a step without a choice
Output whole(const HostProgram& program, StorageId storage); ///< the output that is all of a storage
Output same_input(InputId input);
Output size_output(sym::Expr value);

/// @post parse_host_program(to_string(p)) == p for every p that verifies
std::string to_string(const HostProgram& program);

/// @throws UserError with "line L, column C" on malformed text; the result is verified
HostProgram parse_host_program(std::string_view text);

/// @throws InternalError naming the offending entry: ids in range, names unique, expressions over known size symbols, last alternatives
/// unconditional, buffers used inside their lifetime only, setup touching frozen inputs, constants and prepared alone, sizes of constants
void verify(const HostProgram& program);

} // namespace codetta::runtime
