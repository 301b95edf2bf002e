#include "codetta/runtime/memory.h"

#include "codetta/base/error.h"

#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace codetta::runtime {

namespace {

constexpr size_t page_bytes = 4096;
constexpr size_t page_aligned_from_bytes = 64 << 10; // large blocks start on a page: no two share one, and copies run faster

/// More than the machine has: asking would succeed (memory is given when touched) and kill the process later.
bool exceeds_machine(size_t bytes) {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    return pages > 0 && bytes / page_bytes > static_cast<size_t>(pages);
}

/// Calls of slowly growing sizes must not each need a new block: at most a quarter more than asked, and what is not touched costs nothing.
size_t with_room_to_grow(size_t bytes) {
    if (bytes < page_bytes) return page_bytes;
    const size_t step = std::bit_floor(bytes) / 4;
    return bytes > SIZE_MAX - step ? bytes : (bytes + step - 1) / step * step;
}

} // namespace

Memory::Memory(size_t bytes, const char* purpose) : bytes_(bytes) {
    if (bytes == 0) return;
    const size_t alignment = bytes >= page_aligned_from_bytes ? page_bytes : memory_alignment_bytes;
    if (!exceeds_machine(bytes))
        data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
    if (data_ == nullptr)
        throw base::UserError(fmt::format("no memory: cannot get {} bytes for {}", bytes, purpose), {},
                              "use smaller inputs or a machine with more memory");
}

Memory::Memory(Memory&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Memory::~Memory() { std::free(data_); }

ArenaPool::ArenaPool() { kept_.reserve(most_kept); }

Memory ArenaPool::take(size_t bytes) {
    {
        std::lock_guard lock(mutex_);
        size_t best = kept_.size();
        for (size_t i = 0; i < kept_.size(); i++)
            if (kept_[i].bytes() >= bytes && (best == kept_.size() || kept_[i].bytes() < kept_[best].bytes())) best = i;
        if (best != kept_.size()) {
            Memory memory = std::move(kept_[best]);
            std::swap(kept_[best], kept_.back());
            kept_.pop_back();
            return memory;
        }
    }
    return Memory(with_room_to_grow(bytes), "the temporaries of a call");
}

void ArenaPool::give_back(Memory&& memory) {
    Memory dropped; // freed outside the lock
    std::lock_guard lock(mutex_);
    if (kept_.size() < most_kept) {
        kept_.push_back(std::move(memory));
        return;
    }
    size_t smallest = 0;
    for (size_t i = 1; i < kept_.size(); i++)
        if (kept_[i].bytes() < kept_[smallest].bytes()) smallest = i;
    if (kept_[smallest].bytes() < memory.bytes()) {
        dropped = std::move(kept_[smallest]);
        kept_[smallest] = std::move(memory);
    }
}

size_t ArenaPool::kept() const {
    std::lock_guard lock(mutex_);
    return kept_.size();
}

} // namespace codetta::runtime
