#include <bit>

#include "codetta/base/error.h"
#include "codetta/tile/interpreter/machine.h"
#include "codetta/tile/words.h"

namespace codetta::tile::interpreter {

Machine::Machine(const Steps& steps, const Arguments& arguments, std::span<const TensorMap> maps, Completion completion)
    : steps_(steps), p_(*steps.program), arguments_(arguments), maps_(maps), late_(completion == Completion::late) {
    size_t pointers = 0, tensormaps = 0;
    for (const Buffer& b : p_.buffers) {
        bool map = b.space == Space::tensormap;
        parameter_index_.push_back(!b.parameter ? -1 : static_cast<int64_t>(map ? tensormaps++ : pointers++));
    }
    CODETTA_CHECK(pointers == arguments.pointers.size(), "{} has {} pointers, {} are given", p_.name, pointers, arguments.pointers.size());
    CODETTA_CHECK(tensormaps == maps.size(), "{} has {} tensor maps, {} are given", p_.name, tensormaps, maps.size());
    CODETTA_CHECK(p_.integers.size() == arguments.integers.size(), "{} has {} integers, {} are given", p_.name, p_.integers.size(),
                  arguments.integers.size());
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
        const Buffer& b = p_.buffers[i];
        if (!b.parameter) continue;
        auto index = static_cast<size_t>(parameter_index_[i]);
        scalar::DType given = b.space == Space::tensormap ? maps[index].tensor.dtype() : arguments.pointers[index].dtype();
        CODETTA_CHECK(given == b.dtype, "argument {} is {}, the kernel wants {}", b.name, scalar::to_string(given),
                      scalar::to_string(b.dtype));
    }
}

int32_t Machine::run() {
    std::vector<int64_t> bound(steps_.slots.size(), 0);
    const auto& names = steps_.slots.all();
    bound[names.at("sms")] = arguments_.sms;
    for (size_t i = 0; i < p_.integers.size(); ++i) bound[names.at(p_.integers[i])] = arguments_.integers[i];
    std::vector<int64_t> extents;
    int64_t count = 1;
    for (const Code& c : steps_.frame) {
        extents.push_back(c.run(bound.data()));
        count *= std::max<int64_t>(extents.back(), 0);
    }
    if (const Grid* grid = std::get_if<Grid>(&p_.frame)) {
        lanes_ = 32;
        threads_ = grid->threads;
        for (int64_t cta = 0; cta < count; ++cta) run_cta(cta, count);
        return status_;
    }
    for (int64_t task = 0; task < count; ++task) {
        std::vector<int64_t> indices(extents.size());
        int64_t rest = task;
        for (size_t i = extents.size(); i-- > 0;) {
            indices[i] = rest % extents[i];
            rest /= extents[i];
        }
        run_task(indices);
    }
    return status_;
}

void Machine::start_warp(Warp& w, int lanes, uint32_t mask) {
    w.active = mask;
    w.slots.assign(steps_.slots.size() * static_cast<size_t>(lanes), 0);
    const auto& names = steps_.slots.all();
    for (int lane = 0; lane < lanes; ++lane)
        for (size_t i = 0; i < p_.integers.size(); ++i) slots(w, lane)[names.at(p_.integers[i])] = arguments_.integers[i];
    w.mma.emplace_back();
}

void Machine::run_task(const std::vector<int64_t>& indices) {
    allocate(1);
    Warp w;
    start_warp(w, 1, 1);
    const auto& frame = std::get<0>(p_.frame);
    for (size_t i = 0; i < frame.size(); ++i) slots(w, 0)[steps_.slots.all().at(frame[i].name)] = indices[i];
    while (!w.done)
        if (!advance(w)) deadlock({w});
}

void Machine::run_cta(int64_t cta, int64_t ctas) {
    allocate(threads_);
    barriers_.clear();
    named_.clear();
    std::vector<Warp> warps(static_cast<size_t>(threads_ / 32));
    const auto& names = steps_.slots.all();
    for (size_t i = 0; i < warps.size(); ++i) {
        Warp& w = warps[i];
        w.index = static_cast<int>(i);
        start_warp(w, 32, ~0u);
        for (int lane = 0; lane < 32; ++lane) {
            int64_t* s = slots(w, lane);
            s[names.at("cta")] = cta;
            s[names.at("ctas")] = ctas;
            s[names.at("sms")] = arguments_.sms;
            s[names.at("thread")] = thread_of(w, lane);
            s[names.at("warp")] = w.index;
            s[names.at("warpgroup")] = w.index / 4;
            s[names.at("lane")] = lane;
        }
    }
    for (bool all_done = false; !all_done;) {
        bool moved = false;
        all_done = true;
        for (Warp& w : warps) {
            if (w.done) continue;
            moved = advance(w) || moved;
            all_done = all_done && w.done;
        }
        if (!moved && !all_done) deadlock(warps);
    }
    for (const Warp& w : warps) check_finished(w);
}

void Machine::deadlock(const std::vector<Warp>& warps) const {
    std::string who;
    for (const Warp& w : warps)
        if (!w.done) who += fmt::format("\n  warp {}{}: {}", w.index, w.role.empty() ? "" : " (" + w.role + ")", w.waits_for);
    throw base::InternalError(fmt::format("kernel {}: every warp waits{}", p_.name, who));
}

bool Machine::advance(Warp& w) {
    bool moved = false;
    while (w.pc < steps_.steps.size()) {
        const Step& s = steps_.steps[w.pc];
        Outcome outcome;
        try {
            outcome = execute(w, s);
        } catch (const base::InternalError& error) {
            if (error.message().starts_with("kernel ")) throw;
            throw base::InternalError(fmt::format("kernel {}, statement `{}`: {}", p_.name, to_string(p_, *s.statement), error.message()));
        }
        if (outcome == Outcome::blocked) return moved;
        moved = true;
        if (outcome == Outcome::next) ++w.pc;
    }
    w.done = true;
    return true;
}

bool Machine::holds(const std::vector<Test>& tests, const int64_t* slots) const {
    for (const Test& t : tests)
        if (!t.run(slots)) return false;
    return true;
}

Machine::Outcome Machine::control(Warp& w, const Step& s) {
    auto jump = [&](size_t target) {
        w.pc = target;
        return Outcome::jumped;
    };
    int first = w.active ? std::countr_zero(w.active) : 0;
    switch (s.kind) {
    case StepKind::assign:
        each_lane(w, [&](int lane) {
            int64_t* at = slots(w, lane);
            int64_t value = s.codes[0].run(at);
            if (s.checked) CODETTA_CHECK(s.codes[1].run(at) <= value && value < s.codes[2].run(at), "{} is outside its range", value);
            at[s.slot] = value;
        });
        return Outcome::next;
    case StepKind::loop_begin:
        each_lane(w, [&](int lane) {
            int64_t* at = slots(w, lane);
            int64_t lo = s.codes[0].run(at), hi = s.codes[1].run(at), step = s.codes[2].run(at);
            CODETTA_CHECK(step > 0, "a loop's step is {}", step);
            at[s.slot] = lo;
            at[s.slot_hi] = hi;
            at[s.slot_step] = step;
        });
        return Outcome::next;
    case StepKind::loop_test: {
        const int64_t* lead = slots(w, first);
        bool go = w.active && lead[s.slot] < lead[s.slot_hi];
        each_lane(w, [&](int lane) {
            const int64_t* at = slots(w, lane);
            CODETTA_CHECK((at[s.slot] < at[s.slot_hi]) == go, "the lanes of a warp do not agree on the loop's end");
        });
        return go ? Outcome::next : jump(s.target);
    }
    case StepKind::loop_next: each_lane(w, [&](int lane) { slots(w, lane)[s.slot] += slots(w, lane)[s.slot_step]; }); return jump(s.target);
    case StepKind::if_begin: {
        uint32_t yes = 0;
        each_lane(w, [&](int lane) {
            if (holds(s.tests, slots(w, lane))) yes |= 1u << lane;
        });
        w.masks.push_back({w.active, w.active & ~yes});
        w.active = yes;
        return yes ? Outcome::next : jump(s.target);
    }
    case StepKind::if_else: w.active = w.masks.back().other & ~w.dead; return w.active ? Outcome::next : jump(s.target);
    case StepKind::if_end:
    case StepKind::elect_end:
        w.active = w.masks.back().active & ~w.dead;
        w.masks.pop_back();
        return Outcome::next;
    case StepKind::elect_begin:
        w.masks.push_back({w.active, 0});
        w.active = w.active & -w.active;
        return Outcome::next;
    case StepKind::role: {
        const Role& r = std::get<Role>(s.statement->node);
        bool mine = r.warp_lo <= w.index && w.index < r.warp_hi;
        w.role = mine ? r.name : "";
        return mine ? Outcome::next : jump(s.target);
    }
    case StepKind::statement: break;
    }
    return Outcome::next;
}

Machine::Outcome Machine::execute(Warp& w, const Step& s) {
    if (s.kind != StepKind::statement) return control(w, s);
    if (!w.active) return Outcome::next;
    bool go = true;
    std::visit(Overloaded{
                   [&](const LoadIndex&) {
                       each_lane(w, [&](int lane) { slots(w, lane)[s.slot] = scalar::as_integer(load(cell(s.views[0], w, lane, 0), w)); });
                   },
                   [&](const CheckIndex& c) {
                       each_lane(w, [&](int lane) {
                           int64_t* at = slots(w, lane);
                           int64_t value = s.codes[0].run(at);
                           if (s.codes[1].run(at) <= value && value < s.codes[2].run(at)) return;
                           status_ = c.code;
                           w.dead |= 1u << lane;
                       });
                       w.active &= ~w.dead;
                       if (w.active == 0 && w.masks.empty()) w.pc = steps_.steps.size(), w.done = true;
                   },
                   [&](const Alloc& a) { each_lane(w, [&](int lane) { poison(a.buffer, thread_of(w, lane)); }); },
                   [&](const Fill&) { fill(w, s); },
                   [&](const Copy&) { copy(w, s); },
                   [&](const Map&) { map(w, s); },
                   [&](const Reduce&) { reduce(w, s); },
                   [&](const Shuffle&) { shuffle(w, s); },
                   [&](const Atomic&) { atomic(w, s); },
                   [&](const Mma&) { mma(w, s); },
                   [&](const Commit&) { commit(w, s); },
                   [&](const WaitGroup&) { wait_group(w, s); },
                   [&](const BarrierInit& b) {
                       each_lane(w, [&](int lane) {
                           Barrier& bar = barrier(w, s.views[0], lane);
                           bar = Barrier{};
                           bar.expected = bar.pending = b.arrivals;
                           bar.initialised = true;
                       });
                   },
                   [&](const BarrierExpect& b) {
                       each_lane(w, [&](int lane) {
                           Barrier& bar = barrier(w, s.views[0], lane);
                           bar.bytes += b.bytes;
                           arrive(bar);
                       });
                   },
                   [&](const BarrierArrive& b) {
                       CODETTA_CHECK(!b.cluster_rank, "the interpreter runs no clusters");
                       each_lane(w, [&](int lane) {
                           if (holds(s.tests, slots(w, lane))) arrive(barrier(w, s.views[0], lane));
                       });
                   },
                   [&](const BarrierWait&) { go = wait_barrier(w, s); },
                   [&](const Sync&) { go = sync(w, s); },
                   [&](const Fence&) { fence(w, s); },
                   [](const auto&) {},
               },
               s.statement->node);
    if (!go) return Outcome::blocked;
    return w.done ? Outcome::jumped : Outcome::next;
}

} // namespace codetta::tile::interpreter
