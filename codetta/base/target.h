// Target: the plain facts of a machine that code is made for. No behaviour, no LLVM, no driver.
#pragma once

#include "codetta/base/verdict.h"

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace codetta::base {

/// Features use Codetta's spelling: LLVM's name with '_' for '-' where the manuals say so:
/// avx2 fma f16c  avx512f avx512bw avx512vl avx512dq avx512_vnni avx512_bf16 avx512_fp16  amx_tile amx_bf16 amx_int8 amx_fp16
/// tma wgmma mbarrier cluster bf16_mma ...
struct Target {
    std::string name; ///< one of known_targets(): "x86_avx2", "x86_avx512", "x86_amx", "sm90"
    std::set<std::string, std::less<>> features;
    int vector_bits = 0; ///< width of the widest vector register used, 0 on a GPU

    int cores = 1; ///< CPU cores that the process may use
    int64_t l1_bytes = 0;
    int64_t l2_bytes = 0;
    int64_t l3_bytes = 0;

    /// What LLVM is told. `llvm_cpu` brings no features beyond the baseline: exactly `llvm_features` are used. `llvm_tune` (function
    /// attribute "tune-cpu") picks the scheduling model and is chosen from the features, never from the host's own name: virtual machines
    /// report wrong model numbers, and a wrong model once cost half the speed (spills in the k loop).
    std::string llvm_cpu;
    std::string llvm_tune;
    std::string llvm_features; ///< "+avx2,+fma,..."

    int sms = 0; ///< GPU: streaming multiprocessors
    int64_t smem_bytes = 0;

    bool has(std::string_view feature) const { return features.contains(feature); }

    friend bool operator==(const Target&, const Target&) = default;
};

/// The names that the option `target` knows, least able first; CPU targets, then GPU targets.
std::span<const std::string_view> known_targets();

/// The target `name` with exactly the features it needs and typical sizes (two cores, 32 KiB L1, 1 MiB L2, 32 MiB L3): for cross
/// compilation and reproducible texts.
/// @throws UserError with the nearest name when `name` is not known
Target make_target(std::string_view name);

/// Whether `machine` can run code made for `target`; the reason lists what is missing.
Verdict can_run(const Target& machine, const Target& target);

/// The target `name` with the sizes and cores of `machine`; optional features (avx512_bf16, ...) that `machine` has and `name` allows are
/// kept.
/// @throws UserError naming the missing features when `machine` cannot run it
Target select_target(const Target& machine, std::string_view name);

/// The best of known_targets() for a CPU with these features.
/// @throws UserError when not even x86_avx2 is possible
std::string_view best_cpu_target(const std::set<std::string, std::less<>>& features);

} // namespace codetta::base
