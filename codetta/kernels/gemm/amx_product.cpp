#include <fmt/format.h>

#include "codetta/kernels/gemm/amx.h"
#include "codetta/kernels/gemm/amx_tiles.h"
#include "codetta/kernels/gemm/epilogue.h"
#include "codetta/kernels/stage_emitter.h"
#include "codetta/layout/int_tuple.h"
#include "codetta/scalar/dtype.h"
#include "codetta/sym/condition.h"

namespace codetta::kernels::gemm::amx {

using layout::IntTuple;
using problem::Problem;
using scalar::DType;
using sym::Expr;
using tile::Builder;

namespace {

constexpr int64_t kLanes = 2 * kRows; // columns of the result that go through the epilogue together
constexpr int64_t kTurned = 4;        // rows of a swapped result that are straightened together

// The number of a batch, last axis fastest.
Expr batch_number(const Problem& p, const View& v, const std::vector<Expr>& index) {
    Expr number = 0;
    for (size_t i = 0; i < v.batch.size(); ++i) number = number * p.axis(v.batch[i]).extent + index[i];
    return number;
}

class Product {
public:
    Product(const Problem& p, const View& v, const Config& c)
        : p_(p), v_(v), c_(c),
          b_(fmt::format("gemm_amx{}_bf16_{}x{}", c.swapped ? "_swapped" : "", c.row_tiles * kRows, c.column_tiles * kRows)), bind_(p, b_),
          at_(p, b_, bind_), steps_(steps_of(v.k)), whole_(c.swapped ? sym::floor_div(v.k, kDepth) : steps_) {}

    Kernel run() {
        for (const char* feature : {"amx_tile", "amx_bf16"}) b_.require(feature);
        const Expr blocks = c_.all_rows ? Expr(1) : sym::ceil_div(v_.m, kBlock), columns = sym::ceil_div(v_.n, kLanes);
        const std::vector<Expr> index = at_.tasks(v_.batch, {"block", "group"}, {blocks, sym::ceil_div(columns, c_.group)});
        const Expr block = index[v_.batch.size()], group = index.back();
        bind_memory(batch_number(p_, v_, index));
        start_pipeline();
        const Expr first = b_.let("first", group * c_.group), end = b_.let("end", sym::min(first + c_.group, columns));
        if (!c_.swapped && !c_.columns_packed)
            pack_columns(b_, v_.b, v_.n, v_.k, unpacked_, first * kLanes, c_.column_tiles, end - first, columns_);
        const auto block_of_rows = [&](const Expr& m0) {
            m0_ = b_.let("m0", m0);
            const Expr m_end = b_.let("m_end", sym::min(m0_ + kBlock, v_.m));
            b_.loop("j", first, end, [&](const Expr& j) {
                columns_begin(j);
                const auto rows = [&](const Depth& depth) {
                    b_.loop("mt", m0_, m_end, width(), [&](const Expr& mt) { block_of_tiles(j, j - first, mt, depth); });
                };
                if (!c_.depth) return rows({0, whole_, {}, {}});
                const Expr last = sym::max(sym::ceil_div(whole_, c_.depth) - 1, 0);
                b_.loop("kb", 0, last + 1, [&](const Expr& kb) {
                    rows({b_.let("from", kb * c_.depth), b_.let("to", sym::min(kb * c_.depth + c_.depth, whole_)), sym::eq(kb, 0),
                          sym::eq(kb, last)});
                });
            });
        };
        if (c_.all_rows)
            b_.loop("mb", 0, v_.m, kBlock, block_of_rows);
        else
            block_of_rows(block * kBlock);
        finish_pipeline();
        return bind_.make(std::move(b_).finish());
    }

private:
    int64_t width() const { return (c_.swapped ? c_.column_tiles : c_.row_tiles) * kRows; } // rows of the result in a block of tiles

    void bind_memory(const Expr& batch) {
        const auto operand = [&](const Side& s) {
            tile::View memory = bind_.operand(s.operand);
            memory.offset = memory.offset + at_.here(s.offset);
            return memory;
        };
        if (c_.columns_packed) columns_ = bind_.temporary(0, "packed_columns", DType::bf16, false);
        if (c_.swapped) {
            unpacked_ = operand(v_.b);
            if (b_.facts().divisor(v_.k) % kDepth != 0)
                tail_ = b_.scratch("tail", DType::bf16, tile::make_layout({c_.row_tiles * kTileElements}, {1}));
            return;
        }
        rows_ = bind_.temporary(c_.columns_packed ? 1 : 0, "packed_rows", DType::bf16, false);
        if (v_.a.batched) rows_.offset = rows_.offset + batch * sym::ceil_div(v_.m, width()) * block_elements(v_.k, c_.row_tiles);
        if (c_.columns_packed) return;
        unpacked_ = operand(v_.b);
        columns_ = b_.scratch("panels", DType::bf16, tile::make_layout({c_.group * block_elements(v_.k, c_.column_tiles)}, {1}));
    }

    // --- columns j
    void columns_begin(const Expr& j) {
        n0_ = b_.let("n0", c_.swapped ? sym::min(j * kLanes, v_.n - kLanes) : j * kLanes);
        if (!c_.swapped) return;
        // The last block steps back so that it is whole: its first columns are computed twice, to the same bits.
        pack_tail(b_, v_.b, v_.k, unpacked_, n0_, n0_ + kLanes, tail_);
    }

    // --- one block of tiles
    // Steps of k that are summed at once, and when they are the first and the last of a sum; no conditions: always.
    struct Depth {
        Expr from, to;
        std::optional<sym::Condition> first, last;
    };

    // number: of the columns j in this task
    void block_of_tiles(const Expr& j, const Expr& number, const Expr& mt, const Depth& depth) {
        const Expr block = sym::floor_div(mt, width());
        const Expr rows = c_.swapped ? Expr(0) : b_.let("rows", block * block_elements(v_.k, c_.row_tiles));
        const Expr panel = b_.let("panel", (c_.swapped ? block : c_.columns_packed ? j : number) * block_elements(v_.k, c_.column_tiles));
        std::vector<tile::View> sums;
        for (int64_t t = 0; t < c_.row_tiles * c_.column_tiles; ++t) {
            sums.push_back(b_.tmm("sum", DType::f32, tile::row_major(std::vector<int64_t>{kRows, kRows})));
            if (!depth.first) b_.fill(sums.back(), 0);
        }
        if (depth.first)
            b_.when(
                {*depth.first},
                [&] {
                    for (const tile::View& sum : sums) b_.fill(sum, 0);
                },
                [&] {
                    for (size_t t = 0; t < sums.size(); ++t) b_.copy(partial_view(block, t), sums[t], {.atom = "amx.tileload_once_f32"});
                });
        const auto step = [&](const Expr& p, bool in_tail, const std::function<void(int64_t slot)>& meanwhile) {
            std::vector<tile::View> a, b;
            for (int64_t t = 0; t < c_.row_tiles; ++t) {
                a.push_back(b_.tmm("a", DType::bf16, tile::row_major(std::vector<int64_t>{kRows, kDepth})));
                b_.copy(row_view(rows, t, p, in_tail), a.back(), {.atom = c_.rows_once ? "amx.tileload_once_bf16" : "amx.tileload_bf16"});
            }
            for (int64_t t = 0; t < c_.column_tiles; ++t) {
                b.push_back(b_.tmm("b", DType::bf16, column_tile(columns_, 0).layout));
                b_.copy(column_tile(columns_, panel + (p * c_.column_tiles + t) * kTileElements), b.back(), {.atom = "amx.tileload_bf16"});
                for (int64_t r = 0; r < c_.row_tiles; ++r) {
                    b_.mma("amx.tdpbf16ps", sums[static_cast<size_t>(r * c_.column_tiles + t)], a[static_cast<size_t>(r)], b.back());
                    meanwhile(t * c_.row_tiles + r);
                }
            }
        };
        const Expr units = sym::ceil_div(rows_left_, c_.unit), covered = b_.let("covered", sym::min(units, depth.to - depth.from));
        b_.loop("p", depth.from, depth.from + covered, [&](const Expr& p) {
            prefetch(j, mt, p);
            step(p, false, [&](int64_t slot) { epilogue_unit(p - depth.from, slot); });
        });
        b_.loop("p", depth.from + covered, depth.to, [&](const Expr& p) {
            prefetch(j, mt, p);
            step(p, false, [](int64_t) {});
        });
        b_.loop("u", covered, sym::ceil_div(rows_left_, c_.unit), [&](const Expr& u) { epilogue_unit(u); });
        const auto finish = [&] {
            if (tail_.buffer.valid()) b_.when({sym::lt(whole_, steps_)}, [&] { step(whole_, true, [](int64_t) {}); });
            for (int64_t r = 0; r < c_.row_tiles; ++r)
                for (int64_t t = 0; t < c_.column_tiles; ++t)
                    b_.copy(sums[static_cast<size_t>(r * c_.column_tiles + t)], sum_view(r * kRows, t), {.atom = "amx.tilestore_f32"});
            b_.set(row_, mt);
            b_.set(column_, n0_);
            b_.set(rows_left_, sym::min(v_.m - mt, width()));
        };
        if (!depth.last) return finish();
        b_.when({*depth.last}, finish, [&] {
            for (size_t t = 0; t < sums.size(); ++t) b_.copy(sums[t], partial_view(block, t), {.atom = "amx.tilestore_f32"});
            b_.set(rows_left_, 0);
        });
    }

    tile::View partial_view(const Expr& block, size_t tile) const { // of a sum that is not complete
        const Expr number = (block - sym::floor_div(m0_, width())) * (c_.row_tiles * c_.column_tiles) + static_cast<int64_t>(tile);
        return {partial_.buffer, partial_.offset + number * (kRows * kRows), tile::row_major(std::vector<int64_t>{kRows, kRows}), {}};
    }

    tile::View row_view(const Expr& rows, int64_t t, const Expr& p, bool in_tail) const {
        if (in_tail) return row_tile(tail_, t * kTileElements, kDepth);
        if (c_.swapped) return row_tile(unpacked_, (n0_ + t * kRows) * v_.b.row_stride + p * kDepth, v_.b.row_stride);
        return row_tile(rows_, rows + (p * c_.row_tiles + t) * kTileElements, kDepth);
    }

    // The next columns come into the second cache while these are computed: each block of tiles asks for its share.
    void prefetch(const Expr& j, const Expr& mt, const Expr& p) {
        if (!c_.swapped && !c_.columns_packed) return;
        const Expr share = sym::floor_div(mt - m0_, width()) * c_.prefetch;
        for (int64_t q = 0; q < c_.prefetch; ++q) {
            if (c_.swapped)
                b_.prefetch(strided(unpacked_, unpacked_.offset + (n0_ + kLanes + share + q) * v_.b.row_stride + p * kDepth, 1, 1), 2);
            else
                b_.prefetch(strided(columns_,
                                    columns_.offset + (j + 1) * block_elements(v_.k, c_.column_tiles) +
                                        (share * steps_ + p * c_.prefetch + q) * kDepth,
                                    1, 1),
                            2);
        }
    }

    // --- the block before, on its way through the epilogue
    int64_t pitch() const { return c_.column_tiles * kRows; }

    void start_pipeline() {
        sums_ = b_.scratch("sums", DType::f32, tile::make_layout({c_.row_tiles * kRows * pitch()}, {1}));
        if (c_.depth) {
            const Expr rows = c_.all_rows ? sym::min(sym::ceil_div(v_.m, width()) * width(), kBlock) : Expr(kBlock);
            partial_ = b_.scratch("partial", DType::f32, tile::make_layout({rows * kLanes}, {1}));
        }
        if (c_.swapped) straight_ = b_.scratch("straight", DType::f32, tile::make_layout({kTurned * kLanes}, {1}));
        row_ = b_.var("row_before", 0, 0, sym::max(v_.m, 1));
        column_ = b_.var("column_before", 0, 0, sym::max(v_.n, 1));
        rows_left_ = b_.var("rows_before", 0, 0, width() + 1);
    }

    tile::View sum_view(const Expr& row, int64_t column_tile) const {
        return {sums_.buffer,
                sums_.offset + row * pitch() + column_tile * kRows,
                tile::make_layout({IntTuple(kRows), IntTuple(kRows)}, {IntTuple(pitch()), IntTuple(1)}),
                {}};
    }

    void finish_pipeline() {
        b_.loop("u", 0, sym::ceil_div(rows_left_, c_.unit), [&](const Expr& u) { epilogue_unit(u); });
    }

    // The rows of unit u: all, or those that come after product `slot` of a step.
    void epilogue_unit(const Expr& u, std::optional<int64_t> slot = {}) {
        if (c_.swapped) {
            if (slot.value_or(0) == 0) straighten(u);
            return;
        }
        const int64_t slots = c_.row_tiles * c_.column_tiles;
        for (int64_t q = 0; q < c_.unit; ++q) {
            if (slot && q % slots != *slot) continue;
            const Expr r = u * c_.unit + q;
            const auto row = [&] { epilogue_of(r, strided(sums_, sum_view(r, 0).offset, kLanes, 1)); };
            if (c_.unit == 1)
                row();
            else
                b_.when({sym::lt(r, rows_left_)}, row);
        }
    }

    // kTurned rows of a swapped result, which lie as columns.
    void straighten(const Expr& u) {
        const tile::View from{sums_.buffer,
                              sums_.offset + u * kTurned,
                              tile::make_layout({IntTuple(kLanes), IntTuple(kTurned)}, {IntTuple(pitch()), IntTuple(1)}),
                              {}};
        b_.copy(from, tile::View{straight_.buffer,
                                 straight_.offset,
                                 tile::make_layout({IntTuple(kLanes), IntTuple(kTurned)}, {IntTuple(1), IntTuple(kLanes)}),
                                 {}});
        b_.loop("r", u * kTurned, sym::min(u * kTurned + kTurned, rows_left_),
                [&](const Expr& r) { epilogue_of(r, strided(straight_, straight_.offset + (r - u * kTurned) * kLanes, kLanes, 1)); });
    }

    void epilogue_of(const Expr& r, const tile::View& values) {
        const Expr row = b_.let("row", row_ + r), column = b_.let("column", column_);
        const auto lanes = [&](const std::optional<Expr>& limit) { epilogue_row(p_, v_, b_, at_, row, column, kLanes, limit, values); };
        if (c_.swapped)
            lanes(std::nullopt);
        else
            columns_that_exist(b_, column, kLanes, v_.n, lanes);
    }

    const Problem& p_;
    const View& v_;
    const Config& c_;
    Builder b_;
    Binding bind_;
    StageEmitter at_;
    Expr steps_, whole_; // of k: all, and those that a tile can read in place
    Expr m0_, n0_;
    Expr row_, column_, rows_left_; // where the block before lies, and what it is of
    tile::View rows_, columns_, unpacked_, tail_, sums_, straight_, partial_;
};

} // namespace

Kernel emit_product(const Problem& p, const View& v, const Config& c) { return Product(p, v, c).run(); }

Kernel emit_pack_columns(const Problem& p, const View& v, const Side& side, const Expr& count, int64_t tiles) {
    Builder b(fmt::format("pack_amx_columns_{}", tiles * kRows));
    Binding bind(p, b, {side.operand});
    const Expr panel = b.tasks({"panel"}, {sym::ceil_div(count, tiles * kRows)})[0];
    tile::View from = bind.operand(side.operand), to = bind.temporary(0, "packed_columns", DType::bf16, true);
    from.offset = from.offset + side.offset;
    to.offset = to.offset + panel * block_elements(v.k, tiles);
    pack_columns(b, side, count, v.k, from, panel * (tiles * kRows), tiles, 1, to);
    return bind.make(std::move(b).finish());
}

Kernel emit_pack_rows(const Problem& p, const View& v, int64_t tiles, uint32_t temporary) {
    Builder b(fmt::format("pack_amx_rows_{}", tiles * kRows));
    Binding bind(p, b, {v.a.operand});
    const std::vector<problem::AxisId> batch = v.a.batched ? v.batch : std::vector<problem::AxisId>{};
    const Expr blocks = sym::ceil_div(v.m, tiles * kRows);
    StageEmitter at(p, b, bind);
    const std::vector<Expr> index = at.tasks(batch, {"rows"}, {blocks});
    tile::View from = bind.operand(v.a.operand), to = bind.temporary(temporary, "packed_rows", DType::bf16, true);
    from.offset = from.offset + at.here(v.a.offset);
    to.offset = to.offset + ((v.a.batched ? batch_number(p, v, index) * blocks : Expr(0)) + index.back()) * block_elements(v.k, tiles);
    tile::View turned;
    if (!v.a.k_stride.is(1)) turned = b.scratch("turned", DType::bf16, tile::make_layout({kTileElements}, {1}));
    pack_rows(b, v.a, v.m, v.k, from, index.back() * (tiles * kRows), tiles, to, turned);
    return bind.make(std::move(b).finish());
}

} // namespace codetta::kernels::gemm::amx
