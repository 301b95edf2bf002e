// The products and the attention template compiled: values against the Problem interpreter, and (when CODETTA_BENCH is set) their speed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "codetta/kernels/template.h"
#include "codetta/problem/interpret.h"
#include "codetta/problem/test_data.h"
#include "tests/codegen/support.h"

namespace codetta {
namespace {

using scalar::HostArray;

struct Ready {
    kernels::Kernel kernel;
    base::CodeImage image;
    runtime::LoadedCode code;
    codetta_kernel entry;
    Ready(kernels::Kernel k, const base::Target& t)
        : kernel(std::move(k)), image(codegen::compile(kernel.program, targets::atoms(), t)), code(image.bytes),
          entry(reinterpret_cast<codetta_kernel>(code.find(kernel.program.name))) {}
};

// Runs the variant of the first template that matches; returns microseconds of the kernels that are not `once`, best of `repeats`.
double run(const problem::Problem& p, const std::vector<HostArray>& arrays, const sym::Bindings& sizes, const base::Target& target,
           int repeats, double* compile_ms) {
    const kernels::BuildContext context{&target, sizes, 1};
    for (const kernels::Template& t : kernels::list()) {
        if (!t.match(p, context)) continue;
        const kernels::Candidate c = t.build(p, context);
        for (const kernels::Variant& v : c.variants) {
            bool holds = true;
            for (const auto& g : v.guard) holds = holds && sym::evaluate(g, sizes);
            if (!holds) continue;
            std::vector<std::vector<char>> memory;
            for (const auto& temporary : v.temporaries)
                memory.emplace_back(static_cast<size_t>(sym::evaluate(temporary.bytes, sizes)) + 64);
            double best = 1e30;
            std::vector<Ready> ready;
            const auto start = std::chrono::steady_clock::now();
            for (const auto& k : v.kernels) ready.emplace_back(k, target);
            if (compile_ms)
                *compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() /
                              static_cast<double>(ready.size());
            for (int i = 0; i < repeats; ++i) {
                double us = 0;
                for (const Ready& k : ready) {
                    std::vector<void*> pointers;
                    for (const auto& a : k.kernel.pointers)
                        pointers.push_back(
                            a.to == kernels::PointerArgument::To::operand
                                ? static_cast<void*>(arrays[a.index].data())
                                : reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory[a.index].data()) + 63) / 64 * 64));
                    std::vector<int64_t> integers;
                    for (const auto& e : k.kernel.integers) integers.push_back(sym::evaluate(e, sizes));
                    std::vector<char> scratch(static_cast<size_t>(sym::evaluate(k.kernel.scratch_bytes, sizes)) + 64);
                    int32_t status = 0;
                    const codetta_kernel_args args{pointers.data(), integers.data(), &status};
                    const auto t0 = std::chrono::steady_clock::now();
                    k.entry(&args, 0, sym::evaluate(k.kernel.tasks, sizes),
                            reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64));
                    if (!k.kernel.once) us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - t0).count();
                    EXPECT_EQ(status, 0);
                }
                best = std::min(best, us);
            }
            return best;
        }
    }
    ADD_FAILURE() << "no template";
    return 0;
}

void check(const char* name, const char* text, const sym::Bindings& sizes, double flops = 0) {
    const problem::Problem p = problem::parse_problem(text);
    for (const base::Target& target : test::runnable_targets()) {
        SCOPED_TRACE(std::string(name) + " on " + target.name);
        std::vector<HostArray> wanted, got = problem::test_data(p, sizes);
        for (size_t i = 0; i < got.size(); ++i) wanted.push_back(p.operands[i].role == problem::Role::in ? got[i] : got[i].clone());
        const bool bench = std::getenv("CODETTA_BENCH") != nullptr && flops > 0;
        double compile_ms = 0;
        const double us = run(p, got, sizes, target, bench ? 20 : 1, &compile_ms);
        if (bench)
            std::printf("%-28s %-12s %9.1f us %8.1f GF/s  compile %.1f ms\n", name, target.name.c_str(), us, flops / us / 1e3, compile_ms);
        if (bench && flops > 1e8) continue;
        problem::interpret(p, wanted, sizes);
        for (size_t i = 0; i < got.size(); ++i) {
            if (p.operands[i].role == problem::Role::in) continue;
            const double tolerance = p.operands[i].dtype == scalar::DType::bf16 ? 1e-2 : 3e-5;
            scalar::for_each_coordinate(got[i].extents(), [&](std::span<const int64_t> at) {
                const double g = scalar::as_double(got[i].load(at)), w = scalar::as_double(wanted[i].load(at));
                EXPECT_NEAR(g, w, tolerance * (1 + std::abs(w)));
            });
        }
    }
}

const char* const kLinear = R"(problem p(m = s0, n = s1, k = s2) where s0 >= 1, s1 >= 1, s2 >= 1
  x: f32[m, k] in
  w: f32[n, k] in frozen
  b: f32[n] in
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) x[m, k] * w[n, k]
  h: f32[m, n] = acc[m, n] + b[n]
  y: f32[m, n] = h[m, n] * normal_cdf(h[m, n]) -> out[m, n]
)";
const char* const kLinearBf16 = R"(problem p(m = s0, n = s1, k = s2) where s0 >= 1, s1 >= 1, s2 >= 1, s2 % 2 == 0
  x: bf16[m, k] in
  w: bf16[n, k] in frozen
  b: bf16[n] in
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: bf16[m, n] = bf16(acc[m, n] + f32(b[n])) -> out[m, n]
)";
std::string replaced(std::string s, const std::string& what, const std::string& by) {
    for (size_t at; (at = s.find(what)) != std::string::npos;) s.replace(at, what.size(), by);
    return s;
}

TEST(CompiledKernels, Products) {
    check("linear f32 13x70x21", kLinear, {{"s0", 13}, {"s1", 70}, {"s2", 21}});
    check("linear f32 2x5x3", kLinear, {{"s0", 2}, {"s1", 5}, {"s2", 3}});
    check("few rows f32 16x70x40", replaced(kLinear, " frozen", "").c_str(), {{"s0", 16}, {"s1", 70}, {"s2", 40}});
    check("few rows bf16 20x70x40", replaced(kLinearBf16, " frozen", "").c_str(), {{"s0", 20}, {"s1", 70}, {"s2", 40}});
    check("linear bf16 13x70x22", kLinearBf16, {{"s0", 13}, {"s1", 70}, {"s2", 22}});
    const auto bench = [](double m, double n, double k) {
        const sym::Bindings sizes{{"s0", int64_t(m)}, {"s1", int64_t(n)}, {"s2", int64_t(k)}};
        const std::string shape = fmt::format("{}x{}x{}", m, n, k);
        check(("f32 frozen " + shape).c_str(), kLinear, sizes, 2 * m * n * k);
        check(("f32 unfrozen " + shape).c_str(), replaced(kLinear, " frozen", "").c_str(), sizes, 2 * m * n * k);
        check(("bf16 frozen " + shape).c_str(), kLinearBf16, sizes, 2 * m * n * k);
        check(("bf16 unfrozen " + shape).c_str(), replaced(kLinearBf16, " frozen", "").c_str(), sizes, 2 * m * n * k);
    };
    if (!std::getenv("CODETTA_BENCH")) return;
    bench(128, 3072, 768);
    bench(512, 512, 512);
    bench(16, 4096, 1024);
    bench(1, 4096, 4096);
    bench(32, 4096, 1024);
    bench(128, 768, 3072);
}

TEST(CompiledKernels, Rows) {
    const char* softmax = R"(problem p(m = s0, n = 768) where s0 >= 1
  x: f32[m, n] in
  out: f32[m, n] out
  mx: f32[m] = max(n) x[m, n]
  e: f32[m, n] = exp(x[m, n] - mx[m])
  s: f32[m] = sum(n) e[m, n]
  y: f32[m, n] = e[m, n] / s[m] -> out[m, n]
)";
    const char* layer_norm = R"(problem p(m = s0, n = 768) where s0 >= 1
  x: f32[m, n] in
  w: f32[n] in
  b: f32[n] in
  out: f32[m, n] out
  t: f32[m] = sum(n) x[m, n]
  mu: f32[m] = t[m] / 768.0
  q: f32[m] = sum(n) (x[m, n] - mu[m]) * (x[m, n] - mu[m])
  r: f32[m] = rsqrt(q[m] / 768.0 + 1e-5)
  y: f32[m, n] = (x[m, n] - mu[m]) * r[m] * w[n] + b[n] -> out[m, n]
)";
    const char* gelu = R"(problem p(m = s0) where s0 >= 1
  x: f32[m] in
  out: f32[m] out
  y: f32[m] = x[m] * normal_cdf(x[m]) -> out[m]
)";
    const char* add = R"(problem p(m = s0) where s0 >= 1
  x: f32[m] in
  z: f32[m] in
  out: f32[m] out
  y: f32[m] = x[m] + z[m] -> out[m]
)";
    const char* transpose = R"(problem p(m = s0, n = 768) where s0 >= 1
  x: f32[n, m] in
  out: f32[m, n] out
  y: f32[m, n] = x[n, m] -> out[m, n]
)";
    check("softmax 512x768", softmax, {{"s0", 512}}, 512 * 768);
    check("layer norm 512x768", layer_norm, {{"s0", 512}}, 512 * 768);
    check("gelu 512x768", gelu, {{"s0", 512 * 768}}, 512 * 768);
    check("add 512x768", add, {{"s0", 512 * 768}}, 512 * 768);
    check("transpose 512x768", transpose, {{"s0", 512}}, 512 * 768);
}

TEST(CompiledKernels, Attention) {
    const char* text = R"(problem p(b = s2, h = 4, q = s0, k = s1, d = 64, e = 64) where s0 >= 1, s1 >= 1, s2 >= 1
  x: f32[b, q, h, d] in
  y: f32[b, k, h, d] in
  v: f32[b, k, h, e] in
  mask: f32[b, k] in
  out: f32[b, q, h, e] out
  score: f32[b, h, q, k] = sum(d) x[b, q, h, d] * y[b, k, h, d]
  logit: f32[b, h, q, k] = score[b, h, q, k] * 0.125 + mask[b, k]
  mx: f32[b, h, q] = max(k) logit[b, h, q, k]
  w: f32[b, h, q, k] = exp(logit[b, h, q, k] - mx[b, h, q])
  total: f32[b, h, q] = sum(k) w[b, h, q, k]
  o: f32[b, h, q, e] = sum(k) w[b, h, q, k] * v[b, k, h, e]
  z: f32[b, h, q, e] = o[b, h, q, e] / total[b, h, q] -> out[b, q, h, e]
)";
    check("attention 7x9", text, {{"s0", 7}, {"s1", 9}, {"s2", 1}});
    check("attention 1x70", text, {{"s0", 1}, {"s1", 70}, {"s2", 1}});
    check("attention 57x130", text, {{"s0", 57}, {"s1", 130}, {"s2", 2}});
    for (const double s : {128.0, 512.0}) check("attention", text, {{"s0", int64_t(s)}, {"s1", int64_t(s)}, {"s2", 1}}, 4 * 4 * 64 * s * s);
}

// Heads that share keys (GQA), as fusion leaves them: the group is one more axis of rows.
TEST(CompiledKernels, AttentionWithSharedKeys) {
    const char* text = R"(problem p(b = s0, h = 2, g = 3, q = s1, k = s1, d = 16, e = 16) where s0 >= 1, s1 >= 1
  v: f32[s0*s1, 32] in
  y: f32[b, h, k, d] in
  x: f32[b, 6, q, d] in
  mask: f32[b, 1, q, k] in
  out: f32[s0*s1, 96] out
  score: f32[b, h, g, q, k] = sum(d) x[b, 3*h + g, q, d] * y[b, h, k, d]
  logit: f32[b, h, g, q, k] = score[b, h, g, q, k] * 0.25 + mask[b, 0, q, k]
  mx: f32[b, h, g, q] = max(k) logit[b, h, g, q, k]
  w: f32[b, h, g, q, k] = exp(logit[b, h, g, q, k] - mx[b, h, g, q])
  total: f32[b, h, g, q] = sum(k) w[b, h, g, q, k]
  o: f32[b, h, g, q, e] = sum(k) w[b, h, g, q, k] * v[b*s1 + k, 16*h + e]
  z: f32[b, h, g, q, e] = o[b, h, g, q, e] / total[b, h, g, q] -> out[b*s1 + q, 48*h + 16*g + e]
)";
    check("shared keys 7", text, {{"s0", 2}, {"s1", 7}});
    check("shared keys 1", text, {{"s0", 3}, {"s1", 1}});
    check("shared keys 130", text, {{"s0", 1}, {"s1", 130}});
}

// The loop over k on AMX: four products for two loads of columns and two of rows, which stay out of the first cache; nothing of the
// epilogue spilled.
TEST(CompiledKernels, TilesInTheLoop) {
    const problem::Problem p = problem::parse_problem(R"(problem p(m = s0, n = 3072, k = 512) where s0 >= 17
  x: bf16[m, k] in
  w: bf16[n, k] in frozen
  b: bf16[n] in
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  h: f32[m, n] = acc[m, n] + f32(b[n])
  y: bf16[m, n] = bf16(h[m, n] * normal_cdf(h[m, n])) -> out[m, n]
)");
    const base::Target target = base::make_target("x86_amx");
    const kernels::Template t = kernels::list().front();
    const kernels::BuildContext context{&target, {{"s0", 128}}, 1};
    ASSERT_TRUE(t.match(p, context));
    const kernels::Candidate c = t.build(p, context);
    const std::string text = codegen::assembly(c.variants.back().kernels.back().program, targets::atoms(), target);
    const auto count = [&](const std::string& word) {
        int n = 0;
        for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
        return n;
    };
    EXPECT_EQ(count("\ttdpbf16ps"), 8) << "two loops: with and without the rows of the block before";
    EXPECT_EQ(count("\ttileloadd\t"), 4);
    EXPECT_EQ(count("\ttileloaddt1\t"), 4);
    EXPECT_EQ(count("\ttilestored"), 4);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        EXPECT_FALSE(line.find("zmm") != std::string::npos && line.find("(%rsp)") != std::string::npos) << line;
}

} // namespace
} // namespace codetta
