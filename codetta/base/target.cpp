#include "codetta/base/target.h"

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"

#include <algorithm>
#include <array>

namespace codetta::base {

namespace {

struct TargetRow {
    std::string_view name;
    bool cpu;
    int vector_bits;
    std::string_view llvm_cpu;
    std::string_view llvm_tune;
    std::vector<std::string_view> required;
    std::vector<std::string_view> optional; // used when the machine has them
};

const std::vector<TargetRow>& target_rows() {
    static const std::vector<TargetRow> rows = {
        {"x86_avx2", true, 256, "x86-64", "haswell", {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt"}, {}},
        // Not skylake-avx512: its scheduling model caused spills in wide register tiles (14 rows by 2 vectors, unrolled by 2).
        {"x86_avx512",
         true,
         512,
         "x86-64",
         "sapphirerapids",
         {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt", "avx512f", "avx512bw", "avx512cd", "avx512vl", "avx512dq"},
         {"avx512_vnni", "avx512_bf16", "avx512_fp16", "avx512_vbmi"}},
        {"x86_amx",
         true,
         512,
         "x86-64",
         "sapphirerapids",
         {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "popcnt", "avx512f", "avx512bw", "avx512cd", "avx512vl", "avx512dq", "avx512_bf16",
          "amx_tile", "amx_bf16"},
         {"avx512_vnni", "avx512_fp16", "avx512_vbmi", "amx_int8", "amx_fp16"}},
        {"sm90", false, 0, "sm_90a", "", {"tma", "wgmma", "mbarrier", "cluster", "stmatrix", "griddep"}, {}},
    };
    return rows;
}

const TargetRow& find_row(std::string_view name) {
    for (const TargetRow& row : target_rows())
        if (row.name == name) return row;
    throw UserError(fmt::format("unknown target '{}'{}", name, did_you_mean(name, known_targets())));
}

/// LLVM spells the AVX-512 extensions without '_' and AMX's with '-'.
std::string llvm_feature_name(std::string_view feature) {
    std::string name(feature);
    if (name.starts_with("avx512_")) name.erase(6, 1);
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

std::string llvm_features_of(const Target& target, bool cpu) {
    if (!cpu) return "+ptx86";
    std::string text;
    for (const std::string& feature : target.features) text += (text.empty() ? "+" : ",+") + llvm_feature_name(feature);
    return text;
}

std::string missing_features(const std::set<std::string, std::less<>>& have, const auto& need) {
    std::string missing;
    for (const auto& feature : need)
        if (!have.contains(feature)) missing += (missing.empty() ? "" : ", ") + std::string(feature);
    return missing;
}

} // namespace

std::span<const std::string_view> known_targets() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> made;
        for (const TargetRow& row : target_rows()) made.push_back(row.name);
        return made;
    }();
    return names;
}

Target make_target(std::string_view name) {
    const TargetRow& row = find_row(name);
    Target target;
    target.name = row.name;
    target.features.insert(row.required.begin(), row.required.end());
    target.vector_bits = row.vector_bits;
    target.llvm_cpu = row.llvm_cpu;
    target.llvm_tune = row.llvm_tune;
    target.llvm_features = llvm_features_of(target, row.cpu);
    if (row.cpu) {
        target.cores = 2;
        target.l1_bytes = 32 << 10;
        target.l2_bytes = 1 << 20;
        target.l3_bytes = 32 << 20;
    } else {
        target.sms = 132;
        target.smem_bytes = 227 << 10;
        target.l2_bytes = 50 << 20;
    }
    return target;
}

Verdict can_run(const Target& machine, const Target& target) {
    const std::string missing = missing_features(machine.features, target.features);
    if (missing.empty()) return Verdict::yes();
    return Verdict::no("this machine ({}) lacks {}", machine.name, missing);
}

Target select_target(const Target& machine, std::string_view name) {
    const TargetRow& row = find_row(name);
    Target target = make_target(name);
    if (const Verdict verdict = can_run(machine, target); !verdict)
        throw UserError(fmt::format("target '{}' cannot run here: {}", name, verdict.reason()), {},
                        "use target=auto or one that the machine has");
    for (std::string_view feature : row.optional)
        if (machine.has(feature)) target.features.emplace(feature);
    target.llvm_features = llvm_features_of(target, row.cpu);
    target.cores = machine.cores;
    target.l1_bytes = machine.l1_bytes;
    target.l2_bytes = machine.l2_bytes;
    target.l3_bytes = machine.l3_bytes;
    return target;
}

std::string_view best_cpu_target(const std::set<std::string, std::less<>>& features) {
    std::string_view best;
    std::string missing;
    for (const TargetRow& row : target_rows()) {
        if (!row.cpu) continue;
        const std::string lacks = missing_features(features, row.required);
        if (lacks.empty()) best = row.name;
        if (row.name == known_targets().front()) missing = lacks;
    }
    if (best.empty())
        throw UserError(fmt::format("this processor lacks {}", missing), {}, "Codetta needs an x86-64 processor with AVX2 and FMA");
    return best;
}

} // namespace codetta::base
