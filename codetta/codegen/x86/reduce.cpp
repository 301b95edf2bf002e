// Reduce within a thread: along the lanes when the kept elements are contiguous, else across lanes at the end. Grouping depends on the
// shape alone.
#include "codetta/base/error.h"
#include "codetta/codegen/scalar_body.h"
#include "codetta/codegen/x86/statements.h"

#include <algorithm>

namespace codetta::codegen::x86 {

namespace {

constexpr int64_t kChains = 4;        // independent partial results: hides the latency of combine
constexpr int64_t kMostUnrolled = 64; // vectors of one kept element

using State = std::vector<llvm::Value*>;

} // namespace

void X86Statements::emit(const tile::Reduce& s) {
    CODETTA_CHECK(s.sources.size() == s.destinations.size() && !s.sources.empty(), "a reduce needs one destination per source");
    ScalarBody body(ir, kernel.target);
    const size_t states = s.sources.size();
    std::vector<layout::Layout> layouts;
    std::vector<Access> sources, destinations;
    int64_t bytes = 1;
    for (const auto& v : s.sources) layouts.push_back(v.layout), sources.push_back(memory.access(v));
    for (const auto& v : s.destinations) layouts.push_back(v.layout), destinations.push_back(memory.access(v));
    for (const auto& a : sources) bytes = std::max(bytes, scalar::bytes(a.dtype));
    const Iteration space = iterate(layouts);
    const auto reduced = [&](const Dim& dim) { return dim.strides[states].is(0); };

    // Two nests: the kept dims outside, the reduced dims inside.
    Plan kept, folded;
    int vector_dim = -1;
    bool across = false; // the lanes hold elements that are to be combined
    int64_t best = 0;
    for (size_t d = 0; d < space.dims.size(); ++d) {
        const Dim& dim = space.dims[d];
        bool contiguous = true;
        for (size_t i = 0; i < states; ++i) contiguous = contiguous && dim.strides[i].is(1);
        const bool keeps = !reduced(dim);
        if (keeps)
            for (size_t i = 0; i < states; ++i) contiguous = contiguous && dim.strides[states + i].is(1);
        const int64_t score = (contiguous ? (keeps ? 3 : 2) : 0) * (int64_t{1} << 40) + (contiguous ? dim.extent : 0);
        if (score > best && dim.extent > 1) best = score, vector_dim = static_cast<int>(d), across = !keeps;
    }
    for (size_t d = 0; d < space.dims.size(); ++d) {
        Plan& plan = reduced(space.dims[d]) ? folded : kept;
        if (static_cast<int>(d) == vector_dim) plan.vector_dim = static_cast<int>(plan.space.dims.size());
        plan.space.dims.push_back(space.dims[d]);
    }
    const int lanes = vector_dim < 0 ? 1 : kernel.lanes_for(bytes);
    if (kept.vector_dim >= 0) kept.lanes = lanes;
    if (folded.vector_dim >= 0) folded.lanes = lanes;
    bool registers = false;
    for (const auto& v : s.sources) registers = registers || kernel.is_register(v);
    for (const auto& v : s.destinations) registers = registers || kernel.is_register(v);
    roll(kept, registers ? INT64_MAX : 8);
    roll(folded, registers && folded.pieces() <= 4 * kMostUnrolled ? INT64_MAX : 4);
    for (size_t i = 0; i < states; ++i)
        sources[i].stride = vector_dim < 0 ? sym::Expr(0) : space.dims[static_cast<size_t>(vector_dim)].strides[i];
    for (size_t i = 0; i < states; ++i) destinations[i].stride = across || vector_dim < 0 ? sym::Expr(0) : sym::Expr(1);

    const auto combine = [&](const State& a, const State& b) {
        State in(a);
        in.insert(in.end(), b.begin(), b.end());
        return body.emit(s.combine, in, Ir::lanes(a[0]));
    };
    const auto load = [&](const std::vector<Access>& from, size_t first_view, const std::vector<Offset>& at,
                          const std::vector<Offset>* more, int width) {
        State state;
        for (size_t i = 0; i < states; ++i) {
            Access a = from[i];
            if (!at.empty()) a = moved(a, at[first_view + i]);
            if (more) a = moved(a, (*more)[first_view + i]);
            state.push_back(body.from_memory(memory.load(a, width), a.dtype));
        }
        return state;
    };
    const bool folds_in_loop = std::ranges::find(folded.rolled, true) != folded.rolled.end();

    run(kernel, kept, [&](const std::vector<Offset>& at, int kept_lanes) {
        std::vector<Access> result;
        for (size_t i = 0; i < states; ++i) result.push_back(moved(destinations[i], at[states + i]));
        State total = load(result, states, {}, nullptr, across ? 1 : kept_lanes);

        // Partial results by width (a ragged end has narrower vectors) and chain.
        struct Chain {
            int width;
            State state;
        };
        std::vector<Chain> chains;
        int64_t visited = 0;
        const auto fold_lanes = [&](State v) {
            for (int width = Ir::lanes(v[0]); width > 1; width /= 2) {
                State low, high;
                for (auto* value : v) {
                    low.push_back(width == 2 ? ir.b.CreateExtractElement(value, uint64_t{0})
                                             : ir.shuffle(value, value, width / 2, [](int i) { return i; }));
                    high.push_back(width == 2 ? ir.b.CreateExtractElement(value, uint64_t{1})
                                              : ir.shuffle(value, value, width / 2, [&](int i) { return i + width / 2; }));
                }
                v = combine(low, high);
            }
            return v;
        };
        if (!folds_in_loop) {
            run(kernel, folded, [&](const std::vector<Offset>& more, int folded_lanes) {
                const int width = across ? folded_lanes : kept_lanes;
                State value = load(sources, 0, at, &more, width);
                const auto same = std::ranges::count(chains, width, &Chain::width);
                if (same < kChains) {
                    chains.push_back({width, std::move(value)});
                } else {
                    int64_t turn = visited % kChains;
                    for (auto& chain : chains)
                        if (chain.width == width && turn-- == 0) chain.state = combine(chain.state, value);
                }
                ++visited;
            });
            // neighbours first
            for (size_t step = 1; step < chains.size(); step *= 2)
                for (size_t i = 0; i + step < chains.size(); i += 2 * step)
                    if (chains[i].width == chains[i + step].width && !chains[i].state.empty() && !chains[i + step].state.empty()) {
                        chains[i].state = combine(chains[i].state, chains[i + step].state);
                        chains[i + step].state.clear();
                    }
            for (auto& chain : chains)
                if (!chain.state.empty()) total = combine(total, across ? fold_lanes(chain.state) : chain.state);
        } else {
            // One running vector per width in memory that mem2reg lifts, and one flag: the first round starts it.
            struct Running {
                int width;
                llvm::Value* started;
                std::vector<llvm::AllocaInst*> slots;
            };
            std::vector<Running> running;
            auto* entry_block = ir.b.GetInsertBlock();
            (void)entry_block;
            // Which widths come: found by the shape.
            std::vector<int> widths;
            if (across) {
                const int64_t extent = folded.space.dims[static_cast<size_t>(folded.vector_dim)].extent;
                if (extent / folded.lanes > 0) widths.push_back(folded.lanes);
                for (int part = folded.lanes / 2; part >= 1; part /= 2)
                    if ((extent % folded.lanes) & part) widths.push_back(part);
            } else
                widths.push_back(kept_lanes);
            for (int width : widths) {
                Running r{width, ir.slot(ir.b.getInt1Ty(), 1, 8), {}};
                ir.b.CreateStore(ir.b.getFalse(), r.started);
                for (size_t i = 0; i < states; ++i) r.slots.push_back(ir.slot(ir.lanes_of(ir.value_type(sources[i].dtype), width), 1, 64));
                running.push_back(r);
            }
            run(kernel, folded, [&](const std::vector<Offset>& more, int folded_lanes) {
                const int width = across ? folded_lanes : kept_lanes;
                const State value = load(sources, 0, at, &more, width);
                for (auto& r : running) {
                    if (r.width != width) continue;
                    State before;
                    for (size_t i = 0; i < states; ++i) before.push_back(ir.b.CreateLoad(value[i]->getType(), r.slots[i]));
                    llvm::Value* started = ir.b.CreateLoad(ir.b.getInt1Ty(), r.started);
                    const State joined = combine(before, value);
                    for (size_t i = 0; i < states; ++i) ir.b.CreateStore(ir.b.CreateSelect(started, joined[i], value[i]), r.slots[i]);
                    ir.b.CreateStore(ir.b.getTrue(), r.started);
                }
            });
            for (auto& r : running) {
                State last;
                for (size_t i = 0; i < states; ++i)
                    last.push_back(ir.b.CreateLoad(ir.lanes_of(ir.value_type(sources[i].dtype), r.width), r.slots[i]));
                total = combine(total, across ? fold_lanes(last) : last);
            }
        }
        for (size_t i = 0; i < states; ++i) memory.store(body.to_memory(total[i], result[i].dtype), result[i]);
    });
}

} // namespace codetta::codegen::x86
