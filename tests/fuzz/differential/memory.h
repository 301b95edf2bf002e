// Memory that ends (or begins) where the process may not read: a kernel that reads or writes past an array faults at once.
#pragma once

#include <functional>
#include <vector>

#include "tests/support/run_graph.h"

namespace codetta::test {

class GuardedMemory {
public:
    // ends: arrays lie against the page behind them, else against the page before them.
    explicit GuardedMemory(bool ends) : ends_(ends) {}
    GuardedMemory(const GuardedMemory&) = delete;
    ~GuardedMemory();
    std::byte* allocate(size_t bytes);
    // The array with its contents here; arrays that share memory share it here.
    std::vector<scalar::HostArray> copies(const std::vector<scalar::HostArray>& arrays);

private:
    struct Mapping {
        void* start;
        size_t bytes;
    };
    bool ends_;
    std::vector<Mapping> mappings_;
};

class GuardedOutputs : public HostOutputs {
public:
    explicit GuardedOutputs(GuardedMemory& memory) : guarded_(memory) {}
    void* allocate(size_t storage, scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) override;

private:
    GuardedMemory& guarded_;
};

// Runs `body` on this thread; false when it touched memory that it may not.
bool runs_without_fault(const std::function<void()>& body);

} // namespace codetta::test
