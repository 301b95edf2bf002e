#include "codetta/base/error.h"
#include "codetta/runtime/detect_machine.h"
#include "codetta/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace codetta::runtime {
namespace {

std::set<std::string> kernel_flags() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("flags")) continue;
        std::istringstream words(line.substr(line.find(':') + 1));
        return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
    }
    return {};
}

TEST(DetectMachine, AgreesWithTheKernel) {
    const base::Target& machine = detect_machine();
    const std::set<std::string> flags = kernel_flags();
    if (flags.empty()) GTEST_SKIP() << "no /proc/cpuinfo";
    const std::pair<const char*, const char*> spellings[] = {{"avx2", "avx2"},
                                                             {"fma", "fma"},
                                                             {"f16c", "f16c"},
                                                             {"bmi", "bmi1"},
                                                             {"bmi2", "bmi2"},
                                                             {"lzcnt", "abm"},
                                                             {"popcnt", "popcnt"},
                                                             {"avx512f", "avx512f"},
                                                             {"avx512bw", "avx512bw"},
                                                             {"avx512cd", "avx512cd"},
                                                             {"avx512vl", "avx512vl"},
                                                             {"avx512dq", "avx512dq"},
                                                             {"avx512_vnni", "avx512_vnni"},
                                                             {"avx512_bf16", "avx512_bf16"},
                                                             {"avx512_fp16", "avx512_fp16"},
                                                             {"avx512_vbmi", "avx512vbmi"},
                                                             {"amx_tile", "amx_tile"},
                                                             {"amx_bf16", "amx_bf16"},
                                                             {"amx_int8", "amx_int8"}};
    for (const auto& [ours, theirs] : spellings) EXPECT_EQ(machine.has(ours), flags.contains(theirs)) << ours;
}

TEST(DetectMachine, HasSizesAndCores) {
    const base::Target& machine = detect_machine();
    EXPECT_GE(machine.l1_bytes, 8 << 10);
    EXPECT_GE(machine.l2_bytes, machine.l1_bytes);
    EXPECT_EQ(machine.cores, usable_cores());
    EXPECT_EQ(&detect_machine(), &machine);
}

TEST(DetectMachine, AutoIsTheBestAndNamesAreChecked) {
    const base::Target best = host_target();
    EXPECT_EQ(best.name, detect_machine().name);
    EXPECT_TRUE(base::can_run(detect_machine(), best));
    EXPECT_EQ(host_target("x86_avx2").vector_bits, 256);
    try {
        (void)host_target("x86_avx521");
        FAIL();
    } catch (const base::UserError& error) {
        EXPECT_STREQ(error.what(), "unknown target 'x86_avx521'; did you mean 'x86_avx512'?");
    }
}

TEST(DetectMachine, EnsureFeaturesNamesWhatIsMissing) {
    const std::vector<std::string> present = {"avx2", "fma"}, absent = {"avx2", "quantum"};
    EXPECT_NO_THROW(ensure_features(present));
    try {
        ensure_features(absent);
        FAIL();
    } catch (const base::UserError& error) {
        EXPECT_EQ(std::string(error.what()), "cannot run this code: this machine (" + detect_machine().name +
                                                 ") lacks quantum; compile it for a target that this machine has");
    }
}

TEST(DetectMachine, AsksForTiles) {
    if (!detect_machine().has("amx_tile")) GTEST_SKIP() << "no AMX on this machine";
    const std::vector<std::string> amx = {"amx_tile"};
    EXPECT_NO_THROW(ensure_features(amx));
    EXPECT_NO_THROW(ensure_features(amx)) << "asking twice is harmless";
}

} // namespace
} // namespace codetta::runtime
