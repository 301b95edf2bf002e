// Copy and Fill: vectors along the dim that is contiguous on both sides, else transposed blocks, broadcasts, gathers, single elements.
#include "codetta/base/error.h"
#include "codetta/codegen/x86/statements.h"
#include "codetta/codegen/x86/transpose.h"

#include <algorithm>

namespace codetta::codegen::x86 {

using sym::Expr;

namespace {

constexpr size_t kSource = 0, kDestination = 1, kLimits = 2; // views of the iteration

constexpr int64_t kMostPieces = 16;          // straight-line vectors of a copy between memories
constexpr int64_t kMostRegisterPieces = 128; // and of one with registers, which cannot be indexed at run time

} // namespace

struct X86Statements::Move {
    Iteration space;
    Access source, destination;
    bool registers = false;
    llvm::Constant* fill = nullptr; ///< what limited-out elements of the destination become; null: they stay
};

void X86Statements::emit(const tile::Fill& s) {
    if (is_tile(s.destination)) return fill_tiles(s);
    Plan plan;
    const layout::Layout layouts[] = {s.destination.layout};
    plan.space = iterate(layouts);
    Access destination = memory.access(s.destination);
    for (size_t d = 0; d < plan.space.dims.size(); ++d)
        if (plan.space.dims[d].strides[0].is(1)) plan.vector_dim = static_cast<int>(d);
    plan.lanes = plan.vector_dim < 0 ? 1 : kernel.lanes_for(scalar::bytes(destination.dtype));
    roll(plan, kernel.is_register(s.destination) ? kMostRegisterPieces : kMostPieces);
    llvm::Constant* one = ir.element(destination.dtype, s.value);
    run(kernel, plan,
        [&](const std::vector<Offset>& offsets, int lanes) { memory.store(ir.repeat(one, lanes), moved(destination, offsets[0])); });
}

void X86Statements::emit(const tile::Copy& s) {
    if (is_tile(s.source) || is_tile(s.destination)) return copy_tiles(s);
    Move move;
    std::vector<layout::Layout> layouts{s.source.layout, s.destination.layout};
    bool limited = false;
    for (const auto& limit : s.limits) layouts.push_back(limit.coordinate);
    move.space = iterate(layouts);
    move.source = memory.access(s.source);
    move.destination = memory.access(s.destination);
    move.registers = kernel.is_register(s.source) || kernel.is_register(s.destination);
    CODETTA_CHECK(move.source.dtype == move.destination.dtype, "a plain copy from {} to {}", scalar::to_string(move.source.dtype),
                  scalar::to_string(move.destination.dtype));
    const auto space = kernel.buffer(s.destination).space;
    if (space == tile::Space::rmem || space == tile::Space::scratch) move.fill = ir.element(move.destination.dtype, s.fill);

    // The whole view is inside when the largest coordinate is.
    std::vector<sym::Condition> inside;
    for (size_t l = 0; l < s.limits.size(); ++l) {
        int64_t last = 0;
        for (const auto& dim : move.space.dims)
            last += (dim.extent - 1) * std::max<int64_t>(dim.strides[kLimits + l].constant().value_or(0), 0);
        const auto condition = sym::lt(last, s.limits[l].limit);
        if (!kernel.integers.proves(condition)) {
            inside.push_back(condition);
            limited = true;
        }
    }
    if (!limited) return copy_all(s, move, s.streaming);
    llvm::Value* all = nullptr;
    for (const auto& condition : inside) {
        llvm::Value* one = kernel.integers.emit(condition);
        all = all ? ir.b.CreateAnd(all, one) : one;
    }
    ir.branch(
        all, [&] { kernel.integers.scope([&] { copy_all(s, move, s.streaming); }); },
        [&] { kernel.integers.scope([&] { copy_limited(s, move); }); });
}

namespace {

// A dim of 2 or 4 small elements that lie together on both sides moves as one element (pairs of bf16 in a transposed block).
void widen(Iteration& space, Access& source, Access& destination, size_t first_coordinate) {
    for (size_t d = 0; d < space.dims.size(); ++d) {
        const Dim& dim = space.dims[d];
        const int64_t bytes = dim.extent * scalar::bytes(source.dtype);
        if (!dim.strides[kSource].is(1) || !dim.strides[kDestination].is(1) || space.dims.size() < 2) continue;
        if (bytes != 4 && bytes != 8) continue;
        bool asked = false;
        for (size_t c = first_coordinate; c < dim.strides.size(); ++c) asked = asked || !dim.strides[c].is(0);
        if (asked) continue;
        source.unit = destination.unit = dim.extent;
        space.dims.erase(space.dims.begin() + static_cast<std::ptrdiff_t>(d));
        return;
    }
}

int find_vector_dim(const Iteration& space, int64_t unit) {
    int best = -1;
    int64_t best_score = 0;
    for (size_t d = 0; d < space.dims.size(); ++d) {
        const Dim& dim = space.dims[d];
        const bool to = dim.strides[kDestination].is(unit), from = dim.strides[kSource].is(unit), same = dim.strides[kSource].is(0);
        const int64_t kind = to && from ? 4 : to && same ? 3 : to ? 2 : from && !dim.strides[kDestination].is(0) ? 1 : 0;
        const int64_t score = kind == 0 ? 0 : kind * (int64_t{1} << 40) + dim.extent;
        if (score > best_score) best = static_cast<int>(d), best_score = score;
    }
    return best;
}

} // namespace

void X86Statements::copy_all(const tile::Copy& s, Move& original, bool streaming) {
    Move move = original;
    widen(move.space, move.source, move.destination, kLimits);
    if (copy_transposed(s, move, false) || copy_interleaved(s, move, false)) return;
    Plan plan{move.space, find_vector_dim(move.space, move.source.unit), 1, {}, 1};
    const int64_t bytes = move.source.unit * scalar::bytes(move.source.dtype);
    Access source = move.source, destination = move.destination;
    source.stride = destination.stride = 0;
    if (plan.vector_dim >= 0) {
        plan.lanes = kernel.lanes_for(bytes);
        source.stride = plan.space.dims[static_cast<size_t>(plan.vector_dim)].strides[kSource];
        destination.stride = plan.space.dims[static_cast<size_t>(plan.vector_dim)].strides[kDestination];
    }
    roll(plan, move.registers ? kMostRegisterPieces : kMostPieces);
    const auto walk = [&](bool aligned) {
        run(kernel, plan, [&](const std::vector<Offset>& offsets, int lanes) {
            llvm::Value* value = memory.load(moved(source, offsets[kSource]), lanes);
            const Access to = moved(destination, offsets[kDestination]);
            aligned&& lanes == plan.lanes ? memory.stream(value, to) : memory.store(value, to);
        });
    };
    // A non-temporal store wants an aligned address: ask once for the first one and for all strides.
    const int64_t vector_bytes = plan.lanes * bytes;
    bool can_stream =
        streaming && plan.vector_dim >= 0 && destination.stride.is(move.source.unit) && vector_bytes * 8 == kernel.target.vector_bits;
    if (!can_stream) return walk(false);
    auto* i64 = ir.b.getInt64Ty();
    llvm::Value* bits = ir.b.CreatePtrToInt(memory.address(destination), i64);
    for (size_t d = 0; d < plan.space.dims.size(); ++d)
        if (static_cast<int>(d) != plan.vector_dim)
            bits = ir.b.CreateOr(bits, kernel.integers.emit(plan.space.dims[d].strides[kDestination] * scalar::bytes(destination.dtype)));
    streams = true;
    llvm::Value* aligned = ir.b.CreateICmpEQ(ir.b.CreateAnd(bits, ir.i64(vector_bytes - 1)), ir.i64(0));
    ir.branch(aligned, [&] { kernel.integers.scope([&] { walk(true); }); }, [&] { kernel.integers.scope([&] { walk(false); }); });
}

void X86Statements::copy_limited(const tile::Copy& s, Move& original) {
    Move move = original;
    widen(move.space, move.source, move.destination, kLimits);
    if (copy_transposed(s, move, true) || copy_interleaved(s, move, true)) return;
    if (move.source.unit != 1 && move.fill) { // the fill is one element's: repeat it
        if (!move.fill->isNullValue())
            move = original;
        else
            move.fill = llvm::Constant::getNullValue(memory.element(move.source));
    }
    Plan plan{move.space, find_vector_dim(move.space, move.source.unit), 1, {}, 1};
    // Lanes are cut off from the end on by coordinates that grow, from the start on by those that fall.
    Access source = move.source, destination = move.destination;
    source.stride = destination.stride = 0;
    const Dim* vector = nullptr;
    if (plan.vector_dim >= 0) {
        vector = &plan.space.dims[static_cast<size_t>(plan.vector_dim)];
        plan.lanes = kernel.lanes_for(move.source.unit * scalar::bytes(move.source.dtype));
        source.stride = vector->strides[kSource];
        destination.stride = vector->strides[kDestination];
    }
    roll(plan, move.registers ? kMostRegisterPieces : kMostPieces);
    run(kernel, plan, [&](const std::vector<Offset>& offsets, int lanes) {
        Span valid(ir.i64(lanes));
        for (size_t l = 0; l < s.limits.size(); ++l) {
            const Offset& c = offsets[kLimits + l];
            const Expr coordinate = c.symbolic + c.constant, limit = kernel.integers.resolve(s.limits[l].limit);
            const auto static_step = vector ? vector->strides[kLimits + l].constant() : std::optional<int64_t>(0);
            CODETTA_CHECK(static_step, "a limit's coordinate must have static strides");
            const int64_t step = *static_step;
            if (step < 0) { // the first lanes are cut off
                if (kernel.integers.proves(sym::lt(coordinate, limit))) continue;
                const Expr first = sym::min(sym::max(sym::floor_div(coordinate - limit, -step) + 1, 0), lanes);
                llvm::Value* begin = kernel.integers.emit(first);
                valid.begin = valid.begin ? ir.call(llvm::Intrinsic::smax, {ir.b.getInt64Ty()}, {valid.begin, begin}) : begin;
                continue;
            }
            if (kernel.integers.proves(sym::lt(coordinate + step * (lanes - 1), limit))) continue;
            if (step == 0) {
                valid.end = ir.b.CreateSelect(kernel.integers.emit(sym::lt(coordinate, limit)), valid.end, ir.i64(0));
                continue;
            }
            llvm::Value* left = kernel.integers.emit(sym::max(sym::ceil_div(limit - coordinate, step), 0));
            valid.end = ir.call(llvm::Intrinsic::smin, {ir.b.getInt64Ty()}, {valid.end, left});
        }
        const Access from = moved(source, offsets[kSource]), to = moved(destination, offsets[kDestination]);
        llvm::Type* many = ir.lanes_of(memory.element(from), lanes);
        if (move.fill) {
            memory.store(memory.load(from, lanes, valid, ir.repeat(move.fill, lanes)), to);
            return;
        }
        // Registers hold every element; memory is read only where it may be.
        llvm::Value* value =
            kernel.is_register(s.source) ? memory.load(from, lanes) : memory.load(from, lanes, valid, llvm::Constant::getNullValue(many));
        memory.store(value, to, valid);
    });
}

// How many of `count` steps of `dim` from step `first` on are inside every limit of the copy, given `also` steps of another dim.
llvm::Value* X86Statements::steps_inside(const tile::Copy& s, const std::vector<Offset>& offsets, const Dim& dim, int64_t count,
                                         const Dim& other, int64_t first, int64_t also) {
    llvm::Value* inside = ir.i64(count);
    for (size_t l = 0; l < s.limits.size(); ++l) {
        const Offset& c = offsets[kLimits + l];
        const int64_t step = dim.strides[kLimits + l].constant().value_or(-1),
                      other_step = other.strides[kLimits + l].constant().value_or(-1);
        CODETTA_CHECK(step >= 0 && other_step >= 0, "a limit's coordinate must have static strides >= 0");
        const Expr coordinate = c.symbolic + (c.constant + step * first + other_step * also),
                   limit = kernel.integers.resolve(s.limits[l].limit);
        if (kernel.integers.proves(sym::lt(coordinate + step * (count - 1), limit))) continue;
        if (step == 0)
            inside = ir.b.CreateSelect(kernel.integers.emit(sym::lt(coordinate, limit)), inside, ir.i64(0));
        else
            inside = ir.call(llvm::Intrinsic::smin, {ir.b.getInt64Ty()},
                             {inside, kernel.integers.emit(sym::max(sym::ceil_div(limit - coordinate, step), 0))});
    }
    return inside;
}

// Two rows of 16-bit elements become one of pairs (as the column operand of a bf16 product wants them).
bool X86Statements::copy_interleaved(const tile::Copy& s, Move& move, bool limited) {
    if (move.source.unit * scalar::bytes(move.source.dtype) != 2) return false;
    int pair = -1, along = -1; // pair: the two rows; along: contiguous in the source, in steps of a pair in the destination
    for (size_t d = 0; d < move.space.dims.size(); ++d) {
        const Dim& dim = move.space.dims[d];
        if (dim.extent == 2 && dim.strides[kDestination].is(1) && !dim.strides[kSource].is(0)) pair = static_cast<int>(d);
        if (dim.strides[kSource].is(1) && dim.strides[kDestination].is(2)) along = static_cast<int>(d);
    }
    const int width = kernel.lanes_for(4);
    if (pair < 0 || along < 0 || move.space.dims[static_cast<size_t>(along)].extent % width != 0) return false;
    const Dim rows = move.space.dims[static_cast<size_t>(pair)], row = move.space.dims[static_cast<size_t>(along)];
    if (limited) {
        if (s.fill != 0 || kernel.is_register(s.source)) return false;
        for (size_t l = 0; l < s.limits.size(); ++l) {
            const auto step = row.strides[kLimits + l].constant(), other = rows.strides[kLimits + l].constant();
            if (!step || !other || *step < 0 || *other < 0) return false;
            if (!move.fill && *other != 0) return false; // half a pair is not stored
        }
    }
    Plan plan{move.space, -1, 1, {}, 1};
    plan.space.dims[static_cast<size_t>(pair)].extent = 1;
    plan.space.dims[static_cast<size_t>(along)].extent = row.extent / width;
    for (auto& stride : plan.space.dims[static_cast<size_t>(along)].strides) stride = stride * width;
    roll(plan, move.registers ? kMostRegisterPieces : kMostPieces);
    run(kernel, plan, [&](const std::vector<Offset>& offsets, int) {
        const auto valid = [&](int half) { return steps_inside(s, offsets, row, width, rows, 0, half); };
        const auto load = [&](int half) {
            Access a = moved(move.source, offsets[kSource]);
            a.offset.add(rows.strides[kSource], half);
            a.stride = 1;
            return limited ? memory.load(a, width, valid(half), llvm::Constant::getNullValue(ir.lanes_of(memory.element(a), width)))
                           : memory.load(a, width);
        };
        std::vector<int> order;
        for (int i = 0; i < width; ++i) order.insert(order.end(), {i, width + i});
        llvm::Value* pairs = ir.b.CreateShuffleVector(load(0), load(1), order);
        Access to = moved(move.destination, offsets[kDestination]);
        to.stride = 1;
        if (limited && !move.fill)
            memory.store(pairs, to, ir.b.CreateShl(valid(0), 1));
        else
            memory.store(pairs, to);
    });
    return true;
}

bool X86Statements::copy_transposed(const tile::Copy& s, Move& move, bool limited) {
    const int64_t unit = move.source.unit;
    if (unit * scalar::bytes(move.source.dtype) != 4) return false;
    int rows = -1, columns = -1; // rows: contiguous in the destination; columns: contiguous in the source
    for (size_t d = 0; d < move.space.dims.size(); ++d) {
        const Dim& dim = move.space.dims[d];
        const bool to = dim.strides[kDestination].is(unit), from = dim.strides[kSource].is(unit);
        if (to && from) return false;
        if (to && !dim.strides[kSource].is(0)) rows = static_cast<int>(d);
        if (from && !dim.strides[kDestination].is(0)) columns = static_cast<int>(d);
    }
    const int width = kernel.lanes_for(4);
    if (rows < 0 || columns < 0) return false;
    const auto extent = [&](int d) { return move.space.dims[static_cast<size_t>(d)].extent; };
    if (extent(rows) < width || extent(columns) < 4 || extent(rows) % width != 0 || extent(columns) % 4 != 0) return false;
    if (limited && s.fill != 0) return false;
    if (limited && !move.fill && !kernel.is_register(s.source)) {
        // memory to memory without a fill: fine, what is read as 0 is not written
    }

    // One block: `width` rows, up to `width` columns in chunks of four.
    const int64_t block_columns = extent(columns) % width == 0 ? width : 4;
    Plan plan{move.space, -1, 1, {}, 1};
    plan.space.dims[static_cast<size_t>(rows)].extent = extent(rows) / width;
    plan.space.dims[static_cast<size_t>(columns)].extent = extent(columns) / block_columns;
    for (auto& stride : plan.space.dims[static_cast<size_t>(rows)].strides) stride = stride * width;
    for (auto& stride : plan.space.dims[static_cast<size_t>(columns)].strides) stride = stride * block_columns;
    const Dim row = move.space.dims[static_cast<size_t>(rows)], column = move.space.dims[static_cast<size_t>(columns)];
    roll(plan, move.registers ? kMostRegisterPieces : 1);
    run(kernel, plan, [&](const std::vector<Offset>& offsets, int) {
        const auto valid = [&](const Dim& dim, int64_t count, const Dim& other, int64_t first, int64_t also) {
            return steps_inside(s, offsets, dim, count, other, first, also);
        };
        const auto chunk = [&](int r, int q) {
            Access a = moved(move.source, offsets[kSource]);
            a.offset.add(row.strides[kSource], r);
            a.offset.add(column.strides[kSource], 4 * q);
            a.stride = unit;
            if (!limited || kernel.is_register(s.source)) return memory.load(a, 4);
            return memory.load(a, 4, valid(column, 4, row, 4 * q, r), llvm::Constant::getNullValue(ir.lanes_of(memory.element(a), 4)));
        };
        const auto columns_out = transpose(ir, width, static_cast<int>(block_columns), chunk);
        for (int c = 0; c < block_columns; ++c) {
            Access a = moved(move.destination, offsets[kDestination]);
            a.offset.add(column.strides[kDestination], c);
            a.stride = unit;
            if (!limited || move.fill)
                memory.store(columns_out[static_cast<size_t>(c)], a);
            else
                memory.store(columns_out[static_cast<size_t>(c)], a, valid(row, width, column, 0, c));
        }
    });
    return true;
}

} // namespace codetta::codegen::x86
