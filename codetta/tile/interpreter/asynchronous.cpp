#include "codetta/base/error.h"
#include "codetta/tile/interpreter/machine.h"
#include "codetta/tile/view.h"
#include "codetta/tile/words.h"

namespace codetta::tile::interpreter {

namespace {

// Calls f(box coordinates outermost first, element number in the box) for each element of a box, the innermost coordinate fastest.
template <class F>
void each_in_box(const std::vector<int64_t>& box, F&& f) {
    std::vector<int64_t> at(box.size(), 0);
    int64_t count = 1;
    for (int64_t e : box) count *= e;
    for (int64_t i = 0; i < count; ++i) {
        f(at, i);
        for (size_t d = box.size(); d-- > 0;) {
            if (++at[d] < box[d]) break;
            at[d] = 0;
        }
    }
}

bool inside(const std::vector<int64_t>& at, const std::vector<int64_t>& extents) {
    for (size_t i = 0; i < at.size(); ++i)
        if (at[i] < 0 || at[i] >= extents[i]) return false;
    return true;
}

// A box lies densely, innermost coordinate first, swizzled as the map says.
void check_box(const Buffer& map, const CompiledView& smem, const std::vector<int64_t>& offsets, int64_t first_byte) {
    CODETTA_CHECK(smem.mode_extents == map.box, "the box of `{}` and the shared memory view have different shapes", map.name);
    int bits = map.swizzle_bytes == 128 ? 3 : map.swizzle_bytes == 64 ? 2 : map.swizzle_bytes == 32 ? 1 : 0;
    CODETTA_CHECK(smem.swizzle.bits == bits && (bits == 0 || (smem.swizzle.base == 4 && smem.swizzle.shift == 3)),
                  "`{}` swizzles {} bytes, the shared memory view does not", map.name, map.swizzle_bytes);
    CODETTA_CHECK(first_byte % (bits ? 128 << bits : 128) == 0, "a box of `{}` begins at byte {} of shared memory", map.name, first_byte);
    CODETTA_CHECK(bits == 0 || map.box.back() * scalar::bytes(map.dtype) <= map.swizzle_bytes,
                  "the rows of a box of `{}` are longer than its swizzle", map.name);
    each_in_box(map.box, [&](const std::vector<int64_t>& at, int64_t i) {
        int64_t colex = 0, step = 1;
        for (size_t d = 0; d < at.size(); ++d) {
            colex += at[d] * step;
            step *= map.box[d];
        }
        CODETTA_CHECK(offsets[static_cast<size_t>(colex)] == i, "a box of `{}` is not dense in the shared memory view", map.name);
    });
}

} // namespace

void Machine::tma_load(Warp& w, const Step& s, int lane) {
    const CompiledView &from = s.views[0], &to = s.views[1];
    const Buffer& map = p_.buffer(from.buffer);
    CODETTA_CHECK(s.views.size() == 3 && s.codes.size() == map.box.size(), "a tensor map copy has a barrier and {} coordinates",
                  map.box.size());
    const int64_t* at = slots(w, lane);
    std::vector<int64_t> origin, room;
    for (const Code& c : s.codes) origin.push_back(c.run(at));
    int64_t base = to.offset.run(at), size = scalar::bytes(map.dtype);
    const auto& offsets = to.offsets(at, room);
    check_box(map, to, offsets, place_[to.buffer.value] + base * size);
    Barrier& bar = barrier(w, s.views[2], lane);
    auto transfer = [this, &to, &map, &bar, origin, base, size, source = tensor(from.buffer)] {
        int64_t count = 0;
        each_in_box(map.box, [&](std::vector<int64_t> place, int64_t i) {
            for (size_t d = 0; d < place.size(); ++d) place[d] += origin[d];
            Cell c = cell(to.buffer, 0, base + i, to.swizzle);
            scalar::Scalar zero{map.dtype, 0, 0};
            scalar::store_element(c.dtype, c.at, inside(place, source.extents()) ? source.load(place) : zero);
            for (int64_t b = 0; b < size; ++b) unfenced_[static_cast<size_t>(c.smem_byte + b)] = 0;
            ++count;
        });
        bar.bytes -= count * size;
        complete_phase(bar);
    };
    if (late_)
        bar.copies.push_back(std::move(transfer));
    else
        transfer();
}

void Machine::tma_store(Warp& w, const Step& s, int lane) {
    const CompiledView &from = s.views[0], &to = s.views[1];
    const Buffer& map = p_.buffer(to.buffer);
    CODETTA_CHECK(s.codes.size() == map.box.size(), "a tensor map copy has {} coordinates", map.box.size());
    const int64_t* at = slots(w, lane);
    std::vector<int64_t> origin, room;
    for (const Code& c : s.codes) origin.push_back(c.run(at));
    int64_t base = from.offset.run(at), size = scalar::bytes(map.dtype);
    const auto& offsets = from.offsets(at, room);
    check_box(map, from, offsets, place_[from.buffer.value] + base * size);
    for (int64_t o : offsets) {
        auto byte = static_cast<size_t>(cell(from.buffer, 0, base + o, from.swizzle).smem_byte);
        CODETTA_CHECK(unfenced_[byte] == 0, "shared memory written by warp {} is stored without `fence async_proxy`", unfenced_[byte] - 1);
    }
    auto transfer = [this, &from, &map, origin, base, target = tensor(to.buffer)] {
        each_in_box(map.box, [&](std::vector<int64_t> place, int64_t i) {
            for (size_t d = 0; d < place.size(); ++d) place[d] += origin[d];
            if (!inside(place, target.extents())) return;
            Cell c = cell(from.buffer, 0, base + i, from.swizzle);
            target.store(place, scalar::load_element(c.dtype, c.at));
        });
    };
    auto& groups = w.bulk[lane];
    if (groups.empty()) groups.emplace_back();
    Operation op;
    if (late_)
        op.complete = transfer;
    else
        transfer();
    groups.back().push_back(std::move(op));
}

void Machine::commit(Warp& w, const Step& s) {
    switch (std::get<Commit>(s.statement->node).group) {
    case Group::mma: w.mma.emplace_back(); return;
    case Group::bulk:
        each_lane(w, [&](int lane) {
            auto& groups = w.bulk[lane];
            if (groups.empty()) groups.emplace_back();
            groups.emplace_back();
        });
        return;
    case Group::copy: return; // plain asynchronous copies complete at once here
    }
}

void Machine::finish(Warp&, std::vector<Operation>& group) {
    for (Operation& op : group) {
        if (op.complete) op.complete();
        for (auto [buffer, thread] : op.in_flight) --in_flight_[buffer.value][static_cast<size_t>(thread)];
    }
}

void Machine::wait_group(Warp& w, const Step& s) {
    const WaitGroup& g = std::get<WaitGroup>(s.statement->node);
    auto drain = [&](std::deque<std::vector<Operation>>& groups) {
        while (static_cast<int64_t>(groups.size()) - 1 > g.pending) {
            finish(w, groups.front());
            groups.pop_front();
        }
    };
    if (g.group == Group::bulk) each_lane(w, [&](int lane) { drain(w.bulk[lane]); });
    if (g.group != Group::mma) return;
    drain(w.mma);
    for (const View& v : g.results)
        each_lane(w, [&](int lane) {
            uint16_t& state = in_flight_[v.buffer.value][static_cast<size_t>(thread_of(w, lane))];
            if (state == kUnready) state = 0;
        });
}

Barrier& Machine::barrier(Warp& w, const CompiledView& v, int lane) {
    int64_t element = v.offset.run(slots(w, lane));
    const Buffer& b = p_.buffer(v.buffer);
    CODETTA_CHECK(b.space == Space::barrier && 0 <= element && element < elements_[v.buffer.value], "barrier {} of `{}`, which has {}",
                  element, b.name, elements_[v.buffer.value]);
    Barrier& bar = barriers_[place_[v.buffer.value] + 8 * element];
    CODETTA_CHECK(bar.initialised || std::holds_alternative<BarrierInit>(steps_.steps[w.pc].statement->node),
                  "barrier {} of `{}` is not initialised", element, b.name);
    return bar;
}

void Machine::arrive(Barrier& b) {
    CODETTA_CHECK(b.pending > 0, "more threads arrive than the barrier expects");
    --b.pending;
    complete_phase(b);
}

void Machine::complete_phase(Barrier& b) {
    if (b.pending != 0 || b.bytes != 0) return;
    ++b.phases;
    b.pending = b.expected;
}

bool Machine::wait_barrier(Warp& w, const Step& s) {
    int lane = 0;
    while (!(w.active >> lane & 1)) ++lane;
    Barrier& bar = barrier(w, s.views[0], lane);
    int64_t parity = s.codes[0].run(slots(w, lane));
    CODETTA_CHECK(parity == 0 || parity == 1, "phase {}", parity);
    auto passed = [&] { return (bar.phases & 1) != parity; };
    while (!passed() && !bar.copies.empty()) {
        auto transfer = std::move(bar.copies.front());
        bar.copies.pop_front();
        transfer();
    }
    if (passed()) return true;
    w.waits_for = fmt::format("`{}`: element {} is in phase {}, {} of {} arrivals and {} bytes are missing", to_string(p_, *s.statement),
                              s.views[0].offset.run(slots(w, lane)), bar.phases & 1, bar.pending, bar.expected, bar.bytes);
    return false;
}

bool Machine::sync(Warp& w, const Step& s) {
    const Sync& x = std::get<Sync>(s.statement->node);
    int lane = 0;
    while (!(w.active >> lane & 1)) ++lane;
    int64_t id = s.codes[0].run(slots(w, lane)), total = x.threads ? x.threads : threads_;
    CODETTA_CHECK(0 <= id && id < 16, "named barrier {}", id);
    CODETTA_CHECK(w.active == (~0u & ~w.dead), "a named barrier needs whole warps");
    NamedBarrier& bar = named_[id];
    if (w.sync_generation >= 0) {
        if (bar.generation <= w.sync_generation) return false;
        w.sync_generation = -1;
        return true;
    }
    bar.arrived += 32;
    CODETTA_CHECK(bar.arrived <= total, "{} threads arrive at named barrier {} of {}", bar.arrived, id, total);
    if (bar.arrived == total) {
        bar.arrived = 0;
        ++bar.generation;
        return true;
    }
    if (x.arrive_only) return true;
    w.sync_generation = bar.generation;
    w.waits_for = fmt::format("`{}`: named barrier {} has {} of {} threads", to_string(p_, *s.statement), id, bar.arrived, total);
    return false;
}

void Machine::fence(Warp& w, const Step& s) {
    if (std::get<Fence>(s.statement->node).kind != FenceKind::async_proxy) return;
    for (uint8_t& writer : unfenced_)
        if (writer == w.index + 1) writer = 0;
}

void Machine::check_finished(const Warp& w) const {
    for (const auto& group : w.mma)
        CODETTA_CHECK(group.empty(), "kernel {}: warp {} ends with an mma that nobody waited for", p_.name, w.index);
    for (const auto& [lane, groups] : w.bulk)
        for (const auto& group : groups)
            CODETTA_CHECK(group.empty(), "kernel {}: warp {} ends with a bulk store that nobody waited for", p_.name, w.index);
}

} // namespace codetta::tile::interpreter
