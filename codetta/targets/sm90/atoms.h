// The atoms of NVIDIA Hopper (compute capability 9.0a): wgmma, TMA copies, stmatrix. PTX ISA 8.3, sections 9.7.14 (wgmma), 9.7.8.24
// (cp.async.bulk.tensor), 9.7.13.5 (stmatrix).
#pragma once

#include <string>
#include <vector>

#include "codetta/layout/layout.h"
#include "codetta/scalar/dtype.h"
#include "codetta/tile/atom.h"

namespace codetta::targets::sm90 {

// d (64, n) f32 in registers += a (64, 16) * b (n, 16), both in shared memory with the 128-byte swizzle, K-major; n = 8, 16 .. 256; dtype
// bf16 or f16. Thread t of the warpgroup holds rows 16 * (t / 32) + t % 32 / 4 and that + 8, columns 2 * (t % 4) + {0, 1} + 8 * j: value 4
// * j + 2 * (lower row) + (second column).
tile::Atom wgmma(int n, scalar::DType dtype);
std::string wgmma_name(int n, scalar::DType dtype); // `sm90.wgmma_m64n256k16_f32_bf16`

// The values of one thread of a wgmma accumulator of n columns, by the modes (column of a pair, upper or lower row, pair of columns): (2,
// 2, n / 8):(1, 2, 4).
layout::Layout accumulator_values(int n);

inline constexpr const char* kTmaLoad = "sm90.tma_load";
inline constexpr const char* kTmaStore = "sm90.tma_store";
inline constexpr const char* kStmatrix =
    "sm90.stmatrix_x4"; // a warp stores 16 x 16 elements of 16 bits, laid out in its registers as a wgmma accumulator's 16 columns

} // namespace codetta::targets::sm90
