#include "codetta/base/error.h"
#include "codetta/base/target.h"

#include <gtest/gtest.h>

namespace codetta::base {
namespace {

std::string message_of(auto action) {
    try {
        action();
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

TEST(Target, KnownTargetsCanBeMade) {
    EXPECT_EQ(std::vector<std::string_view>(known_targets().begin(), known_targets().end()),
              (std::vector<std::string_view>{"x86_avx2", "x86_avx512", "x86_amx", "sm90"}));
    for (std::string_view name : known_targets()) {
        const Target target = make_target(name);
        EXPECT_EQ(target.name, name);
        EXPECT_TRUE(can_run(target, target));
    }
    EXPECT_EQ(message_of([] { (void)make_target("x86_avx51"); }), "unknown target 'x86_avx51'; did you mean 'x86_avx512'?");
}

TEST(Target, FeaturesReachLlvmInItsSpelling) {
    const Target avx2 = make_target("x86_avx2");
    EXPECT_EQ(avx2.llvm_features, "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+popcnt");
    EXPECT_EQ(avx2.vector_bits, 256);
    const Target amx = make_target("x86_amx");
    EXPECT_NE(amx.llvm_features.find("+amx-bf16,+amx-tile"), std::string::npos) << amx.llvm_features;
    EXPECT_NE(amx.llvm_features.find("+avx512bf16"), std::string::npos) << amx.llvm_features;
    // The tuning comes from the features; the CPU name brings none of its own.
    EXPECT_EQ(amx.llvm_tune, "sapphirerapids");
    EXPECT_EQ(amx.llvm_cpu, "x86-64");
}

TEST(Target, SelectKeepsWhatTheMachineHasAndTheTargetAllows) {
    Target machine = make_target("x86_avx512");
    machine.features.insert("avx512_bf16");
    machine.features.insert("amx_tile");
    machine.cores = 7;
    machine.l2_bytes = 12345;
    const Target target = select_target(machine, "x86_avx512");
    EXPECT_TRUE(target.has("avx512_bf16"));
    EXPECT_FALSE(target.has("avx512_fp16"));
    EXPECT_FALSE(target.has("amx_tile"));
    EXPECT_EQ(target.cores, 7);
    EXPECT_EQ(target.l2_bytes, 12345);
    EXPECT_FALSE(select_target(machine, "x86_avx2").has("avx512f"));
    EXPECT_EQ(message_of([&] { (void)select_target(machine, "x86_amx"); }),
              "target 'x86_amx' cannot run here: this machine (x86_avx512) lacks amx_bf16; use target=auto or one that the machine has");
}

TEST(Target, BestIsTheLastThatFits) {
    EXPECT_EQ(best_cpu_target(make_target("x86_amx").features), "x86_amx");
    EXPECT_EQ(best_cpu_target(make_target("x86_avx2").features), "x86_avx2");
    EXPECT_EQ(message_of([] { (void)best_cpu_target({"avx2", "fma"}); }),
              "this processor lacks f16c, bmi, bmi2, lzcnt, popcnt; Codetta needs an x86-64 processor with AVX2 and FMA");
}

} // namespace
} // namespace codetta::base
