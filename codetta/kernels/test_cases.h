// The Problems that every template is tested on, with sizes.
#pragma once

#include <vector>

#include "codetta/sym/expr.h"

namespace codetta::kernels {

struct Case {
    const char* name;
    const char* text;
    std::vector<sym::Bindings> sizes;
};

inline const std::vector<Case>& test_cases() {
    static const std::vector<Case> list = {
        {"add_broadcast",
         R"(problem p(m = s0, n = s1) where s0 >= 0, s1 >= 0
  x: f32[m, n] in
  b: f32[n] in
  out: f32[m, n] out
  y: f32[m, n] = x[m, n] + b[n] -> out[m, n]
)",
         {{{"s0", 3}, {"s1", 70}}, {{"s0", 1}, {"s1", 1}}, {{"s0", 0}, {"s1", 5}}, {{"s0", 2}, {"s1", 1100}}}},
        {"transpose_bf16",
         R"(problem p(m = 5, n = 37)
  x: bf16[n, m] in
  out: f32[m, n] out
  y: f32[m, n] = f32(x[n, m]) -> out[m, n]
)",
         {{}}},
        {"softmax",
         R"(problem p(m = s0, n = s1) where s0 >= 1, s1 >= 1
  x: f32[m, n] in
  out: f32[m, n] out
  mx: f32[m] = max(n) x[m, n]
  e: f32[m, n] = exp(x[m, n] - mx[m])
  s: f32[m] = sum(n) e[m, n]
  y: f32[m, n] = e[m, n] / s[m] -> out[m, n]
)",
         {{{"s0", 3}, {"s1", 100}}, {{"s0", 2}, {"s1", 7}}}},
        {"layer_norm",
         R"(problem p(m = s0, n = 80) where s0 >= 1
  x: f32[m, n] in
  r: f32[m, n] in
  w: f32[n] in
  out: f32[m, n] out
  mean: f32[m] out
  h: f32[m, n] = x[m, n] + r[m, n]
  t: f32[m] = sum(n) h[m, n]
  mu: f32[m] = t[m] / 80.0 -> mean[m]
  q: f32[m] = sum(n) (h[m, n] - mu[m]) * (h[m, n] - mu[m])
  y: f32[m, n] = (h[m, n] - mu[m]) * rsqrt(q[m] / 80.0 + 1e-5) * w[n] -> out[m, n]
)",
         {{{"s0", 4}}}},
        {"column_sum",
         R"(problem p(m = 33, n = s0) where s0 >= 1
  x: f32[m, n] in
  out: f32[n] out
  y: f32[n] = sum(m) x[m, n] -> out[n]
)",
         {{{"s0", 100}}, {{"s0", 3}}}},
        {"argmax",
         R"(problem p(m = 3, n = 75)
  x: f32[m, n] in
  out: i64[m] out
  y: i64[m] = argmax(n) x[m, n] -> out[m]
)",
         {{}}},
        {"pad_and_shift",
         R"(problem p(m = 4, n = 90)
  x: f32[4, 80] in
  out: f32[m, n] out
  y: f32[m, n] = x[m, n - 5] if 0 <= n - 5 < 80 else 1.5 -> out[m, n]
)",
         {{}}},
        {"causal",
         R"(problem p(m = 9, n = 70)
  x: f32[m, n] in
  out: f32[m, n] out
  y: f32[m, n] = select(index(n) <= index(m), x[m, n], -inf) -> out[m, n]
)",
         {{}}},
        {"embedding",
         R"(problem p(m = s0, n = 48) where s0 >= 1
  i: i64[m] in
  t: f32[10, 48] in
  out: f32[m, n] out
  y: f32[m, n] = t[checked(i[m], 0, 10), n] -> out[m, n]
)",
         {{{"s0", 5}}}},
        {"product",
         R"(problem p(m = s0, n = s1, k = s2) where s0 >= 1, s1 >= 1, s2 >= 1
  x: f32[m, k] in
  w: f32[n, k] in
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) x[m, k] * w[n, k] -> out[m, n]
)",
         {{{"s0", 13}, {"s1", 70}, {"s2", 21}},
          {{"s0", 6}, {"s1", 64}, {"s2", 16}},
          {{"s0", 2}, {"s1", 3}, {"s2", 5}},
          {{"s0", 40}, {"s1", 5}, {"s2", 3}}}},
        {"few_rows",
         R"(problem p(m = s0, n = 100, k = 24) where s0 >= 1
  x: f32[m, k] in
  w: f32[n, k] in
  b: f32[n] in
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) x[m, k] * w[n, k]
  y: f32[m, n] = acc[m, n] + b[n] -> out[m, n]
)",
         {{{"s0", 1}}, {{"s0", 5}}, {{"s0", 19}}, {{"s0", 64}}, {{"s0", 130}}}},
        {"few_rows_bf16",
         R"(problem p(m = 16, n = 100, k = 24)
  x: bf16[m, k] in
  w: bf16[n, k] in
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: bf16[m, n] = bf16(acc[m, n]) -> out[m, n]
)",
         {{}}},
        {"linear_gelu_frozen",
         R"(problem p(m = s0, n = 96, k = 40) where s0 >= 1
  x: f32[m, k] in
  w: f32[n, k] in frozen
  b: f32[n] in
  r: f32[m, n] in
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) x[m, k] * w[n, k]
  h: f32[m, n] = acc[m, n] + b[n]
  y: f32[m, n] = h[m, n] * normal_cdf(h[m, n]) + r[m, n] -> out[m, n]
)",
         {{{"s0", 17}}, {{"s0", 4}}, {{"s0", 101}}}}, // the last in two blocks of rows
        {"long_sum_in_parts",
         R"(problem p(m = 13, n = 20, k = 1700)
  x: f32[m, k] in
  w: f32[n, k] in frozen
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) x[m, k] * w[n, k]
  y: f32[m, n] = acc[m, n] * 2.0 -> out[m, n]
)",
         {{}}},
        {"dots_bf16",
         R"(problem p(n = 70, k = 37)
  x: bf16[k] in
  w: bf16[n, k] in
  out: bf16[n] out
  acc: f32[n] = sum(k) f32(x[k]) * f32(w[n, k])
  y: bf16[n] = bf16(acc[n]) -> out[n]
)",
         {{}}},
        {"product_bf16",
         R"(problem p(m = s0, n = 100, k = s1) where s0 >= 1, s1 >= 1
  x: bf16[m, k] in
  w: bf16[n, k] in
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: bf16[m, n] = bf16(acc[m, n]) -> out[m, n]
)",
         {{{"s0", 9}, {"s1", 35}}, {{"s0", 1}, {"s1", 64}}}},
        {"product_bf16_frozen",
         R"(problem p(m = s0, n = 100, k = s1) where s0 >= 1, s1 >= 1
  x: bf16[m, k] in
  w: bf16[n, k] in frozen
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: bf16[m, n] = bf16(acc[m, n]) -> out[m, n]
)",
         {{{"s0", 9}, {"s1", 35}}, {{"s0", 1}, {"s1", 64}}}},
        {"tiles_frozen",
         R"(problem p(m = s0, n = 70, k = s1) where s0 >= 1, s1 >= 0
  x: bf16[m, k] in
  w: bf16[n, k] in frozen
  b: bf16[n] in
  r: bf16[m, n] in
  out: bf16[m, n] out
  raw: f32[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k]) -> raw[m, n]
  h: f32[m, n] = acc[m, n] + f32(b[n])
  y: bf16[m, n] = bf16(h[m, n] * normal_cdf(h[m, n]) + f32(r[m, n])) -> out[m, n]
)",
         {{{"s0", 1}, {"s1", 64}},
          {{"s0", 16}, {"s1", 70}},
          {{"s0", 17}, {"s1", 33}},
          {{"s0", 33}, {"s1", 96}},
          {{"s0", 70}, {"s1", 31}},
          {{"s0", 265}, {"s1", 35}},
          {{"s0", 5}, {"s1", 0}}}},
        {"tiles_whole",
         R"(problem p(m = 272, n = 32, k = 64)
  x: bf16[m, k] in
  w: bf16[n, k] in frozen
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k]) -> out[m, n]
)",
         {{}}},
        {"tiles_deep",
         R"(problem p(m = 70, n = 36, k = s0) where s0 >= 1
  x: bf16[m, k] in
  w: bf16[n, k] in frozen
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k]) -> out[m, n]
)",
         {{{"s0", 512}}, {{"s0", 1057}}, {{"s0", 40}}}},
        {"tiles_as_they_lie",
         R"(problem p(m = s0, n = s1, k = s2) where s0 >= 1, s1 >= 40, s2 >= 20
  x: bf16[m, k] in
  w: bf16[n, k] in
  b: bf16[n] in
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[n, k])
  y: bf16[m, n] = bf16(acc[m, n] + f32(b[n])) -> out[m, n]
)",
         {{{"s0", 1}, {"s1", 40}, {"s2", 64}},
          {{"s0", 2}, {"s1", 70}, {"s2", 33}},
          {{"s0", 16}, {"s1", 64}, {"s2", 20}},
          {{"s0", 31}, {"s1", 97}, {"s2", 96}},
          {{"s0", 262}, {"s1", 45}, {"s2", 40}}}},
        {"tiles_of_columns",
         R"(problem p(m = s0, n = s1, k = s2) where s0 >= 1, s1 >= 1, s2 >= 1
  x: bf16[m, k] in
  w: bf16[k, n] in
  out: bf16[m, n] out
  acc: f32[m, n] = sum(k) f32(x[m, k]) * f32(w[k, n])
  y: bf16[m, n] = bf16(acc[m, n]) -> out[m, n]
)",
         {{{"s0", 3}, {"s1", 40}, {"s2", 64}}, {{"s0", 45}, {"s1", 7}, {"s2", 45}}, {{"s0", 48}, {"s1", 70}, {"s2", 1}}}},
        {"tiles_turned",
         R"(problem p(m = s0, n = 70, k = s1) where s0 >= 1, s1 >= 1
  x: bf16[k, m] in
  w: bf16[k, n] in
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) f32(x[k, m]) * f32(w[k, n]) -> out[m, n]
)",
         {{{"s0", 5}, {"s1", 64}}, {{"s0", 55}, {"s1", 37}}}},
        {"tiles_batched",
         R"(problem p(h = 3, b = 2, m = s0, n = s1, k = 48) where s0 >= 1, s1 >= 1
  x: bf16[b, m, h, k] in
  y: bf16[b, n, h, k] in
  mask: f32[b, n] in
  out: f32[b, h, m, n] out
  acc: f32[b, h, m, n] = sum(k) f32(x[b, m, h, k]) * f32(y[b, n, h, k])
  z: f32[b, h, m, n] = acc[b, h, m, n] * 0.125 + mask[b, n] -> out[b, h, m, n]
)",
         {{{"s0", 9}, {"s1", 40}}, {{"s0", 35}, {"s1", 35}}}},
        {"long_sum",
         R"(problem p(m = 7, n = 70, k = s0) where s0 >= 1
  x: f32[m, k] in
  w: f32[n, k] in frozen
  out: f32[m, n] out
  acc: f32[m, n] = sum(k) x[m, k] * w[n, k] -> out[m, n]
)",
         {{{"s0", 256}}, {{"s0", 515}}, {{"s0", 1024}}, {{"s0", 3}}}},
        {"batched_nn",
         R"(problem p(b = 3, m = 8, n = 70, k = 20)
  x: f32[b, m, k] in
  v: f32[b, k, n] in
  out: f32[m, b, n] out
  acc: f32[b, m, n] = sum(k) x[b, m, k] * v[b, k, n] -> out[m, b, n]
)",
         {{}}},
        {"attention",
         R"(problem p(b = 2, h = 4, q = s0, k = s1, d = 16, e = 24) where s0 >= 1, s1 >= 1
  x: f32[b, h, q, d] in
  y: f32[b, 2, k, d] in
  v: f32[b, k, h, e] in
  mask: f32[b, k] in
  out: f32[b, q, h, e] out
  lse: f32[b, h, q] out
  score: f32[b, h, q, k] = sum(d) x[b, h, q, d] * y[b, h // 2, k, d]
  logit: f32[b, h, q, k] = score[b, h, q, k] * 0.25 + mask[b, k]
  mx: f32[b, h, q] = max(k) logit[b, h, q, k]
  w: f32[b, h, q, k] = exp(logit[b, h, q, k] - mx[b, h, q])
  total: f32[b, h, q] = sum(k) w[b, h, q, k]
  o: f32[b, h, q, e] = sum(k) w[b, h, q, k] * v[b, k, h, e]
  z: f32[b, h, q, e] = o[b, h, q, e] / total[b, h, q] -> out[b, q, h, e]
  l: f32[b, h, q] = mx[b, h, q] + log(total[b, h, q]) -> lse[b, h, q]
)",
         {{{"s0", 7}, {"s1", 9}}, {{"s0", 1}, {"s1", 70}}, {{"s0", 53}, {"s1", 5}}}},
        {"attention_bf16",
         R"(problem p(b = 2, h = 2, q = s0, k = s1, d = 48, e = 24) where s0 >= 1, s1 >= 1
  x: bf16[b, q, h, d] in
  y: bf16[b, k, h, d] in
  v: bf16[b, k, h, e] in
  mask: f32[b, k] in
  out: bf16[b, q, h, e] out
  score: f32[b, h, q, k] = sum(d) f32(x[b, q, h, d]) * f32(y[b, k, h, d])
  logit: f32[b, h, q, k] = score[b, h, q, k] * 0.25 + mask[b, k]
  mx: f32[b, h, q] = max(k) logit[b, h, q, k]
  w: f32[b, h, q, k] = exp(logit[b, h, q, k] - mx[b, h, q])
  total: f32[b, h, q] = sum(k) w[b, h, q, k]
  o: f32[b, h, q, e] = sum(k) w[b, h, q, k] * f32(v[b, k, h, e])
  z: bf16[b, h, q, e] = bf16(o[b, h, q, e] / total[b, h, q]) -> out[b, q, h, e]
)",
         {{{"s0", 14}, {"s1", 9}}, {{"s0", 37}, {"s1", 70}}}},
    };
    return list;
}

} // namespace codetta::kernels
