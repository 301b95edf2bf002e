// Hopper kernels from tile program to PTX, and what ptxas makes of it: registers, spills, shared memory, tensor-core instructions. Needs no
// GPU; without ptxas the second half is skipped.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "codetta/base/error.h"
#include "codetta/codegen/compile.h"
#include "codetta/kernels/gemm/gemm_sm90.h"
#include "codetta/targets/list.h"
#include "codetta/tile/builder.h"
#include "codetta/tile/interpret.h"
#include "codetta/tile/verify.h"

namespace codetta {
namespace {

using scalar::DType;

std::string ptx(const tile::Program& p) {
    const tile::AtomSet atoms = targets::atoms();
    tile::verify(p, atoms);
    return codegen::assembly(p, atoms, base::make_target("sm90"));
}

int count(const std::string& text, const std::string& word) {
    int found = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
}

bool has_ptxas() { return std::system("ptxas --version > /dev/null 2>&1") == 0; }

// What `ptxas -v` says of the one kernel in it.
std::string assemble(const std::string& text) {
    const auto folder = std::filesystem::path(::testing::TempDir());
    const std::string stem = (folder / ::testing::UnitTest::GetInstance()->current_test_info()->name()).string();
    std::ofstream(stem + ".ptx") << text;
    FILE* pipe = popen(("ptxas -arch=sm_90a -O3 -v '" + stem + ".ptx' -o '" + stem + ".cubin' 2>&1").c_str(), "r");
    std::string said;
    std::array<char, 512> line;
    while (pipe && fgets(line.data(), line.size(), pipe)) said += line.data();
    if (!pipe || pclose(pipe) != 0) said += "ptxas failed";
    std::filesystem::remove(stem + ".ptx");
    std::filesystem::remove(stem + ".cubin");
    return said;
}

struct Golden {
    const char* config;
    const char* epilogue;
    int wgmma; // instructions in the k loop
    int64_t smem_bytes;
};

TEST(Sm90, GemmGoldens) {
    namespace gemm = kernels::gemm;
    const Golden goldens[] = {
        {"128x256x64_s4", "none", 4, 229440},    {"128x256x64_s4", "gelu_tanh", 4, 229440},    {"128x256x64_s4", "gelu_erf", 4, 229440},
        {"128x192x64_s4", "none", 4, 213056},    {"128x192x64_s4", "gelu_tanh", 4, 213056},    {"128x192x64_s4", "gelu_erf", 4, 213056},
        {"pp_128x128x64_s6", "none", 8, 229472}, {"pp_128x128x64_s6", "gelu_tanh", 8, 229472}, {"pp_128x128x64_s6", "gelu_erf", 8, 229472},
        {"pp_64x128x64_s8", "none", 4, 229504},  {"pp_64x128x64_s8", "gelu_tanh", 4, 229504},  {"pp_64x128x64_s8", "gelu_erf", 4, 229504},
    };
    const bool assembler = has_ptxas();
    size_t at = 0;
    for (const gemm::GemmSm90Config& config : gemm::gemm_sm90_configs())
        for (const gemm::Epilogue& epilogue : {gemm::plain_epilogue(DType::bf16), gemm::bias_gelu_epilogue(DType::bf16, true),
                                               gemm::bias_gelu_epilogue(DType::bf16, false)}) {
            ASSERT_LT(at, std::size(goldens));
            const Golden& golden = goldens[at++];
            SCOPED_TRACE(std::string(golden.config) + " " + golden.epilogue);
            EXPECT_EQ(gemm::to_string(config), golden.config);
            const tile::Program program = gemm::build_gemm_sm90("gemm", config, DType::bf16, epilogue);
            EXPECT_EQ(tile::smem_bytes(program), golden.smem_bytes);
            const std::string text = ptx(program);
            EXPECT_EQ(count(text, "wgmma.mma_async"), golden.wgmma);
            EXPECT_EQ(count(text, "cp.async.bulk.tensor.2d.shared::cluster.global"), 2);
            EXPECT_EQ(count(text, ".local"), 0); // no fragment left in memory, no tensor map copied
            EXPECT_EQ(count(text, "setmaxnreg"), 2);
            EXPECT_NE(text.find(".reqntid 384"), std::string::npos);
            if (!assembler) continue;
            const std::string said = assemble(text);
            EXPECT_NE(said.find("Used 168 registers"), std::string::npos) << said; // the share of 384 threads; setmaxnreg moves it
            EXPECT_NE(said.find(" 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"), std::string::npos) << said;
            EXPECT_EQ(said.find("warning"), std::string::npos) << said; // C7510: wgmma serialised; C7508: setmaxnreg ignored
        }
    EXPECT_EQ(at, std::size(goldens));
    if (!assembler) GTEST_SKIP() << "no ptxas in the path: registers and spills are not checked";
}

TEST(Sm90, HalfFloats) {
    namespace gemm = kernels::gemm;
    const std::string text = ptx(gemm::build_gemm_sm90("gemm", gemm::gemm_sm90_configs()[3], DType::f16, gemm::bias_epilogue(DType::f16)));
    EXPECT_EQ(count(text, "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"), 4);
    EXPECT_EQ(count(text, "cvt.rn.f16x2.f32"), 32);
    if (!has_ptxas()) GTEST_SKIP() << "no ptxas in the path";
    EXPECT_NE(assemble(text).find("0 bytes spill stores"), std::string::npos);
}

// A kernel without tensor cores: rows of 1024 are summed by 128 threads, through shuffles and shared memory.
TEST(Sm90, RowSum) {
    using namespace tile;
    using layout::IntTuple;
    using sym::Expr;
    Builder b("row_sum");
    Expr rows = b.integer("rows", {1, 1 << 20});
    View x = b.input("x", DType::bf16, {rows, 1024}, {1024, 1}, 16), y = b.output("y", DType::f32, {rows}, {1});
    b.grid(rows, 128);
    Expr thread = Expr::symbol("thread"), row = Expr::symbol("cta"), warp = Expr::symbol("warp");
    View own = b.rmem("own", DType::bf16, {8}), wide = b.rmem("wide", DType::f32, {8}), sum = b.rmem("sum", DType::f32, {1}),
         other = b.rmem("other", DType::f32, {1});
    View parts = b.alloc("parts", Space::smem, DType::f32, {4, 1});
    b.copy(tile::tile(at(x, 0, row), 0, 8, thread), own);
    b.map(wide, {own}, [](scalar::Builder& s, auto in) { return s.cast(DType::f32, in[0]); });
    b.fill(sum, 0);
    scalar::Builder add;
    auto left = add.parameter(DType::f32), right = add.parameter(DType::f32);
    scalar::Function plus = add.finish({add.apply(scalar::Prim::add, {left, right})});
    b.reduce({wide}, {with_layout(sum, {8, 0})}, plus);
    for (int mask = 16; mask > 0; mask /= 2) {
        b.shuffle(sum, other, mask);
        b.reduce({other}, {sum}, plus);
    }
    b.when({eq(mod(thread, 32), 0)}, [&] { b.copy(sum, slice(parts, 0, warp, 1)); });
    b.emit({Sync{}});
    b.when({eq(thread, 0)}, [&] {
        View all = b.rmem("all", DType::f32, {4});
        b.copy(parts, all);
        b.fill(sum, 0);
        b.reduce({all}, {with_layout(sum, {4, 0})}, plus);
        b.copy(sum, slice(y, 0, row, 1));
    });
    const Program program = std::move(b).finish();
    scalar::HostArray input(DType::bf16, {3, 1024}), output(DType::f32, {3});
    for (int64_t r = 0; r < 3; ++r)
        for (int64_t c = 0; c < 1024; ++c) {
            const int64_t place[2] = {r, c};
            input.store(place, scalar::make_float(DType::f64, static_cast<double>((c * 5 + r) % 7 - 3)));
        }
    EXPECT_EQ(interpret(program, targets::atoms(), {{input.view({3 * 1024}, {1}, 0), output}, {3}}), 0);
    for (int64_t r = 0; r < 3; ++r) {
        double want = 0;
        for (int64_t c = 0; c < 1024; ++c) want += static_cast<double>((c * 5 + r) % 7 - 3);
        EXPECT_EQ(output.as<float>()[r], want) << r;
    }
    const std::string text = ptx(program);
    EXPECT_EQ(count(text, "ld.global.nc.v4.b32"), 1);
    EXPECT_EQ(count(text, "shfl.sync.bfly.b32"), 5);
    EXPECT_EQ(count(text, "bar.sync"), 1);
    EXPECT_EQ(count(text, ".local"), 0);
    if (!has_ptxas()) GTEST_SKIP() << "no ptxas in the path";
    EXPECT_NE(assemble(text).find("0 bytes spill stores"), std::string::npos);
}

TEST(Sm90, MissingFeatureIsAUserError) {
    namespace gemm = kernels::gemm;
    const tile::Program p = gemm::build_gemm_sm90("gemm", gemm::gemm_sm90_configs()[3], DType::bf16, gemm::plain_epilogue(DType::bf16));
    try {
        codegen::compile(p, targets::atoms(), base::make_target("x86_avx512"));
        FAIL();
    } catch (const base::UserError& e) {
        EXPECT_EQ(e.message(), "the kernel 'gemm' needs tma, which the target x86_avx512 lacks");
    }
}

} // namespace
} // namespace codetta
