#include "codetta/kernels/gemm/dots.h"

#include <fmt/format.h>

#include "codetta/kernels/gemm/epilogue.h"
#include "codetta/kernels/stage_emitter.h"

namespace codetta::kernels::gemm {

using problem::Problem;
using scalar::DType;
using sym::Expr;
using tile::Builder;

namespace {

constexpr int64_t kColumns = 64; // of a task: they share the epilogue's vectors
constexpr int64_t kTogether = 4; // columns whose memory is read side by side

class Dots {
public:
    Dots(const Problem& p, const View& v, int64_t lanes, int64_t rows)
        : p_(p), v_(v), lanes_(lanes), rows_(rows), chains_(rows == 1 ? 2 : 1),
          b_(fmt::format("gemv_x86_{}_{}_{}_{}", scalar::to_string(v.a.dtype), scalar::to_string(v.b.dtype),
                         scalar::to_string(v.accumulator), rows)),
          bind_(p, b_), at_(p, b_, bind_) {}

    Kernel run() {
        const std::vector<Expr> index = at_.tasks(v_.batch, {"columns"}, {sym::ceil_div(v_.n, kColumns)});
        n0_ = b_.let("n0", index.back() * kColumns);
        a_ = bind_.operand(v_.a.operand);
        a_.offset = a_.offset + at_.here(v_.a.offset);
        w_ = bind_.operand(v_.b.operand);
        w_.offset = w_.offset + at_.here(v_.b.offset);
        dots_ = b_.scratch("dots", v_.accumulator, tile::make_layout({rows_ * kColumns}, {1}));
        for (int64_t r = 0; r < rows_; ++r) row_offsets_.push_back(b_.let("row", a_.offset + sym::min(r, v_.m - 1) * v_.a.row_stride));
        b_.loop("c", 0, kColumns, kTogether, [&](const Expr& c) { columns(c); });
        const auto all_rows = [&](const std::optional<Expr>& limit) {
            b_.loop("r", 0, sym::min(v_.m, rows_), [&](const Expr& r) {
                epilogue_row(p_, v_, b_, at_, r, n0_, kColumns, limit, strided(dots_, dots_.offset + r * kColumns, kColumns, 1));
            });
        };
        columns_that_exist(b_, n0_, kColumns, v_.n, all_rows);
        return bind_.make(std::move(b_).finish());
    }

private:
    // Columns n0 + c .. + kTogether-1; one past the last reads the last one again.
    void columns(const Expr& c) {
        std::vector<Expr> offsets;
        for (int64_t j = 0; j < kTogether; ++j)
            offsets.push_back(b_.let("column", w_.offset + sym::min(n0_ + c + j, v_.n - 1) * v_.b.row_stride));
        std::vector<tile::View> sums;
        for (int64_t i = 0; i < rows_ * kTogether * chains_; ++i) {
            sums.push_back(b_.rmem("sum", v_.accumulator, {lanes_}));
            b_.fill(sums.back(), 0);
        }
        const int64_t step = lanes_ * chains_;
        const Expr whole = sym::floor_div(v_.k, step) * step;
        b_.loop("p", 0, whole, step, [&](const Expr& k0) {
            for (int64_t j = 0; j < kTogether; ++j) // the columns after these
                b_.prefetch(strided(w_, offsets[static_cast<size_t>(j)] + kTogether * v_.b.row_stride + k0, 1, 1), 2);
            for (int64_t i = 0; i < chains_; ++i) add(sums, i, offsets, k0 + i * lanes_, std::nullopt);
        });
        if (b_.facts().divisor(v_.k) % step != 0)
            b_.loop("p", whole, v_.k, lanes_, [&](const Expr& k0) { add(sums, 0, offsets, k0, v_.k - k0); });
        for (int64_t r = 0; r < rows_; ++r)
            for (int64_t j = 0; j < kTogether; ++j) {
                const tile::View& sum = sums[index(r, j, 0)];
                if (chains_ == 2) b_.map(sum, {sum, sums[index(r, j, 1)]}, plus);
                const tile::View one = b_.rmem("dot", v_.accumulator, {1});
                b_.fill(one, 0);
                scalar::Builder f;
                const scalar::Value x = f.parameter(v_.accumulator), y = f.parameter(v_.accumulator);
                b_.reduce({sum}, {strided(one, 0, lanes_, 0)}, f.finish({f.apply(scalar::Prim::add, {x, y})}));
                b_.copy(one, strided(dots_, dots_.offset + r * kColumns + c + j, 1, 1));
            }
    }

    size_t index(int64_t row, int64_t column, int64_t chain) const {
        return static_cast<size_t>((row * kTogether + column) * chains_ + chain);
    }

    void add(const std::vector<tile::View>& sums, int64_t chain, const std::vector<Expr>& offsets, const Expr& k0,
             const std::optional<Expr>& left) {
        std::vector<tile::View> columns;
        for (const Expr& offset : offsets) columns.push_back(vector(w_, offset + k0, left));
        for (int64_t r = 0; r < rows_; ++r) {
            const tile::View row = vector(a_, row_offsets_[static_cast<size_t>(r)] + k0, left);
            for (int64_t j = 0; j < kTogether; ++j) {
                const tile::View& sum = sums[index(r, j, chain)];
                b_.map(sum, {row, columns[static_cast<size_t>(j)], sum}, [](scalar::Builder& f, std::span<const scalar::Value> in) {
                    return f.apply(scalar::Prim::fma, {in[0], in[1], in[2]});
                });
            }
        }
    }

    // A vector of contiguous elements in the accumulator's dtype, zero past `left`.
    tile::View vector(const tile::View& memory, const Expr& offset, const std::optional<Expr>& left) {
        const tile::View piece = strided(memory, offset, lanes_, 1);
        tile::View v = b_.rmem("x", b_.dtype(memory), {lanes_});
        if (left)
            b_.copy(piece, v, {.limits = {tile::limit_of_mode(piece.layout, 0, *left)}});
        else
            b_.copy(piece, v);
        if (b_.dtype(memory) == v_.accumulator) return v;
        const tile::View cast = b_.rmem("cast", v_.accumulator, {lanes_});
        b_.map(cast, {v}, [](scalar::Builder&, std::span<const scalar::Value> in) { return in[0]; });
        return cast;
    }

    static scalar::Value plus(scalar::Builder& f, std::span<const scalar::Value> in) { return f.apply(scalar::Prim::add, {in[0], in[1]}); }

    const Problem& p_;
    const View& v_;
    int64_t lanes_, rows_, chains_;
    Builder b_;
    Binding bind_;
    StageEmitter at_;
    Expr n0_;
    tile::View a_, w_, dots_;
    std::vector<Expr> row_offsets_;
};

} // namespace

base::Verdict can_dot(const View& v) {
    if (!v.a.k_stride.is(1) || !v.b.k_stride.is(1)) return base::Verdict::no("an operand is not contiguous along the reduced dimension");
    return base::Verdict::yes();
}

Kernel emit_dots(const Problem& p, const View& v, int64_t vector_lanes, int64_t most_rows) {
    return Dots(p, v, vector_lanes, most_rows).run();
}

} // namespace codetta::kernels::gemm
