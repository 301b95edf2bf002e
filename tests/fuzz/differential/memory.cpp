#include "tests/fuzz/differential/memory.h"

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <map>

#include <sys/mman.h>

#include "codetta/base/error.h"

namespace codetta::test {

namespace {

constexpr size_t page = 4096;

thread_local sigjmp_buf come_back;
thread_local volatile sig_atomic_t is_armed = 0;

void on_fault(int number) {
    if (is_armed) siglongjmp(come_back, 1); // NOLINT: the faulting code is a kernel's, which holds nothing
    std::signal(number, SIG_DFL);
}

int64_t span_of(std::span<const int64_t> extents, std::span<const int64_t> strides) {
    int64_t elements = 1;
    for (size_t d = 0; d < extents.size(); ++d) {
        if (extents[d] == 0) return 0;
        elements += (extents[d] - 1) * strides[d];
    }
    return elements;
}

} // namespace

GuardedMemory::~GuardedMemory() {
    for (const Mapping& m : mappings_) munmap(m.start, m.bytes);
}

std::byte* GuardedMemory::allocate(size_t bytes) {
    const size_t inside = (bytes + page - 1) / page * page + (bytes == 0 ? page : 0), all = inside + 2 * page;
    void* start = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CODETTA_CHECK(start != MAP_FAILED, "no memory for {} bytes", all);
    mappings_.push_back({start, all});
    auto* first = static_cast<std::byte*>(start);
    mprotect(first, page, PROT_NONE);
    mprotect(first + page + inside, page, PROT_NONE);
    std::memset(first + page, 0xcd, inside);
    return ends_ ? first + page + inside - bytes : first + page;
}

std::vector<scalar::HostArray> GuardedMemory::copies(const std::vector<scalar::HostArray>& arrays) {
    std::map<const std::byte*, std::byte*> known;
    std::vector<scalar::HostArray> result;
    for (const scalar::HostArray& a : arrays) {
        const auto bytes = static_cast<size_t>(span_of(a.extents(), a.strides()) * scalar::bytes(a.dtype()));
        auto [it, is_new] = known.try_emplace(a.data(), nullptr);
        if (is_new || bytes == 0) {
            it->second = allocate(bytes);
            if (bytes) std::memcpy(it->second, a.data(), bytes);
        }
        result.push_back(scalar::HostArray::borrow(a.dtype(), a.extents(), a.strides(), it->second));
    }
    return result;
}

void* GuardedOutputs::allocate(size_t, scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) {
    return guarded_.allocate(static_cast<size_t>(span_of(shape, strides) * scalar::bytes(dtype)));
}

bool runs_without_fault(const std::function<void()>& body) {
    struct Restore {
        void (*segv)(int) = std::signal(SIGSEGV, on_fault);
        void (*bus)(int) = std::signal(SIGBUS, on_fault);
        ~Restore() {
            is_armed = 0;
            std::signal(SIGSEGV, segv);
            std::signal(SIGBUS, bus);
        }
    } restore;
    if (sigsetjmp(come_back, 1) != 0) return false;
    is_armed = 1;
    body();
    return true;
}

} // namespace codetta::test
