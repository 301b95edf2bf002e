#include "codetta/kernels/gemm/product_sm90.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codetta/problem/interpret.h"
#include "codetta/problem/test_data.h"
#include "codetta/targets/list.h"
#include "codetta/tile/interpret.h"
#include "codetta/tile/verify.h"

namespace codetta::kernels::gemm {
namespace {

using scalar::HostArray;

// The kernel of a Problem, interpreted, against the Problem, interpreted.
void check(const char* text, const sym::Bindings& sizes) {
    SCOPED_TRACE(text);
    const problem::Problem p = problem::parse_problem(text);
    base::Verdict why = base::Verdict::yes();
    const auto product = match_sm90(p, &why);
    ASSERT_TRUE(product) << why.reason();
    for (const auto& c : product->guard) ASSERT_TRUE(sym::evaluate(c, sizes)) << sym::to_string(c);
    const tile::Program program = build_gemm_sm90("gemm", gemm_sm90_configs()[3], product->dtype, product->epilogue);
    const tile::AtomSet atoms = targets::atoms();
    tile::verify(program, atoms);

    const auto arrays = problem::test_data(p, sizes);
    std::vector<HostArray> judged;
    for (const HostArray& a : arrays) judged.push_back(a.clone());
    problem::interpret(p, judged, sizes);

    const auto value = [&](const sym::Expr& e) { return sym::evaluate(e, sizes); };
    std::vector<tile::TensorMap> maps;
    for (const MatrixMap* m : {&product->a, &product->b, &product->out})
        maps.push_back({arrays[m->operand.value].view({value(m->rows), value(m->columns)}, {value(m->row_stride), 1}, value(m->offset))});
    tile::Arguments arguments;
    for (const auto& o : product->operands) {
        const HostArray& a = arrays[o.value];
        int64_t last = 0;
        for (size_t i = 0; i < a.extents().size(); ++i) last += (a.extents()[i] - 1) * a.strides()[i];
        arguments.pointers.push_back(a.view({last + 1}, {1}, 0));
    }
    for (const auto& e : product->integers) arguments.integers.push_back(value(e));
    ASSERT_EQ(tile::interpret(program, atoms, arguments, maps, tile::Completion::late), 0);

    const auto out = product->out.operand.value;
    const auto& extents = arrays[out].extents();
    std::vector<int64_t> at(extents.size(), 0);
    for (int64_t i = 0; i < arrays[out].size(); ++i) {
        const double got = scalar::as_double(arrays[out].load(at)), want = scalar::as_double(judged[out].load(at));
        ASSERT_NEAR(got, want, std::abs(want) * 0x1p-7 + 1e-4) << i;
        for (size_t d = extents.size(); d-- > 0;) {
            if (++at[d] < extents[d]) break;
            at[d] = 0;
        }
    }
}

TEST(ProductSm90, LinearGelu) {
    check(R"(problem p(m = s0, n = 72, k = s1) where s0 >= 1, s1 >= 8
  x: bf16[m, k] in
  w: bf16[n, k] in frozen
  b: bf16[n] in frozen
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  lin: bf16[m, n] = narrow.bf16(acc[m, n] + f32(b[n]))
  y: bf16[m, n] = bf16(f32(lin[m, n]) * normal_cdf(f32(lin[m, n]))) -> out[m, n]
)",
          {{"s0", 70}, {"s1", 72}});
}

TEST(ProductSm90, ResidualAndRowScale) {
    check(R"(problem p(m = 33, n = 136, k = 40)
  x: f16[m, k] in
  w: f16[n, k] in
  scale: f32[m] in
  r: f16[m, n] in
  out: f16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: f16[m, n] = f16(acc[m, n] * scale[m] + f32(r[m, n])) -> out[m, n]
)",
          {});
}

// The output's rows are the second operand's: the product is computed transposed, the bias becomes one per row of it.
TEST(ProductSm90, Transposed) {
    check(R"(problem p(m = 72, n = 48, k = 40)
  x: bf16[m, k] in
  w: bf16[n, k] in
  b: bf16[n] in
  out: bf16[n, m] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: bf16[m, n] = bf16(acc[m, n] + f32(b[n])) -> out[n, m]
)",
          {});
}

TEST(ProductSm90, Reasons) {
    const auto reason = [](const char* text) {
        base::Verdict why = base::Verdict::yes();
        EXPECT_FALSE(match_sm90(problem::parse_problem(text), &why));
        return why.reason();
    };
    EXPECT_EQ(reason(R"(problem p(m = 8, n = 8, k = 8)
  x: f32[m, k] in
  w: f32[n, k] in
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) x[m, k] * w[n, k] -> out[m, n]
)"),
              "it does not multiply two bf16 or two f16 matrices into f32");
    EXPECT_EQ(reason(R"(problem p(m = 8, n = 8, k = 8)
  x: bf16[m, k] in
  w: bf16[k, n] in
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[k, n])
  y: bf16[m, n] = bf16(acc[m, n]) -> out[m, n]
)"),
              "an operand is not contiguous along the reduced dimension");
    EXPECT_EQ(reason(R"(problem p(m = 8, n = 8, k = 8)
  x: bf16[m, k] in
  w: bf16[n, k] in
  b: bf16[m] in
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: bf16[m, n] = bf16(acc[m, n] + f32(b[7 - m])) -> out[m, n]
)"),
              "the epilogue reads 'b' in another order than by rows and columns");
}

TEST(ProductSm90, GuardsWhatTmaWants) {
    const auto product = match_sm90(problem::parse_problem(R"(problem p(m = s0, n = s1, k = 64) where s0 >= 1, s1 >= 1
  x: bf16[m, k] in
  w: bf16[n, k] in
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: bf16[m, n] = bf16(acc[m, n]) -> out[m, n]
)"),
                                    nullptr);
    ASSERT_TRUE(product);
    std::vector<std::string> guard;
    for (const auto& c : product->guard) guard.push_back(sym::to_string(c));
    EXPECT_EQ(guard, (std::vector<std::string>{"s1 % 8 == 0", "s0 <= 4194304", "s1 <= 4194304"}));
}

} // namespace
} // namespace codetta::kernels::gemm
