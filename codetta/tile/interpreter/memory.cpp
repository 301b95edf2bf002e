#include <cstring>

#include "codetta/base/error.h"
#include "codetta/tile/interpreter/machine.h"

namespace codetta::tile::interpreter {

namespace {

bool owned(Space s) { return s == Space::rmem || s == Space::tmm || s == Space::scratch; }

} // namespace

void Machine::allocate(int threads) {
    own_.resize(p_.buffers.size());
    in_flight_.resize(p_.buffers.size());
    if (elements_.empty()) {
        sym::Bindings bound;
        for (size_t i = 0; i < p_.integers.size(); ++i) bound[p_.integers[i]] = arguments_.integers[i];
        for (size_t i = 0; i < p_.buffers.size(); ++i) {
            const Buffer& b = p_.buffers[i];
            bool pointer = b.parameter && b.space == Space::gmem;
            elements_.push_back(pointer ? arguments_.pointers[static_cast<size_t>(parameter_index_[i])].size()
                                        : sym::evaluate(b.elements, bound));
            bool shared = b.space == Space::smem || b.space == Space::barrier;
            place_.push_back(shared ? sym::evaluate(offset_bytes(p_, BufferId(i)), bound) : 0);
        }
        smem_.resize(static_cast<size_t>(smem_bytes(p_)));
    }
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
        const Buffer& b = p_.buffers[i];
        if (!owned(b.space)) continue;
        own_[i].assign(static_cast<size_t>(elements_[i] * scalar::bytes(b.dtype) * threads), std::byte{0xff});
        in_flight_[i].assign(static_cast<size_t>(threads), 0);
    }
    std::fill(smem_.begin(), smem_.end(), std::byte{0xff});
    unfenced_.assign(smem_.size(), 0);
}

Cell Machine::cell(BufferId buffer, int thread, int64_t element, const SwizzleBits& swizzle) {
    const Buffer& b = p_.buffer(buffer);
    int64_t count = elements_[buffer.value], size = scalar::bytes(b.dtype);
    CODETTA_CHECK(0 <= element && element < count, "element {} of `{}`, which has {}", element, b.name, count);
    if (b.parameter) return {b.dtype, arguments_.pointers[static_cast<size_t>(parameter_index_[buffer.value])].data() + element * size};
    if (owned(b.space)) return {b.dtype, own_[buffer.value].data() + (thread * count + element) * size};
    CODETTA_CHECK(b.space == Space::smem, "`{}` holds no elements", b.name);
    int64_t byte = place_[buffer.value] + element * size;
    if (swizzle.bits) byte ^= (byte >> swizzle.shift) & (((int64_t{1} << swizzle.bits) - 1) << swizzle.base);
    CODETTA_CHECK(byte + size <= static_cast<int64_t>(smem_.size()), "the swizzle of `{}` leads outside shared memory", b.name);
    return {b.dtype, smem_.data() + byte, byte};
}

Cell Machine::cell(const CompiledView& v, Warp& w, int lane, int64_t relative) {
    return cell(v.buffer, thread_of(w, lane), v.offset.run(slots(w, lane)) + relative, v.swizzle);
}

scalar::Scalar Machine::load(const Cell& c, Warp&) { return scalar::load_element(c.dtype, c.at); }

void Machine::store(const Cell& c, Warp& w, const scalar::Scalar& value) {
    scalar::store_element(c.dtype, c.at, value);
    if (c.smem_byte >= 0)
        for (int64_t i = 0; i < scalar::bytes(c.dtype); ++i)
            unfenced_[static_cast<size_t>(c.smem_byte + i)] = static_cast<uint8_t>(w.index + 1);
}

void Machine::poison(BufferId buffer, int thread) {
    const Buffer& b = p_.buffer(buffer);
    if (b.space != Space::rmem && b.space != Space::tmm) return;
    auto bytes = static_cast<size_t>(elements_[buffer.value] * scalar::bytes(b.dtype));
    std::memset(own_[buffer.value].data() + static_cast<size_t>(thread) * bytes, 0xff, bytes);
}

void Machine::check_settled(BufferId buffer, int thread) const {
    if (p_.buffer(buffer).space != Space::rmem) return;
    CODETTA_CHECK(in_flight_[buffer.value][static_cast<size_t>(thread)] == 0, "`{}` is touched while an asynchronous mma still writes it",
                  p_.buffer(buffer).name);
}

scalar::HostArray Machine::tensor(BufferId map) const { return maps_[static_cast<size_t>(parameter_index_[map.value])].tensor; }

} // namespace codetta::tile::interpreter
