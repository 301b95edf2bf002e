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

} // namespace

void register_tile(Builder& b, const X86Config& c, const tile::View& a, const std::vector<Expr>& rows, const Expr& k_stride,
                   const tile::View& panel, const Expr& padded_k, const tile::View& result, const Ahead& ahead) {
    const tile::AtomSet atoms = targets::atoms();
    for (const std::string& feature : atoms.get(c.atom).required) b.require(feature);
    const auto mr = static_cast<int64_t>(rows.size());
    const DType accumulator = b.dtype(result);
    const bool evenly = mr > 1 && [&] {
        for (size_t r = 0; r < rows.size(); ++r)
            if (rows[r] != rows[0] + static_cast<int64_t>(r) * (rows[1] - rows[0])) return false;
        return true;
    }();
    const auto steps = [&](const tile::View& acc, const Expr& p0, int64_t count) {
        for (int64_t u = 0; u < count; ++u) {
            const Expr k0 = p0 + u * c.group;
            const tile::View bv = b.rmem("bv", c.dtype, {c.nr, c.group});
            b.copy({panel.buffer, panel.offset + k0 * c.nr, bv.layout, {}}, bv);
            const auto a_view = [&](size_t first, int64_t n, const Expr& row_stride) {
                return tile::View{a.buffer,
                                  a.offset + rows[first] + k0 * k_stride,
                                  tile::make_layout({IntTuple(n), IntTuple(c.group)}, {IntTuple(row_stride), IntTuple(k_stride)}),
                                  {}};
            };
            if (evenly)
                b.mma(c.atom, acc, a_view(0, mr, rows[1] - rows[0]), bv);
            else
                for (int64_t r = 0; r < mr; ++r) b.mma(c.atom, tile::slice(acc, 0, r, 1), a_view(static_cast<size_t>(r), 1, 0), bv);
        }
    };
    // The sum over from..to-1 in registers; `first`: it is the result, else it is added to what is there.
    const auto sum = [&](const Expr& from, const Expr& to, bool first) {
        const tile::View acc = b.rmem("acc", accumulator, {mr, c.nr});
        b.fill(acc, 0);
        const Expr step = kUnroll * c.group, whole = from + sym::floor_div(to - from, step) * step;
        b.loop("p", from, whole, step, [&](const Expr& p0) {
            if (ahead) ahead(p0);
            steps(acc, p0, kUnroll);
        });
        if (b.facts().divisor(to - from) % (kUnroll * c.group) != 0)
            b.loop("p", whole, to, c.group, [&](const Expr& p0) { steps(acc, p0, 1); });
        if (!first) {
            const tile::View before = b.rmem("before", accumulator, {mr, c.nr});
            b.copy(result, before);
            b.map(acc, {before, acc},
                  [](scalar::Builder& f, std::span<const scalar::Value> v) { return f.apply(scalar::Prim::add, {v[0], v[1]}); });
        }
        b.copy(acc, result);
    };
    const int64_t chunk = kSumChunk * c.group;
    if (b.facts().range(padded_k).hi <= chunk + chunk / 2) {
        sum(0, padded_k, true);
        return;
    }
    sum(0, sym::min(padded_k, chunk), true);
    const Expr chunks = sym::max(sym::floor_div(padded_k, chunk), 1) * chunk;
    b.loop("kc", chunk, chunks, chunk, [&](const Expr& kc) { sum(kc, kc + chunk, false); });
    if (b.facts().divisor(padded_k) % chunk != 0) b.when({sym::lt(chunks, padded_k)}, [&] { sum(chunks, padded_k, false); });
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
