#include "codetta/kernels/gemm/swapped.h"

#include <algorithm>

#include <fmt/format.h>

#include "codetta/kernels/gemm/epilogue.h"
#include "codetta/kernels/stage_emitter.h"
#include "codetta/layout/int_tuple.h"

namespace codetta::kernels::gemm {

using layout::IntTuple;
using problem::Problem;
using sym::Expr;
using tile::Builder;

namespace {

constexpr int64_t kTranspose = 16; // rows of the result that are transposed together

class Product {
public:
    // c.nr: rows of the result in a panel of a; c.mr: columns of the result in a register tile.
    Product(const Problem& p, const View& v, const X86Config& c)
        : p_(p), v_(v), c_(c), b_(fmt::format("gemm_x86_swapped_{}_{}x{}", scalar::to_string(v.a.dtype), c.mr, c.nr)), bind_(p, b_),
          at_(p, b_, bind_), format_{c.nr, c.group, c.dtype, v.k} {}

    Kernel run() {
        const std::vector<Expr> index = at_.tasks(v_.batch, {"block"}, {sym::ceil_div(v_.n, kSwappedColumns)});
        const tile::View panels = bind_.temporary(0, "packed", c_.dtype, false);
        // The last block steps back so that it is whole: its first columns are computed twice, to the same bits.
        const Expr n0 = b_.let("n0", sym::min(index.back() * kSwappedColumns, v_.n - kSwappedColumns));
        tile::View rows = bind_.operand(v_.b.operand);
        rows.offset = rows.offset + at_.here(v_.b.offset) + n0 * v_.b.row_stride;
        const Expr count = sym::ceil_div(v_.m, c_.nr), width = count * c_.nr;
        const tile::View transposed = b_.scratch("transposed", v_.accumulator, tile::make_layout({kSwappedColumns * width}, {1}));
        const tile::View straight = b_.scratch("straight", v_.accumulator, tile::make_layout({kTranspose * kSwappedColumns}, {1}));
        b_.loop("nt", 0, kSwappedColumns, c_.mr, [&](const Expr& nt) {
            tile::View first = rows;
            first.offset = first.offset + nt * v_.b.row_stride;
            std::vector<Expr> offsets;
            for (int64_t r = 0; r < c_.mr; ++r) offsets.push_back(r * v_.b.row_stride);
            const Ahead next_rows = [&](const Expr& k0) {
                for (int64_t r = 0; r < c_.mr; ++r) b_.prefetch(strided(first, first.offset + (c_.mr + r) * v_.b.row_stride + k0, 1, 1));
            };
            b_.loop("panel", 0, count, [&](const Expr& j) {
                tile::View panel = panels;
                panel.offset = panel.offset + j * format_.elements();
                register_tile(b_, c_, first, offsets, 1, panel, format_.padded_k(),
                              matrix(transposed, nt * width + j * c_.nr, c_.mr, width, c_.nr, 1), next_rows);
            });
        });
        b_.loop("mt", 0, v_.m, kTranspose, [&](const Expr& mt) {
            b_.copy(matrix(transposed, mt, kSwappedColumns, width, kTranspose, 1),
                    matrix(straight, 0, kSwappedColumns, 1, kTranspose, kSwappedColumns));
            b_.loop("r", mt, sym::min(mt + kTranspose, v_.m), [&](const Expr& r) {
                epilogue_row(p_, v_, b_, at_, r, n0, kSwappedColumns, std::nullopt,
                             strided(straight, straight.offset + (r - mt) * kSwappedColumns, kSwappedColumns, 1));
            });
        });
        return bind_.make(std::move(b_).finish());
    }

private:
    static tile::View matrix(const tile::View& memory, const Expr& offset, int64_t rows, const Expr& row_stride, int64_t columns,
                             const Expr& column_stride) {
        return {memory.buffer,
                memory.offset + offset,
                tile::make_layout({IntTuple(rows), IntTuple(columns)}, {IntTuple(row_stride), IntTuple(column_stride)}),
                {}};
    }

    const Problem& p_;
    const View& v_;
    const X86Config& c_;
    Builder b_;
    Binding bind_;
    StageEmitter at_;
    PanelFormat format_;
};

} // namespace

Swapped emit_swapped(const Problem& p, const View& v, const X86Config& c, int64_t vector_lanes, int64_t rows_hint) {
    X86Config own = c;
    own.prepacked = own.few_rows = false;
    const int64_t vectors = rows_hint <= vector_lanes ? 1 : rows_hint <= 2 * vector_lanes ? 2 : 4;
    own.nr = vectors * vector_lanes;
    // Enough accumulators to hide the latency; more rows would each need an address in a register, and theirs often lie whole pages apart,
    // in the same few sets of the first cache.
    own.mr = vector_lanes >= 16 ? (vectors == 1 ? 8 : 6) : (vectors == 4 ? 3 : 6);
    View swapped = v;
    swapped.b = v.a;
    swapped.n = v.m;
    Swapped s;
    s.pack = emit_pack(p, swapped, own);
    s.pack.once = false;
    s.padded_rows = sym::ceil_div(v.m, own.nr) * own.nr;
    s.packed_bytes = sym::ceil_div(v.m, own.nr) * PanelFormat{own.nr, own.group, own.dtype, v.k}.elements() * scalar::bytes(own.dtype);
    s.product = Product(p, v, own).run();
    return s;
}

} // namespace codetta::kernels::gemm
