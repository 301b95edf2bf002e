#include "codetta/cli/call.h"

#include <algorithm>
#include <chrono>

#include "codetta/runtime/argument.h"
#include "codetta/scalar/dtype.h"

namespace codetta::cli {

namespace {

class HostMemory : public runtime::OutputAllocator {
public:
    void* allocate(size_t storage, scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) override {
        int64_t elements = 1;
        for (size_t d = 0; d < shape.size(); ++d) elements = shape[d] == 0 || elements == 0 ? 0 : elements + (shape[d] - 1) * strides[d];
        constexpr size_t alignment = 64;
        const size_t bytes = (static_cast<size_t>(elements * scalar::bytes(dtype)) / alignment + 1) * alignment;
        memory.emplace_back(std::aligned_alloc(alignment, bytes), &std::free);
        storages.resize(std::max(storages.size(), storage + 1));
        return storages[storage] = memory.back().get();
    }
    std::vector<std::shared_ptr<void>> memory;
    std::vector<void*> storages;
};

} // namespace

CallResult call(const runtime::Executable& executable, std::span<const scalar::HostArray> inputs, std::span<const int64_t> integers,
                int threads) {
    std::vector<runtime::Argument> arguments;
    for (const scalar::HostArray& a : inputs) {
        runtime::Argument argument;
        argument.data = a.data();
        argument.shape = a.extents().data();
        argument.strides = a.strides().data();
        argument.rank = static_cast<uint32_t>(a.extents().size());
        argument.dtype = a.dtype();
        argument.token = reinterpret_cast<uintptr_t>(a.data()); // the arrays outlive the executable's last call
        arguments.push_back(argument);
    }
    for (const int64_t i : integers) arguments.push_back(runtime::Argument::of_integer(i));
    HostMemory allocator;
    runtime::Results results;
    runtime::CallOptions options;
    options.threads = threads;
    const auto start = std::chrono::steady_clock::now();
    executable.run(arguments, allocator, results, options);
    CallResult made;
    made.time_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    for (const runtime::OutputValue& o : results.outputs) {
        if (o.kind == runtime::OutputKind::size) {
            made.outputs.emplace_back(scalar::DType::i64, std::vector<int64_t>{});
            *made.outputs.back().as<int64_t>() = o.offset;
        } else if (o.kind == runtime::OutputKind::input) {
            made.outputs.push_back(inputs[o.index]);
        } else if (o.kind == runtime::OutputKind::view) {
            auto* base = static_cast<std::byte*>(o.place == runtime::Place::storage ? allocator.storages[o.index] : inputs[o.index].data());
            made.outputs.push_back(scalar::HostArray::borrow(
                o.dtype, {o.shape.begin(), o.shape.end()}, {o.strides.begin(), o.strides.end()}, base + o.offset * scalar::bytes(o.dtype)));
        }
    }
    made.memory = std::move(allocator.memory);
    return made;
}

} // namespace codetta::cli
