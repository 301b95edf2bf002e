// Hopper's matrix product: out[m, n] = epilogue(sum over k of a[m, k] * b[n, k]), both operands K-major, 16-bit floats, f32 accumulators.
//
// Persistent CTAs of one producer warpgroup (one thread issues TMA loads into a ring of stages) and consumer warpgroups (wgmma from shared
// memory; epilogue in registers; stmatrix and TMA stores). Cooperative: the consumers share one output tile. Ping-pong: each has a tile of
// its own and the epilogue of one runs under the k loop of the other.
#pragma once

#include "codetta/base/verdict.h"
#include "codetta/kernels/gemm/epilogue_sm90.h"

namespace codetta::kernels::gemm {

struct GemmSm90Config {
    bool pingpong = false;
    int rows = 1;     // m64 blocks per consumer warpgroup
    int tile_n = 256; // 64 .. 256, a multiple of 64
    int stages = 4;   // of 64 columns of k
    int staging = 2;  // 8 KiB output buffers per consumer warpgroup
    int consumers = 2;
    int group = 16; // tile rows of a raster group
    int producer_registers = 40, consumer_registers = 232;

    int tile_m() const { return 64 * rows * (pingpong ? 1 : consumers); }
    int threads() const { return 128 * (1 + consumers); }
    friend bool operator==(const GemmSm90Config&, const GemmSm90Config&) = default;
};

// `128x256x64_s4`, `pp_64x128x64_s6`
std::string to_string(const GemmSm90Config& c);
// The configurations worth trying, best for large squares first.
std::vector<GemmSm90Config> gemm_sm90_configs();
// Whether shared memory, registers and staging fit.
base::Verdict can_build(const GemmSm90Config& c);

// Parameters: tensormaps a, b (boxes of a tile by 64), out (box 64 by 64), then the epilogue's operands; integers m, n, k (n and k
// multiples of 8), then the epilogue's strides.
tile::Program build_gemm_sm90(const std::string& name, const GemmSm90Config& c, scalar::DType dtype, const Epilogue& epilogue);

} // namespace codetta::kernels::gemm
