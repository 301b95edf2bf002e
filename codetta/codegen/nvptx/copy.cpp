// Copies: plain ones element by element in the widest pieces that are known to be aligned; TMA boxes; stmatrix.
#include "codetta/base/error.h"
#include "codetta/codegen/nvptx/statements.h"
#include "codetta/tile/view.h"

#include <algorithm>

namespace codetta::codegen::nvptx {

using sym::Expr;
using tile::Copy;
using tile::Space;
using tile::View;

namespace {

struct Bound {
    std::vector<int64_t> coordinates;
    Expr limit;
};

bool follows(const std::vector<Expr>& places, size_t first, size_t lanes) {
    for (size_t i = 1; i < lanes; ++i)
        if (!(places[first + i] - places[first]).is(static_cast<int64_t>(i))) return false;
    return true;
}

// Whether all lanes are inside or all are outside.
bool agree(const Bound& b, size_t first, size_t lanes, int64_t limit_divisor) {
    bool equal = true, counting = true;
    for (size_t i = 1; i < lanes; ++i) {
        equal = equal && b.coordinates[first + i] == b.coordinates[first];
        counting = counting && b.coordinates[first + i] == b.coordinates[first] + static_cast<int64_t>(i);
    }
    const auto width = static_cast<int64_t>(lanes);
    return equal || (counting && b.coordinates[first] % width == 0 && limit_divisor % width == 0);
}

} // namespace

void NvptxStatements::emit(const Copy& s) {
    if (kernel.buffer(s.source).space == Space::tensormap) return load_box(s);
    if (kernel.buffer(s.destination).space == Space::tensormap) return store_box(s);
    if (s.atom.empty()) return copy_plain(s);
    copy_matrix(s);
}

void NvptxStatements::copy_plain(const Copy& s) {
    const auto from = places(s.source), to = places(s.destination);
    const scalar::DType t = kernel.buffer(s.source).dtype;
    const int64_t size = scalar::bytes(t);
    std::vector<Bound> bounds;
    for (const auto& l : s.limits) {
        Bound b{{}, kernel.integers.resolve(l.limit)};
        for (const Expr& e : tile::offsets(l.coordinate)) b.coordinates.push_back(sym::evaluate(e, {}));
        bounds.push_back(std::move(b));
    }
    const auto fits = [&](const View& v, const std::vector<Expr>& at, size_t first, size_t lanes) {
        if (!follows(at, first, lanes)) return false;
        if (in_registers(v)) return !registers_.has_pairs(v.buffer) || lanes == 1 || kernel.integers.facts().divisor(at[first]) % 2 == 0;
        return alignment(v, at[first]) >= static_cast<int64_t>(lanes) * size;
    };
    for (size_t i = 0; i < from.size();) {
        size_t lanes = static_cast<size_t>(std::max<int64_t>(1, 16 / size));
        for (; lanes > 1; lanes /= 2) {
            if (i + lanes > from.size() || !fits(s.source, from, i, lanes) || !fits(s.destination, to, i, lanes)) continue;
            if (std::all_of(bounds.begin(), bounds.end(),
                            [&](const Bound& b) { return agree(b, i, lanes, kernel.integers.facts().divisor(b.limit)); }))
                break;
        }
        std::vector<sym::Condition> conditions;
        for (const Bound& b : bounds) conditions.push_back(sym::lt(b.coordinates[i], b.limit));
        llvm::Value* inside = all_hold(conditions);
        const bool always = inside == ir.b.getTrue();
        // From memory: outside, element 0 of the buffer is read instead, and replaced.
        const auto read = [&]() -> llvm::Value* {
            if (in_registers(s.source)) {
                if (lanes == 1) return load_element(s.source, from[i]);
                llvm::Value* all = llvm::PoisonValue::get(ir.lanes_of(ir.type(t), static_cast<int>(lanes)));
                for (size_t j = 0; j < lanes; ++j) all = ir.b.CreateInsertElement(all, load_element(s.source, from[i + j]), j);
                return all;
            }
            if (always) return load(s.source, from[i], static_cast<int>(lanes));
            llvm::Value* address = ir.b.CreateSelect(inside, pointer(s.source, from[i]), pointer(s.source, 0));
            llvm::Type* type = ir.lanes_of(ir.type(t), static_cast<int>(lanes));
            auto* access = ir.b.CreateAlignedLoad(type, address, llvm::Align(static_cast<uint64_t>(static_cast<int64_t>(lanes) * size)));
            const tile::Buffer& b = kernel.buffer(s.source);
            if (b.parameter && !b.written && b.no_alias)
                access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir.context, {}));
            llvm::Constant* fill = ir.repeat(ir.element(t, s.fill), static_cast<int>(lanes));
            return ir.b.CreateSelect(inside, access, fill);
        };
        llvm::Value* value = read();
        const auto write = [&] {
            if (in_registers(s.destination)) {
                const auto place = kernel.integers.resolve(to[i]).constant();
                CODETTA_CHECK(place.has_value(), "a place in registers is not known at compile time");
                if (lanes == 1) return registers_.store(s.destination.buffer, *place, value);
                for (size_t j = 0; j < lanes; ++j) {
                    const auto at = *place + static_cast<int64_t>(j);
                    if (registers_.has_pairs(s.destination.buffer)) {
                        registers_.store_pair(s.destination.buffer, at,
                                              ir.shuffle(value, value, 2, [&](int k) { return static_cast<int>(j) + k; }));
                        ++j;
                    } else {
                        registers_.store(s.destination.buffer, at, ir.b.CreateExtractElement(value, j));
                    }
                }
                return;
            }
            auto* access = ir.b.CreateAlignedStore(
                value, pointer(s.destination, to[i]),
                llvm::Align(static_cast<uint64_t>(std::max(alignment(s.destination, to[i]), static_cast<int64_t>(lanes) * size))));
            if (s.streaming)
                access->setMetadata(llvm::LLVMContext::MD_nontemporal,
                                    llvm::MDNode::get(ir.context, {llvm::ConstantAsMetadata::get(ir.i32(1))}));
        };
        if (always || in_registers(s.destination))
            write();
        else
            ir.branch(inside, write);
        i += lanes;
    }
}

// cp.async.bulk.tensor: coordinates innermost first.
void NvptxStatements::load_box(const Copy& s) {
    std::string text =
        fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {{", s.coordinates.size());
    std::string constraints = "r,l";
    std::vector<llvm::Value*> arguments{shared_address(s.destination), tensormaps[s.source.buffer.value]};
    for (size_t i = s.coordinates.size(); i-- > 0;) {
        text += fmt::format("${}{}", arguments.size(), i ? ", " : "");
        constraints += ",r";
        arguments.push_back(kernel.integers.emit_i32(s.coordinates[i]));
    }
    text += fmt::format("}}], [${}];", arguments.size());
    arguments.push_back(shared_address(*s.signal));
    command(text, constraints + ",r", arguments);
}

void NvptxStatements::store_box(const Copy& s) {
    std::string text = fmt::format("cp.async.bulk.tensor.{}d.global.shared::cta.bulk_group [$0, {{", s.coordinates.size());
    std::string constraints = "l,r";
    std::vector<llvm::Value*> arguments{tensormaps[s.destination.buffer.value], shared_address(s.source)};
    for (size_t i = s.coordinates.size(); i-- > 0;) {
        text += fmt::format("${}{}", arguments.size(), i ? ", " : "");
        constraints += ",r";
        arguments.push_back(kernel.integers.emit_i32(s.coordinates[i]));
    }
    command(text + "}], [$1];", constraints, arguments);
}

// stmatrix.x4: lane l gives the address of row l % 8 of matrix l / 8; matrices 0 .. 3 are the upper and lower 8 rows of the left, then of
// the right 8 columns.
void NvptxStatements::copy_matrix(const Copy& s) {
    const tile::Atom& atom = kernel.atoms.get(s.atom);
    CODETTA_CHECK(atom.a.threads() == 32 && atom.d.space == Space::smem, "the copy atom {} is not known to this back end", atom.name);
    const auto rows = s.destination.layout.mode(0), columns = s.destination.layout.mode(1);
    CODETTA_CHECK(columns.stride.is_leaf() && columns.stride.leaf().is(1) && rows.stride.is_leaf(), "{} stores rows of adjacent elements",
                  atom.name);
    const Expr lane = Expr::symbol("lane");
    const Expr row = sym::mod(lane, 8) + 8 * sym::mod(sym::floor_div(lane, 8), 2), column = 8 * sym::floor_div(lane, 16);
    View first = s.destination;
    first.offset = kernel.integers.resolve(s.destination.offset) + row * kernel.integers.resolve(rows.stride.leaf()) + column;
    llvm::Value* address = swizzled(shared_address(first), s.destination.swizzle);
    const auto own = registers_.places(s.source);
    CODETTA_CHECK(own.size() == 8, "{} stores 8 elements a thread, not {}", atom.name, own.size());
    std::vector<llvm::Value*> arguments{address};
    for (size_t i = 0; i < 8; i += 2) {
        CODETTA_CHECK(own[i + 1] == own[i] + 1, "{} stores pairs of adjacent registers", atom.name);
        arguments.push_back(ir.b.CreateBitCast(registers_.load_pair(s.source.buffer, own[i]), ir.b.getInt32Ty()));
    }
    command(atom.spelling.text + " [$0], {$1, $2, $3, $4};", "r,r,r,r,r", arguments);
}

} // namespace codetta::codegen::nvptx
