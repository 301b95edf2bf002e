// Matrix products: broadcast FMA, dot-product instructions by LLVM's intrinsic, AMX tiles.
#include "codetta/base/error.h"
#include "codetta/codegen/x86/statements.h"
#include "codetta/tile/view.h"

#include <llvm/IR/Intrinsics.h>

namespace codetta::codegen::x86 {

using sym::Expr;
using tile::View;

void X86Statements::emit(const tile::Mma& s) {
    const tile::Atom& atom = kernel.atoms.get(s.atom);
    CODETTA_CHECK(atom.kind == tile::AtomKind::mma, "'{}' is not a matrix atom", atom.name);
    for (const auto& feature : atom.required)
        CODETTA_CHECK(kernel.target.has(feature), "the atom '{}' needs {}, which target {} lacks", atom.name, feature, kernel.target.name);
    if (atom.d.space == tile::Space::tmm) return multiply_tiles(s, atom);
    multiply_vectors(s, atom);
}

namespace {

// The offsets of a view at every (row, column) of its two modes.
struct Grid {
    std::vector<Expr> rows, columns;
};

Grid grid_of(const View& v) {
    CODETTA_CHECK(v.layout.rank() == 2, "an mma operand has two modes, not {}", v.layout.rank());
    return {tile::offsets(v.layout.mode(0)), tile::offsets(v.layout.mode(1))};
}

// Register value number v of a fragment -> (row, column) of its tile. Without a layout: column by column for d (row 0 for vectors), k
// fastest for a and b.
std::vector<std::pair<int64_t, int64_t>> value_coordinates(const tile::Fragment& f, bool is_accumulator) {
    const int64_t rows = f.shape[0], columns = f.shape[1];
    std::vector<std::pair<int64_t, int64_t>> result;
    if (f.thread_value.rank() == 2 && f.thread_value.shape.mode(0) == layout::IntTuple(1)) {
        for (const Expr& index : tile::offsets(f.thread_value.mode(1))) {
            const int64_t i = *index.constant();
            result.emplace_back(i % rows, i / rows);
        }
        return result;
    }
    if (is_accumulator)
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) result.emplace_back(r, c);
    else
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t k = 0; k < columns; ++k) result.emplace_back(r, k);
    return result;
}

} // namespace

// One register operand from a view: runs of neighbours are vector loads, few values are repeated over all lanes (a broadcast).
void X86Statements::multiply_vectors(const tile::Mma& s, const tile::Atom& atom) {
    const Grid d = grid_of(s.d), a = grid_of(s.a), b = grid_of(s.b);
    const int64_t tm = atom.d.shape[0], tn = atom.d.shape[1], tk = atom.a.shape[1];
    const auto m = static_cast<int64_t>(d.rows.size()), n = static_cast<int64_t>(d.columns.size()),
               k = static_cast<int64_t>(a.columns.size());
    CODETTA_CHECK(static_cast<int64_t>(a.rows.size()) == m && static_cast<int64_t>(b.rows.size()) == n &&
                      static_cast<int64_t>(b.columns.size()) == k,
                  "mma: d is {}x{}, a {}x{}, b {}x{}", m, n, a.rows.size(), k, b.rows.size(), b.columns.size());
    CODETTA_CHECK(m % tm == 0 && n % tn == 0 && k % tk == 0, "mma: {}x{}x{} is not made of tiles {}x{}x{}", m, n, k, tm, tn, tk);

    const bool generic = atom.spelling.kind == tile::Spelling::Kind::generic;
    const auto d_values = value_coordinates(atom.d, true), a_values = value_coordinates(atom.a, false),
               b_values = value_coordinates(atom.b, false);
    llvm::Function* intrinsic = nullptr;
    llvm::Type *d_type = ir.lanes_of(ir.type(atom.d.dtype), static_cast<int>(d_values.size())), *a_type = d_type, *b_type = d_type;
    if (!generic) {
        const auto id = llvm::Intrinsic::lookupIntrinsicID(atom.spelling.text);
        CODETTA_CHECK(id != llvm::Intrinsic::not_intrinsic, "LLVM has no intrinsic '{}' (atom '{}')", atom.spelling.text, atom.name);
        intrinsic = llvm::Intrinsic::getOrInsertDeclaration(&ir.module, id);
        d_type = intrinsic->getFunctionType()->getParamType(0);
        a_type = intrinsic->getFunctionType()->getParamType(1);
        b_type = intrinsic->getFunctionType()->getParamType(2);
    }

    // Offsets of a tile's register values relative to its first element, as long as all tiles agree; else per tile.
    const auto gather = [&](const View& view, const Grid& grid, int64_t row, int64_t column,
                            const std::vector<std::pair<int64_t, int64_t>>& values, llvm::Type* type) {
        Access first = memory.access(view);
        std::vector<Expr> at;
        for (const auto& [r, c] : values)
            at.push_back(grid.rows[static_cast<size_t>(row + r)] + grid.columns[static_cast<size_t>(column + c)]);
        bool contiguous = true;
        for (size_t i = 1; i < at.size(); ++i) contiguous = contiguous && (at[i] - at[0]).is(static_cast<int64_t>(i));
        first.offset.add(kernel.integers.resolve(at[0]));
        first.stride = 1;
        const auto count = static_cast<int>(at.size());
        llvm::Value* value = nullptr;
        if (contiguous) {
            const int64_t type_bits = static_cast<int64_t>(type->getPrimitiveSizeInBits().getFixedValue());
            const int64_t value_bits = count * scalar::bytes(first.dtype) * 8;
            if (value_bits == type_bits && type->isVectorTy()) return ir.b.CreateBitCast(memory.load(first, count), type);
            // fewer values than lanes: one wide element, repeated
            first.unit = count;
            llvm::Value* one = memory.load(first, 1);
            if (count > 1 || one->getType() != type->getScalarType())
                return ir.b.CreateBitCast(ir.splat(one, static_cast<int>(type_bits / value_bits)), type);
            return ir.splat(one, Ir::lanes(type));
        }
        value = llvm::PoisonValue::get(ir.lanes_of(ir.type(first.dtype), count));
        for (int i = 0; i < count; ++i) {
            Access one = memory.access(view);
            one.offset.add(kernel.integers.resolve(at[static_cast<size_t>(i)]));
            llvm::Value* element = memory.load(one, 1);
            value = count == 1 ? element : ir.b.CreateInsertElement(value, element, static_cast<uint64_t>(i));
        }
        const int64_t type_bits = static_cast<int64_t>(type->getPrimitiveSizeInBits().getFixedValue()),
                      value_bits = count * scalar::bytes(first.dtype) * 8;
        if (value_bits == type_bits) return ir.b.CreateBitCast(value, type);
        value = count == 1 ? value : ir.b.CreateBitCast(value, ir.integer(static_cast<int>(value_bits)));
        return ir.b.CreateBitCast(ir.splat(value, static_cast<int>(type_bits / value_bits)), type);
    };
    const auto tile_of_d = [&](int64_t i, int64_t j) {
        Access place = memory.access(s.d);
        std::vector<Expr> at;
        for (const auto& [r, c] : d_values) at.push_back(d.rows[static_cast<size_t>(i + r)] + d.columns[static_cast<size_t>(j + c)]);
        for (size_t v = 1; v < at.size(); ++v)
            CODETTA_CHECK((at[v] - at[0]).is(static_cast<int64_t>(v)), "the accumulators of '{}' must lie in a row", atom.name);
        place.offset.add(kernel.integers.resolve(at[0]));
        return place;
    };

    llvm::Value* keeps = s.accumulate_if ? kernel.integers.emit(*s.accumulate_if) : nullptr;
    const int d_lanes = static_cast<int>(d_values.size());
    std::vector<llvm::Value*> acc(static_cast<size_t>((m / tm) * (n / tn)));
    const auto acc_at = [&](int64_t i, int64_t j) -> llvm::Value*& { return acc[static_cast<size_t>((i / tm) * (n / tn) + j / tn)]; };
    llvm::Constant* zero = llvm::Constant::getNullValue(d_type);
    for (int64_t i = 0; i < m; i += tm)
        for (int64_t j = 0; j < n; j += tn) {
            if (!s.accumulate) {
                acc_at(i, j) = zero;
                continue;
            }
            acc_at(i, j) = memory.load(tile_of_d(i, j), d_lanes);
            if (keeps) acc_at(i, j) = ir.b.CreateSelect(keeps, acc_at(i, j), zero);
        }
    for (int64_t p = 0; p < k; p += tk) {
        std::vector<llvm::Value*> columns;
        for (int64_t j = 0; j < n; j += tn) columns.push_back(gather(s.b, b, j, p, b_values, b_type));
        for (int64_t i = 0; i < m; i += tm) {
            llvm::Value* row = gather(s.a, a, i, p, a_values, a_type);
            for (int64_t j = 0; j < n; j += tn) {
                llvm::Value *column = columns[static_cast<size_t>(j / tn)], *&d_value = acc_at(i, j);
                d_value = generic ? ir.fma(row, column, d_value) : ir.b.CreateCall(intrinsic, {d_value, row, column});
            }
        }
    }
    for (int64_t i = 0; i < m; i += tm)
        for (int64_t j = 0; j < n; j += tn) memory.store(acc_at(i, j), tile_of_d(i, j));
}

} // namespace codetta::codegen::x86
