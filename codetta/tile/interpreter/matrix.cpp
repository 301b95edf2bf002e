#include <memory>

#include "codetta/base/error.h"
#include "codetta/tile/interpreter/machine.h"
#include "codetta/tile/view.h"

namespace codetta::tile::interpreter {

namespace {

std::vector<int64_t> static_offsets(const layout::Layout& l) {
    std::vector<int64_t> out;
    for (const sym::Expr& e : offsets(l)) out.push_back(sym::evaluate(e, {}));
    return out;
}

scalar::Scalar number(scalar::DType t, double v) {
    return scalar::is_float(t) ? scalar::make_float(t, v) : scalar::make_integer(t, static_cast<int64_t>(v));
}

} // namespace

void Machine::mma(Warp& w, const Step& s) {
    const Mma& m = std::get<Mma>(s.statement->node);
    bool accumulate = m.accumulate && holds(s.tests, slots(w, 0));
    if (s.atom->d.threads() > 1) return mma_collective(w, s, accumulate);
    CODETTA_CHECK(!m.asynchronous, "{} is not asynchronous", m.atom);
    each_lane(w, [&](int lane) { mma_lane(w, s, lane, accumulate); });
}

std::vector<double> Machine::gather(Warp& w, const CompiledView& v, int lane) {
    std::vector<int64_t> room;
    std::vector<double> out;
    for (int64_t o : v.offsets(slots(w, lane), room)) out.push_back(scalar::as_double(load(cell(v, w, lane, o), w)));
    return out;
}

void Machine::mma_lane(Warp& w, const Step& s, int lane, bool accumulate) {
    const CompiledView &d = s.views[0], &a = s.views[1], &b = s.views[2];
    CODETTA_CHECK(d.mode_extents.size() == 2 && a.mode_extents.size() == 2 && b.mode_extents.size() == 2,
                  "mma wants views d (m, n), a (m, k), b (n, k)");
    auto rows = static_cast<size_t>(d.mode_extents[0]), columns = static_cast<size_t>(d.mode_extents[1]),
         depth = static_cast<size_t>(a.mode_extents[1]);
    CODETTA_CHECK(a.mode_extents[0] == d.mode_extents[0] && b.mode_extents[0] == d.mode_extents[1] &&
                      b.mode_extents[1] == a.mode_extents[1],
                  "the shapes of d, a and b do not fit");
    std::vector<double> left = gather(w, a, lane), right = gather(w, b, lane);
    std::vector<int64_t> room;
    const auto& places = d.offsets(slots(w, lane), room);
    scalar::DType t = p_.buffer(d.buffer).dtype;
    for (size_t j = 0; j < columns; ++j)
        for (size_t i = 0; i < rows; ++i) {
            Cell c = cell(d, w, lane, places[i + rows * j]);
            double sum = accumulate ? scalar::as_double(load(c, w)) : 0;
            for (size_t k = 0; k < depth; ++k) sum += left[i + rows * k] * right[j + columns * k];
            store(c, w, number(t, sum));
        }
}

// The whole a or b tile of a collective atom as seen by this warp; rows in other warps' registers stay NaN.
std::vector<double> Machine::gather_tile(Warp& w, const CompiledView& v, const Fragment& f, const std::vector<int64_t>& bases,
                                         bool asynchronous) {
    auto size = static_cast<size_t>(f.shape[0] * f.shape[1]);
    std::vector<double> out(size, std::numeric_limits<double>::quiet_NaN());
    std::vector<int64_t> room;
    const auto& places = v.offsets(slots(w, 0), room);
    if (p_.buffer(v.buffer).space == Space::rmem) {
        std::vector<int64_t> threads = static_offsets(f.thread_value.mode(0)), values = static_offsets(f.thread_value.mode(1));
        CODETTA_CHECK(places.size() == values.size(), "a fragment of {} values has {}", values.size(), places.size());
        for (int lane = 0; lane < lanes_; ++lane) {
            auto t = static_cast<size_t>(thread_of(w, lane) % static_cast<int>(threads.size()));
            for (size_t i = 0; i < values.size(); ++i)
                out[static_cast<size_t>(threads[t] + values[i])] =
                    scalar::as_double(load(cell(v.buffer, thread_of(w, lane), bases[static_cast<size_t>(lane)] + places[i], v.swizzle), w));
        }
        return out;
    }
    CODETTA_CHECK(places.size() == size, "a tile of {} elements has {}", size, places.size());
    for (size_t i = 0; i < size; ++i) {
        Cell c = cell(v.buffer, 0, bases[0] + places[i], v.swizzle);
        if (asynchronous && c.smem_byte >= 0)
            CODETTA_CHECK(unfenced_[static_cast<size_t>(c.smem_byte)] == 0,
                          "shared memory written by warp {} is read without `fence async_proxy`",
                          unfenced_[static_cast<size_t>(c.smem_byte)] - 1);
        out[i] = scalar::as_double(load(c, w));
    }
    return out;
}

void Machine::mma_collective(Warp& w, const Step& s, bool accumulate) {
    const Mma& m = std::get<Mma>(s.statement->node);
    const Atom& atom = *s.atom;
    const CompiledView &d = s.views[0], &a = s.views[1], &b = s.views[2];
    CODETTA_CHECK(w.active == ~0u, "{} needs whole warps", atom.name);
    std::vector<int64_t> threads = static_offsets(atom.d.thread_value.mode(0)), values = static_offsets(atom.d.thread_value.mode(1));
    CODETTA_CHECK(d.size == static_cast<int64_t>(values.size()), "{} has {} accumulators a thread, d has {}", atom.name, values.size(),
                  d.size);
    std::vector<int64_t> base_a, base_b, base_d;
    each_lane(w, [&](int lane) {
        const int64_t* at = slots(w, lane);
        base_a.push_back(a.offset.run(at));
        base_b.push_back(b.offset.run(at));
        base_d.push_back(d.offset.run(at));
    });
    auto multiply = [this, &w, &atom, &d, &a, &b, accumulate, base_a, base_b, base_d, threads, values] {
        auto rows = static_cast<size_t>(atom.d.shape[0]), columns = static_cast<size_t>(atom.d.shape[1]),
             depth = static_cast<size_t>(atom.a.shape[1]);
        std::vector<double> left = gather_tile(w, a, atom.a, base_a, atom.asynchronous),
                            right = gather_tile(w, b, atom.b, base_b, atom.asynchronous);
        std::vector<int64_t> room;
        const auto& places = d.offsets(slots(w, 0), room);
        scalar::DType t = p_.buffer(d.buffer).dtype;
        for (int lane = 0; lane < lanes_; ++lane) {
            int64_t thread = threads[static_cast<size_t>(thread_of(w, lane)) % threads.size()];
            for (size_t v = 0; v < values.size(); ++v) {
                auto place = static_cast<size_t>(thread + values[v]);
                size_t i = place % rows, j = place / rows;
                Cell c = cell(d.buffer, thread_of(w, lane), base_d[static_cast<size_t>(lane)] + places[v], d.swizzle);
                double sum = accumulate ? scalar::as_double(load(c, w)) : 0;
                for (size_t k = 0; k < depth; ++k) sum += left[i + rows * k] * right[j + columns * k];
                store(c, w, number(t, sum));
            }
        }
    };
    if (!m.asynchronous) return multiply();
    CODETTA_CHECK(atom.asynchronous, "{} is not asynchronous", atom.name);
    Operation op;
    for (int lane = 0; lane < lanes_; ++lane) {
        int thread = thread_of(w, lane);
        op.in_flight.emplace_back(d.buffer, thread);
        uint16_t& state = in_flight_[d.buffer.value][static_cast<size_t>(thread)];
        state = static_cast<uint16_t>((state + 1) | kUnready);
    }
    if (late_)
        op.complete = multiply;
    else
        multiply();
    w.mma.back().push_back(std::move(op));
}

} // namespace codetta::tile::interpreter
