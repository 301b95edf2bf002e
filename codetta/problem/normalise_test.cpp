#include "codetta/problem/normalise.h"

#include "codetta/base/error.h"
#include "codetta/problem/address.h"
#include "codetta/problem/contraction.h"
#include "codetta/problem/region.h"
#include "codetta/problem/test_support.h"

namespace codetta::problem {
namespace {

using test::expect_same;
using test::stages_of;

const std::vector<sym::Bindings> kSizes = {{{"s0", 3}}, {{"s0", 1}}, {{"s0", 0}}};

TEST(MergeAxes, rows_of_a_linear_layer_become_one) {
    Problem p = parse_problem(R"(problem linear(b = s0, s = 2, n = 6, h = 2, d = 2) where s0 >= 0
  x: f32[b, s, h, d] in
  w: f32[n, h, d] in frozen
  bias: f32[n] in
  out: f32[b, s, n] out
  acc: f32[b, s, n] = sum(h, d) x[b, s, h, d] * w[n, h, d]
  y: f32[b, s, n] = acc[b, s, n] + bias[n] -> out[b, s, n]
)");
    Problem q = merge_axes(p);
    expect_same(p, q, kSizes);
    EXPECT_EQ(to_string(q), R"(problem linear(b = 2*s0, n = 6, h = 4) where s0 >= 0
  x: f32[b, h] in
  w: f32[n, h] in frozen
  bias: f32[n] in
  out: f32[b, n] out
  acc: f32[b, n] = sum(h) x[b, h] * w[n, h]
  y: f32[b, n] = acc[b, n] + bias[n] -> out[b, n]
)");
    EXPECT_EQ(merge_axes(q), q);
    auto product = as_contraction(q, StageId(0));
    ASSERT_TRUE(product);
    EXPECT_EQ(product->m.size(), 1U);
}

TEST(MergeAxes, only_where_memory_allows_it) {
    // Rows of x are padded, so its columns do not follow each other; out is transposed.
    for (const char* text : {
             "problem p(m = s0, n = 4) where s0 >= 0\n  x: f32[m, n] strides [8, 1] in\n  out: f32[m, n] out\n  y: f32[m, n] = x[m, n] -> "
             "out[m, n]\n",
             "problem p(m = s0, n = 4) where s0 >= 0\n  x: f32[m, n] in\n  out: f32[n, m] out\n  y: f32[m, n] = x[m, n] -> out[n, m]\n",
             "problem p(m = s0, n = 4) where s0 >= 0\n  x: f32[n] in\n  out: f32[m, n] out\n  y: f32[m, n] = x[n] -> out[m, n]\n",
             "problem p(m = s0, n = 4) where s0 >= 0\n  x: f32[m, n] in\n  out: f32[m] out\n  y: f32[m] = sum(n) x[m, n] -> out[m]\n",
             "problem p(m = s0, n = 4) where s0 >= 0\n  x: f32[m, n] in\n  out: f32[m, n] out\n  y: f32[m, n] = scan(n) sum x[m, n] -> "
             "out[m, n]\n",
         }) {
        Problem p = parse_problem(text);
        EXPECT_EQ(merge_axes(p), p) << to_string(merge_axes(p));
    }
    // Broadcast rows stay apart from columns, and merge among themselves.
    Problem p = parse_problem("problem p(a = s0, b = 3, n = 4) where s0 >= 0\n  x: f32[a, b, n] in\n  c: f32[n] in\n  out: f32[a, b, n] "
                              "out\n  y: f32[a, b, n] = x[a, b, n] * c[n] + f32(index(3*a + b)) -> out[a, b, n]\n");
    Problem q = merge_axes(p);
    expect_same(p, q, kSizes);
    EXPECT_EQ(stages_of(q), "  y: f32[a, n] = x[a, n] * c[n] + f32(index(a)) -> out[a, n]\n");
    // All of a pointwise op is one loop.
    Problem r = merge_axes(parse_problem("problem p(a = s0, b = s1, n = 4) where s0 >= 0, s1 >= 0\n  x: f32[a, b, n] in\n  out: f32[a, b, "
                                         "n] out\n  y: f32[a, b, n] = exp(x[a, b, n]) -> out[a, b, n]\n"));
    EXPECT_EQ(to_string(r),
              "problem p(a = 4*s0*s1) where s0 >= 0, s1 >= 0\n  x: f32[a] in\n  out: f32[a] out\n  y: f32[a] = exp(x[a]) -> out[a]\n");
}

TEST(SplitAxes, divisions_become_axes) {
    Problem p = parse_problem(R"(problem heads(m = 5*s0, n = 6, k = 4) where s0 >= 0
  x: f32[m, k] in
  w: f32[n, k] in
  out: f32[s0, 2, 5, 3] out
  acc: f32[m, n] = sum(k) x[m, k] * w[n, k]
  y: f32[m, n] = acc[m, n] * 0.5 -> out[m // 5, n // 3, m % 5, n % 3]
)");
    Problem q = split_axes(p);
    expect_same(p, q, kSizes);
    EXPECT_EQ(stages_of(q), "  acc: f32[m0, m1, n0, n1] = sum(k) x[5*m0 + m1, k] * w[3*n0 + n1, k]\n"
                            "  y: f32[m0, m1, n0, n1] = acc[m0, m1, n0, n1] * 0.5 -> out[m0, n0, m1, n1]\n");
    Problem plain = parse_problem("problem p(m = s0) where s0 >= 0\n  x: f32[m] in\n  out: f32[m] out\n  y: f32[m] = x[m] -> out[m]\n");
    EXPECT_EQ(split_axes(plain), plain);
}

TEST(DropUnitAxes, their_index_is_zero) {
    Problem p = parse_problem(R"(problem p(m = s0, u = 1, r = 1) where s0 >= 0
  x: f32[m, 1, 1] in
  out: f32[1, m] out
  mx: f32[m, u] = sum(r) x[m, u, r]
  y: f32[u, m] = mx[m, u] + 1.0 -> out[u, m]
)");
    Problem q = drop_unit_axes(p);
    expect_same(p, q, kSizes);
    EXPECT_EQ(stages_of(q), "  mx: f32[m] = sum(r) x[m, 0, 0]\n  y: f32[m] = mx[m] + 1.0 -> out[0, m]\n");
}

TEST(DropNarrowing, goes_across_stages) {
    Problem p = parse_problem(R"(problem p(m = s0, n = 3) where s0 >= 0
  x: bf16[m, n] in
  out: f32[m] out
  h: bf16[m, n] = narrow.bf16(exp(f32(x[m, n])))
  s: f32[m] = sum(n) f32(h[m, n]) -> out[m]
)");
    Problem q = drop_narrowing(p);
    verify(q);
    EXPECT_EQ(stages_of(q), "  h: f32[m, n] = exp(f32(x[m, n]))\n  s: f32[m] = sum(n) h[m, n] -> out[m]\n");
    p.stages[0].writes.clear();
    Problem asked = parse_problem(to_string(p).replace(to_string(p).find("narrow.bf16"), 11, "bf16"));
    EXPECT_EQ(drop_narrowing(asked), asked);
}

TEST(DropOutputs, what_only_they_need_goes) {
    Problem p = parse_problem(R"(problem norm(m = s0, n = 3) where s0 >= 0
  x: f32[m, n] in
  out: f32[m, n] out
  mean: f32[m] out
  rstd: f32[m] out
  sum: f32[m] = sum(n) x[m, n]
  u: f32[m] = sum[m] / 3.0 -> mean[m]
  squares: f32[m] = sum(n) (x[m, n] - u[m]) * (x[m, n] - u[m])
  r: f32[m] = rsqrt(squares[m] + 1e-05) -> rstd[m]
  y: f32[m, n] = (x[m, n] - u[m]) * r[m] -> out[m, n]
)");
    Problem q = drop_outputs(p, {true, true, false, false});
    expect_same(p, q, kSizes);
    // The mean and the factor stay values of their own: they are divisions that a row needs once.
    EXPECT_EQ(q.operands.size(), 2U);
    EXPECT_EQ(q.stages.size(), 5U);
    EXPECT_EQ(drop_outputs(p, {true, false, true, true}).stages.size(), 4U);
}

TEST(Address, affine_where_parts_coalesce) {
    Problem p = parse_problem(R"(problem p(m = 2*s0, n = 3) where s0 >= 1
  x: f32[s0, 2, n] in
  t: f32[s0, 2, n] strides [12, 3, 1] in
  i: i64[m] in
  out: f32[m, n] out
  y: f32[m, n] = x[m // 2, m % 2, n] + t[m // 2, m % 2, n] + x[i[m] % s0, 1, -n + 2] -> out[m, n]
)");
    std::vector<std::optional<AffineAddress>> found;
    for (const Read& r : p.stages[0].reads)
        if (r.from == Read::From::operand && p.operands[r.source].name != "i") found.push_back(as_affine_address(p, r));
    ASSERT_EQ(found.size(), 3U);
    ASSERT_TRUE(found[0]);
    EXPECT_EQ(found[0]->offset, sym::Expr(0));
    EXPECT_EQ(found[0]->coefficient, (std::vector<sym::Expr>{3, 1}));
    EXPECT_FALSE(found[1]); // 12 is not 2 * 3
    EXPECT_FALSE(found[2]); // a gather
    auto flipped = as_affine_address(p, p.operands[0], {{0, 1, sym::parse_expr("-n + 2")}, {}, 0, {}});
    ASSERT_TRUE(flipped);
    EXPECT_EQ(flipped->offset, sym::Expr(5));
    EXPECT_EQ(flipped->coefficient[1], sym::Expr(-1));
}

TEST(Cut, halves_compute_what_the_whole_does) {
    Problem p = parse_problem(R"(problem softmax(m = s0, h = 2, n = 3, k = 2) where s0 >= 0
  x: f32[m, h, k] in
  w: f32[n, k] in frozen
  bias: f32[n] in
  raw: f32[h, m, n] out
  out: f32[m, h, n] out
  acc: f32[m, h, n] = sum(k) x[m, h, k] * w[n, k]
  z: f32[m, h, n] = acc[m, h, n] + bias[n] -> raw[h, m, n]
  mx: f32[m, h] = max(n) z[m, h, n]
  e: f32[m, h, n] = exp(z[m, h, n] - mx[m, h])
  s: f32[m, h] = sum(n) e[m, h, n]
  y: f32[m, h, n] = e[m, h, n] / s[m, h] -> out[m, h, n]
)");
    Region r;
    r.problem = p;
    for (uint32_t v = 0; v < p.operands.size(); ++v) r.values.push_back(ValueId(10 + v));
    for (uint32_t s = 0; s + 1 < p.stages.size(); ++s) r.cuts.push_back(StageId(s));
    r.reasons = {"why"};
    for (size_t at = 1; at < p.stages.size(); ++at) {
        std::vector<bool> first(p.stages.size(), false);
        for (size_t s = 0; s < at; ++s) first[s] = true;
        uint32_t next = 100;
        Split split = cut(r, first, next);
        verify(split.first.problem);
        verify(split.second.problem);
        // The value of z lies in raw already: no operand is made for it.
        EXPECT_EQ(next, at == 2   ? 100U
                        : at == 1 ? 101U
                        : at == 3 ? 101U
                        : at == 4 ? 101U
                                  : 102U)
            << to_string(split.first.problem) << to_string(split.second.problem);
        EXPECT_EQ(split.first.reasons, r.reasons);
        EXPECT_EQ(split.first.cuts.size() + split.second.cuts.size(), r.cuts.size());
        for (const sym::Bindings& sizes : kSizes) {
            auto want = test_data(p, sizes), fresh = test_data(p, sizes);
            std::map<uint32_t, scalar::HostArray> memory;
            for (size_t o = 0; o < p.operands.size(); ++o) memory[10 + static_cast<uint32_t>(o)] = fresh[o];
            interpret(p, want, sizes);
            for (const Region* half : {&split.first, &split.second}) {
                std::vector<scalar::HostArray> arrays;
                for (size_t o = 0; o < half->values.size(); ++o) {
                    uint32_t v = half->values[o].value;
                    if (!memory.contains(v)) memory[v] = test_data(half->problem, sizes)[o];
                    arrays.push_back(test::as_operand(memory[v], half->problem, o, sizes));
                }
                interpret(half->problem, arrays, sizes);
            }
            for (uint32_t o : {3U, 4U}) test::expect_equal(memory[10 + o], want[o], p.operands[o].name);
        }
    }
    std::vector<bool> wrong(p.stages.size(), false);
    wrong[1] = true;
    EXPECT_EQ(can_cut(r, wrong).reason(), "stage z needs stage acc, which would come later");
}

TEST(Cut, memory_written_in_place_is_not_read_later) {
    Problem p = parse_problem(R"(problem p(m = 3)
  x: f32[m] in
  o: f32[m] out aliases x
  out: f32[m] out
  a: f32[m] = x[m] + 1.0 -> o[m]
  b: f32[m] = x[m] * 2.0 -> out[m]
)");
    EXPECT_EQ(can_cut({p, {}, {}, {}}, {true, false}).reason(), "operand o is overwritten before stage b reads it");
}

} // namespace
} // namespace codetta::problem
