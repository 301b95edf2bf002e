// The blocked product for CPUs: a register tile of mr rows by nr columns over panels of b, then the epilogue row by row.
#pragma once

#include <functional>
#include <string>

#include "codetta/kernels/gemm/panel.h"
#include "codetta/kernels/template.h"

namespace codetta::kernels::gemm {

struct X86Config {
    int64_t mr = 6, nr = 64; // register tile: rows, columns (a multiple of the vector)
    bool prepacked = false;  // b's panels are a lasting temporary
    bool few_rows = false;   // fewer rows than mr: addresses are clamped; else the last tile overlaps the one before
    std::string atom;
    scalar::DType dtype = scalar::DType::f32; // of the register tile's operands
    int64_t group = 1;                        // k elements per step of the atom
    int64_t block_rows = 0;                   // rows of a task, a multiple of mr: they stay in the second cache from panel to panel; 0: all
    int64_t part = 0;          // k of a panel that all rows of a task meet before the next part, a multiple of kSumChunk steps; 0: all
    int64_t likely_rows = 128; // of a task: how fast the next panel must be fetched
};

// The register tile for a target and dtypes: as many accumulators as registers allow, the rest for one row of b and a broadcast.
base::Verdict configure(const base::Target& t, scalar::DType a, scalar::DType b, scalar::DType accumulator, X86Config& c);

// result[r, n] = sum over k of a[rows[r] + k * k_stride] * panel[k][n]: accumulated in registers, kSumChunk steps of k at a time, whose
// sums meet in `result` (mr x nr, in scratch): a long sum in one go would lose more bits than a library's.
inline constexpr int64_t kSumChunk = 256;
// `ahead` is called once per kUnroll steps of k with their first k: it emits prefetches.
inline constexpr int64_t kUnroll = 4;
using Ahead = std::function<void(const sym::Expr& k0)>;
void register_tile(tile::Builder& b, const X86Config& c, const tile::View& a, const std::vector<sym::Expr>& rows, const sym::Expr& k_stride,
                   const tile::View& panel, const sym::Expr& padded_k, const tile::View& result, const Ahead& ahead = {});
// result += the sums over from .. to-1 (in multiples of the atom's group, `to` may lie past k as far as the panel is padded), kSumChunk
// steps at a time.
void add_to_tile(tile::Builder& b, const X86Config& c, const tile::View& a, const std::vector<sym::Expr>& rows, const sym::Expr& k_stride,
                 const tile::View& panel, const sym::Expr& from, const sym::Expr& to, const tile::View& result, const Ahead& ahead = {});
// Elements 0 .. k-1 (stride k_stride) of `from` to contiguous ones of `to`, in its dtype, zero up to converted_row(k).
void convert_row(tile::Builder& b, const tile::View& from, const sym::Expr& k_stride, const sym::Expr& k, const tile::View& to);
sym::Expr converted_row(const sym::Expr& k);

// The kernel that fills temporary 0 with the panels of b.
Kernel emit_pack(const problem::Problem& p, const View& v, const X86Config& c);
// The product; with `prepacked` it reads temporary 0.
Kernel emit_product(const problem::Problem& p, const View& v, const X86Config& c);

Template x86();

} // namespace codetta::kernels::gemm
