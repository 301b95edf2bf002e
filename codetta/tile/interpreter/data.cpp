#include "codetta/base/error.h"
#include "codetta/tile/interpreter/machine.h"
#include "codetta/tile/view.h"

namespace codetta::tile::interpreter {

using scalar::Scalar;

void Machine::fill(Warp& w, const Step& s) {
    const Fill& f = std::get<Fill>(s.statement->node);
    const CompiledView& v = s.views[0];
    scalar::DType t = p_.buffer(v.buffer).dtype;
    Scalar value = scalar::is_float(t) ? scalar::make_float(t, f.value) : scalar::make_integer(t, static_cast<int64_t>(f.value));
    std::vector<int64_t> room;
    each_lane(w, [&](int lane) {
        check_settled(v.buffer, thread_of(w, lane));
        for (int64_t o : v.offsets(slots(w, lane), room)) store(cell(v, w, lane, o), w, value);
    });
}

void Machine::copy(Warp& w, const Step& s) {
    if (p_.buffer(s.views[0].buffer).space == Space::tensormap) return each_lane(w, [&](int lane) { tma_load(w, s, lane); });
    if (p_.buffer(s.views[1].buffer).space == Space::tensormap) return each_lane(w, [&](int lane) { tma_store(w, s, lane); });
    if (s.atom && (s.atom->a.threads() > 1 || s.atom->d.threads() > 1)) return copy_collective(w, s);
    each_lane(w, [&](int lane) { copy_lane(w, s, lane); });
}

void Machine::copy_lane(Warp& w, const Step& s, int lane) {
    const CompiledView &from = s.views[0], &to = s.views[1];
    CODETTA_CHECK(from.size == to.size, "{} elements are copied to {}", from.size, to.size);
    int thread = thread_of(w, lane);
    check_settled(from.buffer, thread);
    check_settled(to.buffer, thread);
    const int64_t* at = slots(w, lane);
    std::vector<int64_t> room_from, room_to;
    const auto &source = from.offsets(at, room_from), &destination = to.offsets(at, room_to);
    std::vector<bool> inside(source.size(), true);
    for (const auto& [coordinate, limit] : s.limits) {
        CODETTA_CHECK(coordinate.size == from.size, "a limit speaks of {} elements, the copy of {}", coordinate.size, from.size);
        std::vector<int64_t> room;
        const auto& places = coordinate.offsets(at, room);
        int64_t end = limit.run(at);
        for (size_t i = 0; i < inside.size(); ++i) inside[i] = inside[i] && places[i] < end;
    }
    const Copy& c = std::get<Copy>(s.statement->node);
    const Buffer& target = p_.buffer(to.buffer);
    bool fills = !s.limits.empty() && (target.space == Space::rmem || target.space == Space::tmm || target.space == Space::scratch);
    Scalar outside = scalar::is_float(target.dtype) ? scalar::make_float(target.dtype, c.fill)
                                                    : scalar::make_integer(target.dtype, static_cast<int64_t>(c.fill));
    // All loads before all stores, as the machine does with registers between.
    std::vector<Scalar> values(source.size(), outside);
    for (size_t i = 0; i < source.size(); ++i)
        if (inside[i]) values[i] = load(cell(from, w, lane, source[i]), w);
    for (size_t i = 0; i < source.size(); ++i)
        if (inside[i] || fills) store(cell(to, w, lane, destination[i]), w, values[i]);
}

void Machine::copy_collective(Warp& w, const Step& s) {
    const CompiledView &from = s.views[0], &to = s.views[1];
    bool registers_first = s.atom->a.threads() > 1;
    const Fragment& fragment = registers_first ? s.atom->a : s.atom->d;
    const CompiledView &own = registers_first ? from : to, &whole = registers_first ? to : from;
    CODETTA_CHECK(fragment.threads() == lanes_ && w.active == ~0u, "{} needs a whole warp", s.atom->name);
    CODETTA_CHECK(s.limits.empty(), "{} knows no limits", s.atom->name);
    auto table = [&](size_t mode) {
        layout::Layout l = fragment.thread_value.mode(mode);
        std::vector<int64_t> out;
        for (const sym::Expr& e : offsets(l)) out.push_back(sym::evaluate(e, {}));
        return out;
    };
    std::vector<int64_t> threads = table(0), values = table(1);
    CODETTA_CHECK(static_cast<int64_t>(values.size()) == own.size && own.size * lanes_ == whole.size,
                  "{}: {} values a thread, {} in the tile", s.atom->name, own.size, whole.size);
    std::vector<int64_t> room_own, room_whole;
    each_lane(w, [&](int lane) {
        check_settled(own.buffer, thread_of(w, lane));
        const auto& mine = own.offsets(slots(w, lane), room_own);
        const auto& all = whole.offsets(slots(w, lane), room_whole);
        for (size_t v = 0; v < values.size(); ++v) {
            Cell registers = cell(own, w, lane, mine[v]);
            Cell memory = cell(whole, w, lane, all[static_cast<size_t>(threads[static_cast<size_t>(lane)] + values[v])]);
            if (registers_first)
                store(memory, w, load(registers, w));
            else
                store(registers, w, load(memory, w));
        }
    });
}

void Machine::map(Warp& w, const Step& s) {
    const Map& m = std::get<Map>(s.statement->node);
    size_t results = m.destinations.size();
    int64_t size = s.views[0].size;
    const std::vector<int64_t>& extents = s.views[0].mode_extents;
    std::map<std::string, uint32_t, std::less<>> const& names = steps_.slots.all();
    std::vector<int64_t> coordinate_slots;
    for (size_t i = 0; i < extents.size(); ++i) {
        auto found = names.find("c" + std::to_string(i));
        coordinate_slots.push_back(found == names.end() ? -1 : static_cast<int64_t>(found->second));
    }
    std::vector<std::vector<int64_t>> rooms(s.views.size());
    std::vector<const std::vector<int64_t>*> places(s.views.size());
    std::vector<Scalar> arguments(m.arguments.size());
    each_lane(w, [&](int lane) {
        int64_t* at = slots(w, lane);
        for (size_t i = 0; i < s.views.size(); ++i) {
            CODETTA_CHECK(s.views[i].size == size, "a map over {} elements has a view of {}", size, s.views[i].size);
            check_settled(s.views[i].buffer, thread_of(w, lane));
            places[i] = &s.views[i].offsets(at, rooms[i]);
        }
        for (int64_t e = 0; e < size; ++e) {
            int64_t rest = e;
            for (size_t i = 0; i < extents.size(); ++i) {
                if (coordinate_slots[i] >= 0) at[coordinate_slots[i]] = rest % extents[i];
                rest /= extents[i];
            }
            size_t view = results, code = 0;
            for (size_t i = 0; i < arguments.size(); ++i) {
                if (std::holds_alternative<View>(m.arguments[i])) {
                    arguments[i] = load(cell(s.views[view], w, lane, (*places[view])[static_cast<size_t>(e)]), w);
                    ++view;
                } else {
                    arguments[i] = scalar::make_integer(s.parameter_types[i], s.codes[code++].run(at));
                }
            }
            auto values = s.evaluator->run(arguments);
            for (size_t i = 0; i < results; ++i) store(cell(s.views[i], w, lane, (*places[i])[static_cast<size_t>(e)]), w, values[i]);
        }
    });
}

void Machine::reduce(Warp& w, const Step& s) {
    const Reduce& r = std::get<Reduce>(s.statement->node);
    size_t states = r.destinations.size();
    std::vector<std::vector<int64_t>> rooms(s.views.size());
    std::vector<const std::vector<int64_t>*> places(s.views.size());
    std::vector<Scalar> arguments(2 * states);
    each_lane(w, [&](int lane) {
        for (size_t i = 0; i < s.views.size(); ++i) {
            check_settled(s.views[i].buffer, thread_of(w, lane));
            CODETTA_CHECK(s.views[i].size == s.views[0].size, "a reduction over {} elements has a view of {}", s.views[0].size,
                          s.views[i].size);
            places[i] = &s.views[i].offsets(slots(w, lane), rooms[i]);
        }
        for (size_t e = 0; e < places[0]->size(); ++e) {
            for (size_t i = 0; i < 2 * states; ++i) arguments[i] = load(cell(s.views[i], w, lane, (*places[i])[e]), w);
            auto values = s.evaluator->run(arguments);
            for (size_t i = 0; i < states; ++i) store(cell(s.views[i], w, lane, (*places[i])[e]), w, values[i]);
        }
    });
}

void Machine::shuffle(Warp& w, const Step& s) {
    const Shuffle& x = std::get<Shuffle>(s.statement->node);
    const CompiledView &from = s.views[0], &to = s.views[1];
    CODETTA_CHECK(w.active == ~0u && lanes_ == 32, "a shuffle needs a whole warp");
    std::vector<std::vector<Scalar>> values(32);
    std::vector<int64_t> room;
    each_lane(w, [&](int lane) {
        for (int64_t o : from.offsets(slots(w, lane), room)) values[static_cast<size_t>(lane)].push_back(load(cell(from, w, lane, o), w));
    });
    each_lane(w, [&](int lane) {
        size_t i = 0;
        for (int64_t o : to.offsets(slots(w, lane), room))
            store(cell(to, w, lane, o), w, values[static_cast<size_t>(lane ^ x.xor_mask)][i++]);
    });
}

void Machine::atomic(Warp& w, const Step& s) {
    const CompiledView &from = s.views[0], &to = s.views[1];
    std::vector<int64_t> room_from, room_to;
    scalar::Op add;
    add.prim = scalar::Prim::add;
    add.dtype = p_.buffer(to.buffer).dtype;
    each_lane(w, [&](int lane) {
        const auto &source = from.offsets(slots(w, lane), room_from), &destination = to.offsets(slots(w, lane), room_to);
        for (size_t i = 0; i < source.size(); ++i) {
            Cell target = cell(to, w, lane, destination[i]);
            Scalar values[2] = {load(target, w), load(cell(from, w, lane, source[i]), w)};
            store(target, w, scalar::apply(add, values));
        }
    });
}

} // namespace codetta::tile::interpreter
