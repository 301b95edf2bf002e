// The interpreter's machine: memory, warps, barriers. One CTA (or one CPU task) at a time.
//
// A warp is 32 lanes (a CPU task: one) with one program counter and a mask of active lanes; it runs until it must wait. Asynchronous
// operations take effect at their issue (early) or when somebody waits for them (late), and in between their accumulators may not be
// touched.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "codetta/tile/interpret.h"
#include "codetta/tile/interpreter/steps.h"

namespace codetta::tile::interpreter {

struct Cell { // one element of a buffer
    scalar::DType dtype;
    std::byte* at;
    int64_t smem_byte = -1; // its place in shared memory, swizzle applied
};

struct Operation { // asynchronous, not yet complete
    std::function<void()> complete;
    std::vector<std::pair<BufferId, int>> in_flight; // accumulators: buffer and thread
};

struct Warp {
    int index = 0;
    uint32_t active = 0, dead = 0;
    size_t pc = 0;
    bool done = false;
    std::string role, waits_for; // the latter: why it stands
    std::vector<int64_t> slots;  // [lane][slot]
    struct Saved {
        uint32_t active, other;
    };
    std::vector<Saved> masks;
    std::deque<std::vector<Operation>> mma;                 // committed groups, the last one open
    std::map<int, std::deque<std::vector<Operation>>> bulk; // per lane
    int64_t sync_generation = -1;                           // of the named barrier it arrived at
};

struct Barrier {
    int64_t expected = 0, pending = 0, bytes = 0, phases = 0;
    bool initialised = false;
    std::deque<std::function<void()>> copies; // late completion: in order of issue
};

struct NamedBarrier {
    int64_t arrived = 0, generation = 0;
};

inline constexpr uint16_t kUnready =
    0x8000; // an accumulator that no wait has given back yet, whatever the number of operations (the lower bits)

class Machine {
public:
    Machine(const Steps& steps, const Arguments& arguments, std::span<const TensorMap> maps, Completion completion);
    int32_t run();

private:
    enum class Outcome : uint8_t { next, jumped, blocked };

    // control.cpp
    void run_task(const std::vector<int64_t>& indices);
    void run_cta(int64_t cta, int64_t ctas);
    void start_warp(Warp& w, int lanes, uint32_t mask);
    bool advance(Warp& w); // false when it could not move at all
    Outcome execute(Warp& w, const Step& s);
    Outcome control(Warp& w, const Step& s);
    [[noreturn]] void deadlock(const std::vector<Warp>& warps) const;
    int64_t* slots(Warp& w, int lane) { return w.slots.data() + static_cast<size_t>(lane) * steps_.slots.size(); }
    template <class F>
    void each_lane(Warp& w, F&& f);
    bool holds(const std::vector<Test>& tests, const int64_t* slots) const;
    int thread_of(const Warp& w, int lane) const { return w.index * lanes_ + lane; }

    // memory.cpp
    void allocate(int threads);
    Cell cell(BufferId buffer, int thread, int64_t element, const SwizzleBits& swizzle);
    Cell cell(const CompiledView& v, Warp& w, int lane, int64_t relative);
    scalar::Scalar load(const Cell& c, Warp& w);
    void store(const Cell& c, Warp& w, const scalar::Scalar& value);
    void poison(BufferId buffer, int thread);
    void check_settled(BufferId buffer, int thread) const;
    scalar::HostArray tensor(BufferId map) const;

    // data.cpp
    void fill(Warp& w, const Step& s);
    void copy(Warp& w, const Step& s);
    void copy_lane(Warp& w, const Step& s, int lane);
    void copy_collective(Warp& w, const Step& s);
    void map(Warp& w, const Step& s);
    void reduce(Warp& w, const Step& s);
    void shuffle(Warp& w, const Step& s);
    void atomic(Warp& w, const Step& s);
    void mma(Warp& w, const Step& s);
    void mma_lane(Warp& w, const Step& s, int lane, bool accumulate);
    void mma_collective(Warp& w, const Step& s, bool accumulate);
    std::vector<double> gather(Warp& w, const CompiledView& v, int lane);
    std::vector<double> gather_tile(Warp& w, const CompiledView& v, const Fragment& f, const std::vector<int64_t>& bases,
                                    bool asynchronous);

    // asynchronous.cpp
    void tma_load(Warp& w, const Step& s, int lane);
    void tma_store(Warp& w, const Step& s, int lane);
    void commit(Warp& w, const Step& s);
    void wait_group(Warp& w, const Step& s);
    void finish(Warp& w, std::vector<Operation>& group);
    Barrier& barrier(Warp& w, const CompiledView& v, int lane);
    void arrive(Barrier& b);
    void complete_phase(Barrier& b);
    bool wait_barrier(Warp& w, const Step& s);
    bool sync(Warp& w, const Step& s);
    void fence(Warp& w, const Step& s);
    void check_finished(const Warp& w) const;

    const Steps& steps_;
    const Program& p_;
    const Arguments& arguments_;
    std::span<const TensorMap> maps_;
    bool late_;
    int lanes_ = 1, threads_ = 1;
    int32_t status_ = 0;
    std::vector<int64_t> parameter_index_;    // of a buffer: among the pointers, or among the maps
    std::vector<std::vector<std::byte>> own_; // rmem, tmm, scratch: [buffer], thread after thread
    std::vector<int64_t> elements_;           // of a buffer
    std::vector<int64_t> place_;              // smem, barrier: first byte
    std::vector<std::byte> smem_;
    std::vector<uint8_t> unfenced_;                // per byte of smem: 1 + the warp whose plain store no async-proxy fence follows yet
    std::vector<std::vector<uint16_t>> in_flight_; // rmem: [buffer][thread], how many operations write it
    std::map<int64_t, Barrier> barriers_;          // by byte
    std::map<int64_t, NamedBarrier> named_;
};

template <class F>
void Machine::each_lane(Warp& w, F&& f) {
    for (int lane = 0; lane < lanes_; ++lane)
        if (w.active >> lane & 1) f(lane);
}

} // namespace codetta::tile::interpreter
