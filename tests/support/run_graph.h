// Compiles a graph and runs it on host arrays, as the interpreter does.
#pragma once

#include <vector>

#include "codetta/compile/compile.h"
#include "codetta/runtime/detect_machine.h"
#include "codetta/scalar/host_array.h"

namespace codetta::test {

inline std::vector<base::Target> runnable_targets() {
    std::vector<base::Target> result;
    for (const std::string_view name : base::known_targets()) {
        const base::Target target = base::make_target(name);
        if (target.vector_bits > 0 && base::can_run(runtime::detect_machine(), target)) result.push_back(base::select_target(runtime::detect_machine(), name));
    }
    return result;
}

class HostOutputs : public runtime::OutputAllocator {
public:
    void* allocate(size_t, scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) override {
        int64_t elements = 1;
        for (size_t d = 0; d < shape.size(); ++d) elements = shape[d] == 0 ? 0 : elements + (elements == 0 ? 0 : (shape[d] - 1) * strides[d]);
        memory_.push_back(std::make_shared<std::vector<std::byte>>(static_cast<size_t>(elements * scalar::bytes(dtype)) + 64, std::byte{0xcd}));
        return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory_.back()->data()) + 63) / 64 * 64);
    }
    std::vector<std::shared_ptr<std::vector<std::byte>>> memory_;
};

// Outputs of one call; they live as long as `allocator`.
inline std::vector<scalar::HostArray> call(const runtime::Executable& executable, std::span<const scalar::HostArray> inputs, std::span<const int64_t> sizes, HostOutputs& allocator, int threads = 0) {
    std::vector<runtime::Argument> arguments;
    uint64_t token = 1;
    for (const scalar::HostArray& a : inputs) {
        runtime::Argument argument;
        argument.data = a.data();
        argument.shape = a.extents().data();
        argument.strides = a.strides().data();
        argument.rank = static_cast<uint32_t>(a.extents().size());
        argument.dtype = a.dtype();
        argument.token = token++;
        arguments.push_back(argument);
    }
    for (const int64_t s : sizes) arguments.push_back(runtime::Argument::of_integer(s));
    runtime::Results results;
    runtime::CallOptions options;
    options.threads = threads;
    struct Recorder : runtime::OutputAllocator {
        HostOutputs& inner;
        std::vector<std::byte*> storages;
        explicit Recorder(HostOutputs& i) : inner(i) {}
        void* allocate(size_t storage, scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) override {
            storages.resize(std::max(storages.size(), storage + 1));
            return storages[storage] = static_cast<std::byte*>(inner.allocate(storage, dtype, shape, strides));
        }
    } recorder(allocator);
    executable.run(arguments, recorder, results, options);
    std::vector<scalar::HostArray> outputs;
    for (const runtime::OutputValue& o : results.outputs) {
        if (o.kind == runtime::OutputKind::size) {
            scalar::HostArray size(scalar::DType::i64, {});
            *size.as<int64_t>() = o.offset;
            outputs.push_back(size);
            continue;
        }
        if (o.kind == runtime::OutputKind::input) {
            outputs.push_back(inputs[o.index]);
            continue;
        }
        std::byte* base = o.place == runtime::Place::storage ? recorder.storages[o.index] : inputs[o.index].data();
        outputs.push_back(scalar::HostArray::borrow(o.dtype, {o.shape.begin(), o.shape.end()}, {o.strides.begin(), o.strides.end()}, base + o.offset * scalar::bytes(o.dtype)));
    }
    return outputs;
}

} // namespace codetta::test
