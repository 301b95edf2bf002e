#include "codetta/runtime/detect_machine.h"

#include "codetta/base/error.h"
#include "codetta/runtime/thread_pool.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace codetta::runtime {

namespace {

struct CpuidResult {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidResult cpuid(unsigned leaf, unsigned subleaf = 0) {
    CpuidResult r;
    if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
    return r;
}

/// XCR0: which register states the operating system saves (Intel SDM vol. 1, 13.3).
uint64_t saved_states() {
    if (!(cpuid(1).ecx & (1u << 27))) return 0; // OSXSAVE
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t(high) << 32 | low;
}

constexpr uint64_t ymm_states = 0x6;      // XMM, YMM
constexpr uint64_t zmm_states = 0xe6;     // and opmask, upper halves of ZMM0-15, ZMM16-31
constexpr uint64_t tile_states = 0x60000; // TILECFG, TILEDATA
constexpr int tile_data_state = 18;

struct FeatureRow {
    const char* name;
    unsigned leaf, subleaf;
    unsigned CpuidResult::* reg;
    int bit;
    uint64_t states; // that the operating system must save
};

// Intel SDM vol. 2A, CPUID; lzcnt: AMD APM vol. 3, appendix E.
constexpr FeatureRow feature_rows[] = {
    {"popcnt", 1, 0, &CpuidResult::ecx, 23, 0},
    {"lzcnt", 0x80000001, 0, &CpuidResult::ecx, 5, 0},
    {"bmi", 7, 0, &CpuidResult::ebx, 3, 0},
    {"bmi2", 7, 0, &CpuidResult::ebx, 8, 0},
    {"fma", 1, 0, &CpuidResult::ecx, 12, ymm_states},
    {"f16c", 1, 0, &CpuidResult::ecx, 29, ymm_states},
    {"avx2", 7, 0, &CpuidResult::ebx, 5, ymm_states},
    {"avx512f", 7, 0, &CpuidResult::ebx, 16, zmm_states},
    {"avx512dq", 7, 0, &CpuidResult::ebx, 17, zmm_states},
    {"avx512cd", 7, 0, &CpuidResult::ebx, 28, zmm_states},
    {"avx512bw", 7, 0, &CpuidResult::ebx, 30, zmm_states},
    {"avx512vl", 7, 0, &CpuidResult::ebx, 31, zmm_states},
    {"avx512_vbmi", 7, 0, &CpuidResult::ecx, 1, zmm_states},
    {"avx512_vnni", 7, 0, &CpuidResult::ecx, 11, zmm_states},
    {"avx512_fp16", 7, 0, &CpuidResult::edx, 23, zmm_states},
    {"avx512_bf16", 7, 1, &CpuidResult::eax, 5, zmm_states},
    {"amx_bf16", 7, 0, &CpuidResult::edx, 22, tile_states},
    {"amx_tile", 7, 0, &CpuidResult::edx, 24, tile_states},
    {"amx_int8", 7, 0, &CpuidResult::edx, 25, tile_states},
    {"amx_fp16", 7, 1, &CpuidResult::eax, 21, tile_states},
};

/// "48K" -> 49152; 0 when there is no such file.
int64_t read_size(const std::string& path) {
    std::ifstream file(path);
    int64_t size = 0;
    char unit = 0;
    file >> size >> unit;
    return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

void read_caches(base::Target& target) {
    for (int index = 0; index < 8; index++) {
        const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
        std::string type;
        std::ifstream(folder + "type") >> type;
        int level = 0;
        std::ifstream(folder + "level") >> level;
        if (type != "Data" && type != "Unified") continue;
        int64_t& place = level == 1 ? target.l1_bytes : level == 2 ? target.l2_bytes : target.l3_bytes;
        if (level >= 1 && level <= 3) place = read_size(folder + "size");
    }
    // Some sandboxes hide sysfs: typical sizes of the last ten years then.
    if (target.l1_bytes == 0) target.l1_bytes = 32 << 10;
    if (target.l2_bytes == 0) target.l2_bytes = 1 << 20;
}

base::Target detect() {
    base::Target target;
    const uint64_t states = saved_states();
    for (const FeatureRow& row : feature_rows)
        if ((cpuid(row.leaf, row.subleaf).*row.reg >> row.bit & 1) && (states & row.states) == row.states) target.features.insert(row.name);
    target.name = base::best_cpu_target(target.features);
    target.vector_bits = target.has("avx512f") ? 512 : 256;
    target.cores = usable_cores();
    read_caches(target);
    return target;
}

/// Intel SDM vol. 1, 13.14: tile data is given on request only; asking twice is harmless.
void ask_for_tiles() {
    constexpr int request_permission = 0x1023; // ARCH_REQ_XCOMP_PERM
    if (syscall(SYS_arch_prctl, request_permission, tile_data_state) != 0)
        throw base::DeviceError(fmt::format("the kernel refuses AMX tiles: {}", std::generic_category().message(errno)), {},
                                "use target=x86_avx512, or Linux 5.16 or newer");
}

} // namespace

const base::Target& detect_machine() {
    static const base::Target machine = detect();
    return machine;
}

base::Target host_target(std::string_view name) {
    const base::Target& machine = detect_machine();
    return base::select_target(machine, name == "auto" ? std::string_view(machine.name) : name);
}

void ensure_features(std::span<const std::string> features) {
    base::Target wanted;
    wanted.features.insert(features.begin(), features.end());
    if (const base::Verdict verdict = base::can_run(detect_machine(), wanted); !verdict)
        throw base::UserError(fmt::format("cannot run this code: {}", verdict.reason()), {},
                              "compile it for a target that this machine has");
    if (std::ranges::any_of(features, [](const std::string& feature) { return feature.starts_with("amx_"); })) ask_for_tiles();
}

} // namespace codetta::runtime
