#include "codetta/base/error.h"
#include "codetta/problem/test_support.h"

namespace codetta::problem {
namespace {

using test::compose_and_compare;
using test::stages_of;

const std::vector<sym::Bindings> kSizes = {{{"s0", 3}}, {{"s0", 1}}, {{"s0", 0}}, {{"s0", 5}}};

// x[s0, 2, 6] times w: rows (b, s), columns n.
const char* const kLinear = R"(problem linear(b = s0, s = 2, n = 6, k = 4) where s0 >= 0
  x: bf16[b, s, k] in
  w: bf16[n, k] in frozen
  bias: bf16[n] in
  out: bf16[b, s, n] out
  acc: f32[b, s, n] = sum(k) f32(x[b, s, k]) * f32(w[n, k])
  y: bf16[b, s, n] = narrow.bf16(acc[b, s, n] + f32(bias[n])) -> out[b, s, n]
)";

Problem linear() { return parse_problem(kLinear); }

TEST(Compose, a_pointwise_consumer_becomes_an_epilogue) {
    Problem gelu = parse_problem(R"(problem gelu(i0 = s0, i1 = 2, i2 = 6) where s0 >= 0
  x: bf16[i0, i1, i2] in
  out: bf16[i0, i1, i2] out
  y: bf16[i0, i1, i2] = narrow.bf16(f32(x[i0, i1, i2]) * normal_cdf(f32(x[i0, i1, i2]))) -> out[i0, i1, i2]
)");
    Problem p = compose_and_compare(linear(), gelu, {{"x", "out"}}, {}, kSizes);
    EXPECT_EQ(stages_of(p), "  acc: f32[b, s, n] = sum(k) f32(x[b, s, k]) * f32(w[n, k])\n"
                            "  y: bf16[b, s, n] = narrow.bf16(f32(narrow.bf16(acc[b, s, n] + f32(bias[n]))) * "
                            "normal_cdf(f32(narrow.bf16(acc[b, s, n] + f32(bias[n]))))) -> out[b, s, n]\n");
    // Kept, the product's own result is a stage that the epilogue reads.
    Problem kept = compose_and_compare(linear(), gelu, {{"x", "out"}}, {"out"}, kSizes);
    EXPECT_EQ(kept.stages.size(), 3U);
    EXPECT_EQ(kept.stages[2].axes, kept.stages[0].axes);
}

TEST(Compose, a_view_after_a_product_is_where_it_writes) {
    // view(s0, 2, 2, 3).permute(0, 2, 1, 3), then pointwise
    Problem heads = parse_problem(R"(problem heads(i0 = s0, i1 = 2, i2 = 2, i3 = 3) where s0 >= 0
  x: bf16[i0, i2, 6] in
  out: bf16[i0, i1, i2, i3] out
  y: bf16[i0, i1, i2, i3] = x[i0, i2, 3*i1 + i3] -> out[i0, i1, i2, i3]
)");
    Problem p = compose_and_compare(linear(), heads, {{"x", "out"}}, {}, kSizes);
    EXPECT_EQ(stages_of(p), "  acc: f32[b, s, n] = sum(k) f32(x[b, s, k]) * f32(w[n, k])\n"
                            "  y: bf16[b, s, n] = narrow.bf16(acc[b, s, n] + f32(bias[n])) -> out[b, n // 3, s, n % 3]\n");
    Problem relu = parse_problem(R"(problem relu(h = 2, i = s0, j = 2, d = 3) where s0 >= 0
  z: bf16[i, h, j, d] in
  bias: bf16[d] in
  out: bf16[i, h, j, d] out
  y: bf16[i, h, j, d] = maximum(z[i, h, j, d] + bias[d], bf16(0.0)) -> out[i, h, j, d]
)");
    Problem q = compose_and_compare(p, relu, {{"z", "out"}}, {}, kSizes);
    EXPECT_EQ(
        stages_of(q),
        "  acc: f32[b, s, n] = sum(k) f32(x[b, s, k]) * f32(w[n, k])\n"
        "  y: bf16[b, s, n] = maximum(narrow.bf16(acc[b, s, n] + f32(bias[n])) + bias_1[n % 3], bf16(0.0)) -> out[b, n // 3, s, n % 3]\n");
}

TEST(Compose, a_flattening_view_is_followed_backwards) {
    Problem flat = parse_problem(R"(problem flat(m = 2*s0, n = 6) where s0 >= 0
  x: bf16[s0, 2, 6] in
  out: bf16[m, n] out
  y: bf16[m, n] = x[m // 2, m % 2, n] -> out[m, n]
)");
    Problem p = compose_and_compare(linear(), flat, {{"x", "out"}}, {}, kSizes);
    EXPECT_EQ(stages_of(p), "  acc: f32[b, s, n] = sum(k) f32(x[b, s, k]) * f32(w[n, k])\n"
                            "  y: bf16[b, s, n] = narrow.bf16(acc[b, s, n] + f32(bias[n])) -> out[2*b + s, n]\n");
}

TEST(Compose, a_slice_writes_a_part) {
    Problem slice = parse_problem(R"(problem slice(i0 = s0, i1 = 2, i2 = 3) where s0 >= 0
  x: bf16[i0, i1, 6] in
  extra: bf16[i2] in
  out: bf16[i0, i1, i2] out
  y: bf16[i0, i1, i2] = x[i0, i1, i2 + 2] + extra[i2] -> out[i0, i1, i2]
)");
    Problem p = compose_and_compare(linear(), slice, {{"x", "out"}}, {}, kSizes);
    EXPECT_EQ(p.stages[1].axes, p.stages[0].axes);
}

TEST(Compose, a_residual_that_the_producer_reads_too_is_one_operand) {
    Problem first = parse_problem(R"(problem scale(m = s0, n = 4) where s0 >= 0
  x: f32[m, n] in
  out: f32[m, n] out
  y: f32[m, n] = x[m, n] * 2.0 -> out[m, n]
)");
    Problem second = parse_problem(R"(problem add(i = s0, j = 4) where s0 >= 0
  a: f32[i, j] in
  b: f32[i, j] in
  out: f32[i, j] out
  y: f32[i, j] = a[i, j] + b[i, j] -> out[i, j]
)");
    Problem p = compose_and_compare(first, second, {{"a", "out"}, {"b", "x"}}, {}, kSizes);
    EXPECT_EQ(p.operands.size(), 2U);
    EXPECT_EQ(stages_of(p), "  y: f32[i, j] = x[i, j] * 2.0 + x[i, j] -> out[i, j]\n");
}

TEST(Compose, views_of_views_substitute_and_guards_conjoin) {
    Problem pad = parse_problem(R"(problem pad(i = s0 + 2) where s0 >= 1
  x: f32[s0] in
  out: f32[i] out
  y: f32[i] = x[i - 1] if 0 <= i - 1 < s0 else -1.0 -> out[i]
)");
    Problem again = parse_problem(R"(problem again(j = s0 + 6) where s0 >= 1
  x: f32[s0 + 2] in
  out: f32[j] out
  y: f32[j] = x[j - 2] if 0 <= j - 2 < s0 + 2 else 7.0 -> out[j]
)");
    Problem same = again;
    same.stages[0].reads[0].access.fill = -1.0;
    std::vector<sym::Bindings> sizes = {{{"s0", 1}}, {{"s0", 4}}};
    Problem p = compose_and_compare(pad, again, {{"x", "out"}}, {}, sizes); // different fills: a select
    EXPECT_EQ(p.stages.size(), 1U);
    Problem q = compose_and_compare(pad, same, {{"x", "out"}}, {}, sizes); // equal fills: one guard
    EXPECT_EQ(stages_of(q), "  y: f32[j] = x[j - 3] if 0 <= j - 3 < s0 else -1.0 -> out[j]\n");
    // A pointwise op that keeps 0 keeps the plain guard; one that does not gets its select.
    Problem relu = parse_problem(R"(problem relu(i = s0 + 2) where s0 >= 1
  x: f32[i] in
  out: f32[i] out
  y: f32[i] = maximum(x[i], 0.0) -> out[i]
)");
    Problem zero = again;
    zero.stages[0].reads[0].access.fill = 0.0;
    EXPECT_EQ(stages_of(compose_and_compare(relu, zero, {{"x", "out"}}, {}, sizes)),
              "  y: f32[j] = maximum((x[j - 2] if 0 <= j - 2 < s0 + 2), 0.0) -> out[j]\n");
    compose_and_compare(relu, again, {{"x", "out"}}, {}, sizes);
}

TEST(Compose, reductions_take_their_producers_in) {
    Problem add = parse_problem(R"(problem add(i = s0, j = 2, n = 3) where s0 >= 0
  a: bf16[i, j, n] in
  b: bf16[n] in
  out: bf16[i, j, n] out
  y: bf16[i, j, n] = narrow.bf16(f32(a[i, j, n]) + f32(b[n])) -> out[i, j, n]
)");
    Problem softmax = parse_problem(R"(problem softmax(m = s0, h = 2, r = 3, q = 3, n = 3) where s0 >= 0
  x: bf16[m, h, n] in
  out: bf16[m, h, n] out
  mx: f32[m, h] = max(r) f32(x[m, h, r])
  s: f32[m, h] = sum(q) exp(f32(x[m, h, q]) - mx[m, h])
  y: bf16[m, h, n] = narrow.bf16(exp(f32(x[m, h, n]) - mx[m, h]) / s[m, h]) -> out[m, h, n]
)");
    Problem p = compose_and_compare(add, softmax, {{"x", "out"}}, {}, kSizes);
    // The sum is read in three places: it stays a stage, and all run over its axes.
    EXPECT_EQ(stages_of(p), "  y: bf16[i, j, n] = narrow.bf16(f32(a[i, j, n]) + f32(b[n]))\n"
                            "  mx: f32[i, j] = max(n) f32(y[i, j, n])\n"
                            "  s: f32[i, j] = sum(n) exp(f32(y[i, j, n]) - mx[i, j])\n"
                            "  y_1: bf16[i, j, n] = narrow.bf16(exp(f32(y[i, j, n]) - mx[i, j]) / s[i, j]) -> out[i, j, n]\n");
    // Kept: the residual stream is written as well.
    Problem q = compose_and_compare(add, softmax, {{"x", "out"}}, {"out"}, kSizes);
    EXPECT_EQ(q.stages.size(), 4U);
}

TEST(Compose, two_products_share_their_axes_under_a_gate) {
    Problem gate = parse_problem(R"(problem gate(m = s0, n = 6, k = 4) where s0 >= 0
  x: f32[m, k] in
  w: f32[n, k] in
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) x[m, k] * w[n, k] -> out[m, n]
)");
    Problem silu = parse_problem(R"(problem silu(i = s0, j = 6) where s0 >= 0
  g: f32[i, j] in
  u: f32[i, j] in
  out: f32[i, j] out
  y: f32[i, j] = g[i, j] * sigmoid(g[i, j]) * u[i, j] -> out[i, j]
)");
    Problem half = compose_and_compare(gate, silu, {{"u", "out"}}, {}, kSizes);
    Problem whole = compose_and_compare(gate, half, {{"x", "x"}, {"g", "out"}}, {}, kSizes);
    EXPECT_EQ(stages_of(whole), "  acc: f32[m, n] = sum(k) x[m, k] * w[n, k]\n"
                                "  acc_1: f32[m, n] = sum(k_1) x[m, k_1] * w_1[n, k_1]\n"
                                "  y: f32[m, n] = acc[m, n] * sigmoid(acc[m, n]) * acc_1[m, n] -> out[m, n]\n");
}

TEST(Compose, concatenation_is_read_through_its_parts) {
    Problem cat = parse_problem(R"(problem cat(m = s0, i = 2, j = 3) where s0 >= 0
  a: f32[m, i] in
  b: f32[m, j] in
  out: f32[m, 5] out
  left: f32[m, i] = a[m, i] -> out[m, i]
  right: f32[m, j] = b[m, j] -> out[m, j + 2]
)");
    Problem neg = parse_problem(R"(problem neg(p = s0, q = 5) where s0 >= 0
  x: f32[p, q] in
  out: f32[p, q] out
  y: f32[p, q] = -x[p, q] -> out[p, q]
)");
    Problem p = compose_and_compare(cat, neg, {{"x", "out"}}, {}, kSizes);
    EXPECT_EQ(stages_of(p), "  y: f32[p, q] = -select(2 <= index(q), (b[p, q - 2] if 2 <= q), (a[p, q] if q < 2)) -> out[p, q]\n");
    Problem slice = parse_problem(R"(problem slice(p = s0, q = 2) where s0 >= 0
  x: f32[p, 5] in
  out: f32[p, q] out
  y: f32[p, q] = x[p, q + 3] -> out[p, q]
)");
    EXPECT_EQ(stages_of(compose_and_compare(cat, slice, {{"x", "out"}}, {}, kSizes)), "  y: f32[p, q] = b[p, q + 1] -> out[p, q]\n");
}

TEST(Compose, gathers_of_computed_values_keep_their_checks) {
    Problem table = parse_problem(R"(problem table(v = 5, n = 3)
  t: f32[v, n] in
  out: f32[v, n] out
  y: f32[v, n] = t[v, n] * 2.0 -> out[v, n]
)");
    Problem gather = parse_problem(R"(problem gather(m = s0, n = 3) where s0 >= 0
  t: f32[5, n] in
  i: i64[m] in
  out: f32[m, n] out
  y: f32[m, n] = t[checked(i[m], -5, 5) % 5, n] -> out[m, n]
)");
    Problem p = compose_and_compare(table, gather, {{"t", "out"}}, {}, kSizes);
    EXPECT_EQ(stages_of(p), "  y: f32[m, n] = t[checked(i[m], -5, 5) % 5, n] * 2.0 -> out[m, n]\n");
    // An index that is computed in a way that an index expression can say.
    Problem positions = parse_problem(R"(problem positions(m = s0) where s0 >= 0
  p: i32[m] in
  out: i64[m] out
  y: i64[m] = i64(p[m]) % 3 + 1 -> out[m]
)");
    Problem q = compose_and_compare(positions, gather, {{"i", "out"}}, {}, kSizes);
    EXPECT_EQ(stages_of(q), "  y: f32[m, n] = t[p[m] % 3 + 1, n] -> out[m, n]\n");
    // And one that it can't: the stage stays.
    Problem select = positions;
    scalar::Builder b;
    auto x = b.parameter(scalar::DType::i32);
    auto wide = b.cast(scalar::DType::i64, x);
    select.stages[0].body = b.finish({b.apply(scalar::Prim::select, {b.apply(scalar::Prim::lt, {wide, b.integer(scalar::DType::i64, 0)}),
                                                                     b.integer(scalar::DType::i64, 4), b.integer(scalar::DType::i64, 2)})});
    Problem r = compose_and_compare(select, gather, {{"i", "out"}}, {}, kSizes);
    EXPECT_EQ(r.stages.size(), 2U);
}

TEST(Compose, refusals_say_why) {
    Problem scatter = parse_problem(R"(problem scatter(j = s0, d = 2) where s0 >= 0
  cache: f32[4, 2] in
  p: i64[j] in
  v: f32[j, d] in
  new: f32[4, d] out aliases cache
  row: f32[j, d] = v[j, d] -> new[checked(p[j], 0, 4), d]
)");
    Problem read = parse_problem(R"(problem read(i = 4, j = 2)
  x: f32[i, j] in
  out: f32[i, j] out
  y: f32[i, j] = x[i, j] -> out[i, j]
)");
    std::vector<bool> keep(4, true);
    EXPECT_EQ(can_compose(scatter, read, {OperandId(3), std::nullopt}, keep).reason(),
              "'new' is not written in a way that can be read back element by element");
    EXPECT_EQ(can_compose(scatter, read, {OperandId(0), std::nullopt}, keep).reason(), "'cache' is overwritten before it is read");
    EXPECT_THROW(compose(scatter, read, {OperandId(3), std::nullopt}, keep), base::InternalError);
}

TEST(Compose, an_in_place_slice_is_read_with_what_lay_there) {
    Problem update = parse_problem(R"(problem update(j = 2, d = 3)
  cache: f32[4, 3] in
  v: f32[j, d] in
  new: f32[4, d] out aliases cache
  row: f32[j, d] = v[j, d] -> new[j + 1, d]
)");
    Problem scale = parse_problem(R"(problem scale(i = 4, j = 3)
  x: f32[i, j] in
  out: f32[i, j] out
  y: f32[i, j] = x[i, j] * 2.0 -> out[i, j]
)");
    compose_and_compare(update, scale, {{"x", "new"}}, {"new"}, {{}});
}

} // namespace
} // namespace codetta::problem
