#include "codetta/kernels/gemm/x86.h"
#include "codetta/kernels/stage_emitter.h"
#include "codetta/layout/int_tuple.h"
#include "codetta/targets/list.h"

namespace codetta::kernels::gemm {

using layout::IntTuple;
using scalar::DType;
using sym::Expr;
using tile::Builder;

namespace {

constexpr int64_t kConvert = 64; // elements of a row of `a` that are converted at a time

class RegisterTile {
public:
    RegisterTile(Builder& b, const X86Config& c, const tile::View& a, const std::vector<Expr>& rows, const Expr& k_stride,
                 const tile::View& panel, const tile::View& result, const Ahead& ahead)
        : b_(b), c_(c), a_(a), rows_(rows), k_stride_(k_stride), panel_(panel), result_(result), ahead_(ahead) {
        const tile::AtomSet atoms = targets::atoms();
        for (const std::string& feature : atoms.get(c.atom).required) b.require(feature);
        evenly_ = rows.size() > 1;
        for (size_t r = 0; r < rows.size() && evenly_; ++r) evenly_ = rows[r] == rows[0] + static_cast<int64_t>(r) * (rows[1] - rows[0]);
    }

    // The sum over from..to-1 in registers; `first`: it is the result, else it is added to what is there.
    void sum(const Expr& from, const Expr& to, bool first) {
        const std::vector<int64_t> shape{static_cast<int64_t>(rows_.size()), c_.nr};
        const DType accumulator = b_.dtype(result_);
        const tile::View acc = b_.rmem("acc", accumulator, shape);
        b_.fill(acc, 0);
        const Expr step = kUnroll * c_.group, whole = from + sym::floor_div(to - from, step) * step;
        b_.loop("p", from, whole, step, [&](const Expr& p0) {
            if (ahead_) ahead_(p0);
            steps(acc, p0, kUnroll);
        });
        if (b_.facts().divisor(to - from) % (kUnroll * c_.group) != 0)
            b_.loop("p", whole, to, c_.group, [&](const Expr& p0) { steps(acc, p0, 1); });
        if (!first) {
            const tile::View before = b_.rmem("before", accumulator, shape);
            b_.copy(result_, before);
            b_.map(acc, {before, acc},
                   [](scalar::Builder& f, std::span<const scalar::Value> v) { return f.apply(scalar::Prim::add, {v[0], v[1]}); });
        }
        b_.copy(acc, result_);
    }

private:
    void steps(const tile::View& acc, const Expr& p0, int64_t count) {
        const auto mr = static_cast<int64_t>(rows_.size());
        for (int64_t u = 0; u < count; ++u) {
            const Expr k0 = p0 + u * c_.group;
            const tile::View bv = b_.rmem("bv", c_.dtype, {c_.nr, c_.group});
            b_.copy({panel_.buffer, panel_.offset + k0 * c_.nr, bv.layout, {}}, bv);
            if (evenly_)
                b_.mma(c_.atom, acc, a_view(0, mr, rows_[1] - rows_[0], k0), bv);
            else
                for (int64_t r = 0; r < mr; ++r) b_.mma(c_.atom, tile::slice(acc, 0, r, 1), a_view(static_cast<size_t>(r), 1, 0, k0), bv);
        }
    }

    tile::View a_view(size_t first, int64_t n, const Expr& row_stride, const Expr& k0) const {
        return {a_.buffer,
                a_.offset + rows_[first] + k0 * k_stride_,
                tile::make_layout({IntTuple(n), IntTuple(c_.group)}, {IntTuple(row_stride), IntTuple(k_stride_)}),
                {}};
    }

    Builder& b_;
    const X86Config& c_;
    const tile::View& a_;
    const std::vector<Expr>& rows_;
    const Expr& k_stride_;
    const tile::View &panel_, &result_;
    const Ahead& ahead_;
    bool evenly_ = false; // the rows lie at one stride
};

} // namespace

void register_tile(Builder& b, const X86Config& c, const tile::View& a, const std::vector<Expr>& rows, const Expr& k_stride,
                   const tile::View& panel, const Expr& padded_k, const tile::View& result, const Ahead& ahead) {
    RegisterTile tile(b, c, a, rows, k_stride, panel, result, ahead);
    const int64_t chunk = kSumChunk * c.group;
    if (b.facts().range(padded_k).hi <= chunk + chunk / 2) {
        tile.sum(0, padded_k, true);
        return;
    }
    tile.sum(0, sym::min(padded_k, chunk), true);
    const Expr chunks = sym::max(sym::floor_div(padded_k, chunk), 1) * chunk;
    b.loop("kc", chunk, chunks, chunk, [&](const Expr& kc) { tile.sum(kc, kc + chunk, false); });
    if (b.facts().divisor(padded_k) % chunk != 0) b.when({sym::lt(chunks, padded_k)}, [&] { tile.sum(chunks, padded_k, false); });
}

void add_to_tile(Builder& b, const X86Config& c, const tile::View& a, const std::vector<Expr>& rows, const Expr& k_stride,
                 const tile::View& panel, const Expr& from, const Expr& to, const tile::View& result, const Ahead& ahead) {
    RegisterTile tile(b, c, a, rows, k_stride, panel, result, ahead);
    const int64_t chunk = kSumChunk * c.group;
    b.loop("kc", from, to, chunk, [&](const Expr& kc) { tile.sum(kc, sym::min(kc + chunk, to), false); });
}

void convert_row(Builder& b, const tile::View& from, const Expr& k_stride, const Expr& k, const tile::View& to) {
    const DType have = b.dtype(from), want = b.dtype(to);
    b.loop("ck", 0, k, kConvert, [&](const Expr& k0) {
        const tile::View raw = b.rmem("a_raw", have, {kConvert});
        const tile::View piece = strided(from, from.offset + k0 * k_stride, kConvert, k_stride);
        b.copy(piece, raw, {.limits = {tile::limit_of_mode(piece.layout, 0, k - k0)}});
        tile::View cast = raw;
        if (have != want) {
            cast = b.rmem("a_cast", want, {kConvert});
            b.map(cast, {raw}, [](scalar::Builder&, std::span<const scalar::Value> in) { return in[0]; });
        }
        b.copy(cast, strided(to, to.offset + k0, kConvert, 1));
    });
}

Expr converted_row(const Expr& k) { return sym::ceil_div(k, kConvert) * kConvert; }

} // namespace codetta::kernels::gemm
