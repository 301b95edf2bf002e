#include "codetta/kernels/gemm/gemm_sm90.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codetta/base/error.h"
#include "codetta/targets/list.h"
#include "codetta/tile/interpret.h"
#include "codetta/tile/verify.h"

namespace codetta::kernels::gemm {
namespace {

using scalar::DType;
using scalar::HostArray;
using tile::Completion;

tile::AtomSet sm90_atoms() { return tile::AtomSet(targets::sm90_atoms()); }

HostArray numbers(DType t, std::vector<int64_t> extents, uint64_t seed) {
    HostArray out(t, extents);
    HostArray flat = out.view({out.size()}, {1}, 0);
    for (int64_t i = 0; i < out.size(); ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int64_t at[1] = {i};
        flat.store(at, scalar::make_float(DType::f64, static_cast<double>(static_cast<int64_t>(seed >> 58) - 32) / 32));
    }
    return out;
}

double get(const HostArray& a, std::initializer_list<int64_t> at) { return scalar::as_double(a.load(std::vector<int64_t>(at))); }

struct Shape {
    int64_t m, n, k;
};

// out against double arithmetic: equal up to the rounding to bf16 (one unit in the last place for the sum's own rounding in f32).
void check(const GemmSm90Config& c, const Epilogue& e, Shape s, Completion completion, bool bias,
           const std::function<double(double)>& activation) {
    SCOPED_TRACE(fmt::format("{} {}x{}x{} {}", to_string(c), s.m, s.n, s.k, completion == Completion::late ? "late" : "early"));
    tile::Program p = build_gemm_sm90("gemm", c, DType::bf16, e);
    tile::AtomSet atoms = sm90_atoms();
    tile::verify(p, atoms);
    HostArray a = numbers(DType::bf16, {s.m, s.k}, 1), b = numbers(DType::bf16, {s.n, s.k}, 2), out = numbers(DType::bf16, {s.m, s.n}, 3);
    HostArray column = numbers(DType::bf16, {s.n}, 4);
    tile::Arguments arguments;
    if (bias) arguments.pointers.push_back(column);
    arguments.integers = {s.m, s.n, s.k};
    std::vector<tile::TensorMap> maps{{a}, {b}, {out}};
    ASSERT_EQ(tile::interpret(p, atoms, arguments, maps, completion), 0);
    for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
            double sum = 0;
            for (int64_t k = 0; k < s.k; ++k) sum += get(a, {i, k}) * get(b, {j, k});
            double want = activation(sum + (bias ? get(column, {j}) : 0));
            ASSERT_NEAR(get(out, {i, j}), want, std::abs(want) * 0x1p-8 + 1e-5) << i << " " << j;
        }
}

double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }
double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double same(double x) { return x; }

TEST(GemmSm90, CooperativeRagged) {
    GemmSm90Config c = gemm_sm90_configs()[0];
    c.tile_n = 128; // smaller than the shipped one: quicker to interpret, the same code
    for (Completion completion : {Completion::early, Completion::late}) {
        check(c, plain_epilogue(DType::bf16), {200, 136, 136}, completion, false, same);
        check(c, bias_gelu_epilogue(DType::bf16, true), {130, 264, 328}, completion, true, gelu_tanh);
    }
}

TEST(GemmSm90, CooperativeShipped) {
    check(gemm_sm90_configs()[0], bias_gelu_epilogue(DType::bf16, false), {136, 264, 72}, Completion::late, true, gelu_erf);
    check(gemm_sm90_configs()[1], plain_epilogue(DType::bf16), {130, 200, 72}, Completion::early, false, same);
}

TEST(GemmSm90, PingPongRagged) {
    for (size_t i : {2, 3})
        for (Completion completion : {Completion::early, Completion::late}) {
            check(gemm_sm90_configs()[i], plain_epilogue(DType::bf16), {330, 264, 136}, completion, false,
                  same); // several tiles for each consumer
            check(gemm_sm90_configs()[i], bias_epilogue(DType::bf16), {40, 72, 1032}, completion, true,
                  same); // one tile; the ring goes round
        }
}

TEST(GemmSm90, ManyCtasShareTheTiles) {
    // Two CTAs (`sms` of the interpreter) and seven tile rows in groups of four: the last group is shorter.
    GemmSm90Config c = gemm_sm90_configs()[3];
    c.group = 4;
    check(c, plain_epilogue(DType::bf16), {7 * 64 - 3, 2 * 128, 64}, Completion::early, false, same);
}

TEST(GemmSm90, OperandsOfEveryKind) {
    scalar::Builder s;
    auto acc = s.parameter(DType::f32), per_m = s.parameter(DType::f32), full = s.parameter(DType::bf16), factor = s.parameter(DType::f32);
    auto sum = s.apply(scalar::Prim::fma, {acc, factor, s.apply(scalar::Prim::add, {per_m, s.cast(DType::f32, full)})});
    Epilogue e{s.finish({s.cast(DType::bf16, sum)}),
               {{EpilogueOperand::Kind::per_m, "scale", DType::f32},
                {EpilogueOperand::Kind::full, "residual", DType::bf16},
                {EpilogueOperand::Kind::scalar, "factor", DType::f32}}};
    tile::Program p = build_gemm_sm90("gemm", gemm_sm90_configs()[3], DType::bf16, e);
    tile::AtomSet atoms = sm90_atoms();
    tile::verify(p, atoms);
    int64_t m = 100, n = 136, k = 72, ld = 144;
    HostArray a = numbers(DType::bf16, {m, k}, 1), b = numbers(DType::bf16, {n, k}, 2), out(DType::bf16, {m, n}),
              residual = numbers(DType::bf16, {m, ld}, 5);
    HostArray rows = numbers(DType::f32, {m}, 6), two(DType::f32, {1});
    two.as<float>()[0] = 2;
    std::vector<tile::TensorMap> maps{{a}, {b}, {out}};
    EXPECT_EQ(tile::interpret(p, atoms, {{rows, residual.view({m * ld}, {1}, 0), two}, {m, n, k, ld}}, maps), 0);
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) sum += get(a, {i, l}) * get(b, {j, l});
            double want = 2 * sum + get(rows, {i}) + get(residual, {i, j});
            ASSERT_NEAR(get(out, {i, j}), want, std::abs(want) * 0x1p-8 + 1e-5) << i << " " << j;
        }
}

TEST(GemmSm90, TextReadsBack) {
    tile::Program p = build_gemm_sm90("gemm", gemm_sm90_configs()[2], DType::bf16, bias_gelu_epilogue(DType::bf16, true));
    std::string text = tile::to_string(p);
    EXPECT_EQ(tile::to_string(tile::parse_program(text)), text);
    EXPECT_NE(text.find("mma sm90.wgmma_m64n128k16_f32_bf16"), std::string::npos);
}

TEST(GemmSm90, ConfigurationsFit) {
    for (const GemmSm90Config& c : gemm_sm90_configs()) EXPECT_TRUE(can_build(c)) << to_string(c) << ": " << can_build(c).reason();
    GemmSm90Config wrong;
    wrong.staging = 3;
    EXPECT_EQ(can_build(wrong).reason(), "4 chunks of a tile are no multiple of 3 staging buffers");
}

// A missing wait must be found: the epilogue reads accumulators that are still written; a stage is given back before its mma is done.
TEST(GemmSm90, MissingWaitsAreFound) {
    tile::AtomSet atoms = sm90_atoms();
    std::string text = tile::to_string(build_gemm_sm90("gemm", gemm_sm90_configs()[3], DType::bf16, plain_epilogue(DType::bf16)));
    HostArray a = numbers(DType::bf16, {64, 72}, 1), b = numbers(DType::bf16, {128, 72}, 2), out(DType::bf16, {64, 128});
    std::vector<tile::TensorMap> maps{{a}, {b}, {out}};
    auto message = [&](const std::string& from, const std::string& to) -> std::string {
        std::string changed = text;
        size_t at = changed.find(from);
        if (at == std::string::npos) return "text not found";
        changed.replace(at, from.size(), to);
        try {
            tile::interpret(tile::parse_program(changed), atoms, {{}, {64, 128, 72}}, maps, Completion::late);
        } catch (const base::InternalError& e) {
            return e.what();
        }
        return "nothing thrown";
    };
    EXPECT_NE(
        message("wait group mma 0 makes acc[64:1]", "wait group mma 0").find("`acc` is touched while an asynchronous mma still writes it"),
        std::string::npos);
    EXPECT_NE(message("fence async_proxy", "griddep wait").find("is stored without `fence async_proxy`"), std::string::npos);
    EXPECT_NE(message("bytes 24576", "bytes 24580").find("every warp waits"), std::string::npos);
}

} // namespace
} // namespace codetta::kernels::gemm
