// The kernel language: structured statements on a thread's (or core's) views of memory. Written by kernels/, read by codegen/ and by the
// interpreter here. It knows no graph, no Problem, no machine by name: what a kernel needs it `requires`.
//
// Integers are sym::Expr over named symbols: integer parameters, loop and task indices, `let` names, `var` names, indices loaded from
// memory. Each name is defined once; only a `var` may get another value (`set`): the loop-carried integers (ring-buffer stage and phase,
// the previous tile's place). Data live in buffers (a space, a dtype, an extent); statements work on Views of them. Fragment shapes (rmem,
// tmm, smem views) are static; gmem and scratch views may have symbolic strides and offsets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "codetta/base/id.h"
#include "codetta/layout/layout.h"
#include "codetta/scalar/function.h"
#include "codetta/sym/facts.h"

namespace codetta::tile {

using BufferId = base::Id<struct BufferTag>;

// gmem: the caller's memory. scratch: per-thread cache-resident memory of a CPU task (from the launch). smem, rmem: as on a GPU; rmem on a
// CPU is promoted to vector registers. tmm: AMX tile registers (one 16x64-byte tile each). barrier: mbarriers in shared memory. tensormap:
// a TMA descriptor parameter.
enum class Space : uint8_t { gmem, scratch, smem, rmem, tmm, barrier, tensormap };

struct Buffer {
    std::string name;
    Space space = Space::gmem;
    scalar::DType dtype = scalar::DType::f32;
    sym::Expr elements =
        0; // how many (rmem, tmm, smem, barrier: static; gmem: 0 = unknown to the kernel; scratch: of integer parameters only)
    int64_t align_bytes = 0;  // 0: natural
    bool parameter = false;   // gmem and tensormap only: pointers[i] of the kernel's arguments, in order
    bool written = false;     // parameter: the kernel writes it
    std::vector<int64_t> box; // tensormap: extents of the box that one copy moves, outermost first (the innermost, last, is contiguous)
    int swizzle_bytes =
        0; // tensormap: 0, 32, 64 or 128: how a box lies in shared memory (the smem views of its copies carry the same swizzle)
    bool no_alias = true; // parameter: no other parameter's written bytes overlap it
};

// buffer[offset + layout(c)], in elements. A swizzle (smem) is applied to the byte address: XOR of address bits as layout::Swizzle<bits,
// base, shift>. 128-byte swizzle of TMA and wgmma: {3, 4, 3}; 64: {2, 4, 3}; 32: {1, 4, 3}; none: bits == 0.
struct SwizzleBits {
    int bits = 0, base = 4, shift = 3;
    friend bool operator==(const SwizzleBits&, const SwizzleBits&) = default;
};
struct View {
    BufferId buffer;
    sym::Expr offset = 0;
    layout::Layout layout; // shape static in statements
    SwizzleBits swizzle;
};

struct Statement;
using Block = std::vector<Statement>;

// --- control
// ---------------------------------------------------------------------------------------------------------------------------------------------
struct For { // for index in lo..hi step s; `unroll`: bounds static, expanded with constant indices
    std::string index;
    sym::Expr lo = 0, hi, step = 1;
    bool unroll = false;
    Block body;
};
struct If {
    std::vector<sym::Condition> condition; // conjunction
    Block then, otherwise;
};
struct Let { // a name for a value that is used often; codegen computes it once, here
    std::string name;
    sym::Expr value;
};
struct Var { // a name whose value `set` may change; always within lo..hi-1 (checked by the interpreter, relied on by codegen)
    std::string name;
    sym::Expr init = 0, lo = 0, hi;
};
struct Set {
    std::string name;
    sym::Expr value;
};
struct LoadIndex { // name = the integer element that the one-element view holds (i32 or i64)
    std::string name;
    View source;
};
struct CheckIndex { // not (lo <= value < hi): status slot := code and the task is left at once
    sym::Expr value, lo, hi;
    int32_t code = 1;
};

// --- data
// ------------------------------------------------------------------------------------------------------------------------------------------------
struct Alloc { // rmem, scratch, smem, tmm or barrier; lives to the end of the block
    BufferId buffer;
};
struct Fill {
    View destination;
    double value = 0;
};
// An element with coordinate c is touched only when coordinate(c) < limit; `coordinate` has the copied view's shape (CuTe's predicate by
// identity tensor). The usual case "coordinate of top-level mode i < limit" has stride 1 in mode i (sub-modes counted on) and 0 elsewhere:
// see limit_of_mode() in view.h.
struct Limit {
    layout::Layout coordinate;
    sym::Expr limit;
};
// Element-wise copy between views of equal shape and dtype. Elements outside a limit are neither read nor written; where the destination is
// rmem, tmm or scratch they become `fill`. `atom` empty: plain loads and stores, vectorised along the mode of stride 1. A copy atom with a
// warp-collective fragment (stmatrix) has the per-thread values on its rmem side and the warp's whole tile on the other. `signal`: an
// asynchronous copy that completes on that barrier (TMA load). A TMA store is awaited by Commit and WaitGroup{bulk}.
struct Copy {
    std::string atom;
    View source, destination;
    std::vector<Limit> limits; // all of them must hold
    double fill = 0;
    std::vector<sym::Expr> coordinates; // tensormap source or destination: element coordinates of the box's first element, outermost first
                                        // (as the smem view's modes)
    std::optional<View> signal;
    bool streaming = false; // non-temporal
};
// destinations = body(arguments) for every coordinate of the (common) shape; arguments are fragments (stride 0 broadcasts) or integers: an
// Expr in which `c0`, `c1`, ... are the coordinates in the top-level modes.
struct Map {
    scalar::Function body;
    std::vector<std::variant<View, sym::Expr>> arguments;
    std::vector<View> destinations;
};
// Within one thread: destination state := combine(destination state, source state...) over all elements of the source's shape that share a
// destination element (destination: same shape with stride 0 in the reduced modes). Order and grouping are fixed by the shape alone (a
// tree), never by the machine's thread count.
struct Reduce {
    scalar::Function combine; // (state a..., state b...) -> state...
    std::vector<View> sources, destinations;
};
// Exchange between the lanes of a warp: destination := source of lane (lane XOR mask).
struct Shuffle {
    View source, destination;
    int xor_mask = 1;
};
struct Prefetch { // one cache line at the view's first element; level 1..3; of a tensormap: the descriptor
    View target;
    int level = 1;
    bool for_write = false;
};
struct Atomic { // gmem destination += source, element-wise
    View source, destination;
};

// --- matrix
// ----------------------------------------------------------------------------------------------------------------------------------------------
// d[m, n] (+)= sum over k of a[m, k] * b[n, k] by the atom; repeated over the atom-shaped tiles of the views (d (m, n), a (m, k), b (n,
// k)), k innermost. A collective atom (d's fragment has many threads: wgmma, mma.sync): d is the thread's own values in the fragment's
// order, its size the fragment's; the views of a and b are the whole tile in smem, or the thread's own values in rmem.
struct Mma {
    std::string atom;
    View d, a, b;
    bool asynchronous = false;
    bool accumulate = true;                      // false: d is overwritten
    std::optional<sym::Condition> accumulate_if; // run-time form: accumulate only when it holds, else overwrite
};

// --- asynchronous
// ----------------------------------------------------------------------------------------------------------------------------------------
enum class Group : uint8_t { mma, bulk, copy };
struct Commit {
    Group group = Group::mma;
};
struct WaitGroup {
    Group group = Group::mma;
    int pending = 0;
    bool read_only = false;
    std::vector<View> results;
}; // results: accumulators that the wait makes readable
struct BarrierInit {
    View barrier;
    int arrivals = 1;
};
struct BarrierExpect {
    View barrier;
    int64_t bytes = 0;
}; // arrive and expect that many bytes
struct BarrierArrive {
    View barrier;
    std::vector<sym::Condition> condition;
    std::optional<sym::Expr> cluster_rank;
}; // each thread for which all conditions hold
struct BarrierWait {
    View barrier;
    sym::Expr phase;
}; // until the phase of that parity (0 or 1) is complete; a fresh barrier has completed parity 1
enum class FenceKind : uint8_t { async_proxy, mma, barrier_init };
struct Fence {
    FenceKind kind = FenceKind::async_proxy;
};
struct Sync {
    sym::Expr barrier = 0;
    int threads = 0;
    bool arrive_only = false;
}; // named barrier; threads 0: the whole CTA
struct GridDependency {
    bool launch = false;
};            // programmatic dependent launch: wait, or let dependents launch
struct Role { // the warps lo..hi-1 of the CTA run the body, with that register budget (0: unchanged)
    std::string name;
    int warp_lo = 0, warp_hi = 0, registers = 0;
    Block body;
};
struct Elect { // one thread of each warp that comes here runs the body
    Block body;
};

struct Statement {
    std::variant<For, If, Let, Var, Set, LoadIndex, CheckIndex, Alloc, Fill, Copy, Map, Reduce, Shuffle, Prefetch, Atomic, Mma, Commit,
                 WaitGroup, BarrierInit, BarrierExpect, BarrierArrive, BarrierWait, Fence, Sync, GridDependency, Role, Elect>
        node;
};

// The parallel frame. tasks (CPU): the body runs once per index tuple, last index fastest; tuples are independent.
// grid (GPU): `cta`, `ctas`, `thread`, `warp`, `lane`, `warpgroup` and `cluster_rank` are predefined symbols (thread, warp, warpgroup:
// within the CTA).
struct TaskIndex {
    std::string name;
    sym::Expr extent; // of integer parameters
};
struct Grid {
    sym::Expr ctas; // of integer parameters and `sms`, the machine's number of multiprocessors
    int threads = 0, cluster = 1;
};

struct Program {
    std::string name;
    std::vector<std::string> integers; // integer parameters, in order
    sym::Facts facts;                  // of the integer parameters
    std::vector<Buffer> buffers;       // parameters first, in order
    std::vector<std::string> required; // features
    std::vector<std::string> checks;   // sentence per CheckIndex code - 1
    std::variant<std::vector<TaskIndex>, Grid> frame;
    Block body;
    const Buffer& buffer(BufferId b) const { return buffers[b.value]; }
};

std::string to_string(const Program& p);
Program parse_program(std::string_view text); // @post parse_program(to_string(p)) prints the same; UserError "line L, column C: ..."
sym::Expr scratch_bytes(const Program& p);    // of all scratch allocs, each aligned to 64, in the order of the buffers
// Where a scratch, smem or barrier buffer begins in its space: one after the other in the order of the buffers, each aligned to its
// align_bytes (scratch: at least 64; barrier: 8).
sym::Expr offset_bytes(const Program& p, BufferId buffer);
int64_t smem_bytes(const Program& p); // smem and barrier buffers together; the first byte must lie at a multiple of 1024

} // namespace codetta::tile
