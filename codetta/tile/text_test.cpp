#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "codetta/tile/test_atoms.h"
#include "codetta/tile/verify.h"

namespace codetta::tile {
namespace {

// The f32 product of languages.md: 6 rows by 4 vectors.
constexpr const char* kProduct =
    R"(kernel product(a: f32 gmem, w: f32 gmem align 64, b: f32 gmem, out: f32 gmem written; m, n, k, lda, ldo) requires avx512f
  where k >= 0, lda >= 0, ldo >= 0, m >= 1, n >= 1
  tasks i in (m + 5) // 6, j in (n + 63) // 64
    alloc acc: f32 rmem (384)
    alloc bv: f32 rmem (64)
    alloc bias: f32 rmem (64)
    fill acc[(6,(16,4)):(64,(1,16))] 0.0
    for p in 0 .. k
      copy w[64*j*k + 16*p | (16,4):(1,16*k)] -> bv[(16,4):(1,16)]
      prefetch w[64*j*k + 16*p + 16 | 1:0] level 1
      for r in 0 .. 6 unroll
        mma test.fma acc[64*r | (1,64):(64,1)] += a[lda*min(6*i + r, m - 1) + p | (1,1):(lda,1)] * bv[(64,1):(1,1)]
    copy b[64*j | 64:1] -> bias[64:1] limit 64:1 < -64*j + n
    map acc[(6,64):(64,1)] = { %2 = add %0, %1; return %2 } (acc[(6,64):(64,1)], bias[(6,64):(0,1)])
    copy acc[(6,64):(64,1)] -> out[6*i*ldo + 64*j | (6,64):(ldo,1)] limit (6,64):(1,0) < -6*i + m limit (6,64):(0,1) < -64*j + n
)";

TEST(Text, ParsePrintsTheSame) {
    Program p = parse_program(kProduct);
    std::string once = to_string(p);
    EXPECT_EQ(to_string(parse_program(once)), once);
    EXPECT_NE(once.find("for r in 0 .. 6 unroll"), std::string::npos);
    EXPECT_NE(once.find("copy b[64*j | 64:1] -> bias[64:1] limit 64:1 < "), std::string::npos);
    EXPECT_NO_THROW(verify(p, test::atoms()));
}

TEST(Text, EveryGpuStatement) {
    const char* text =
        R"(kernel all(ta: bf16 tensormap box (64, 64) swizzle 128, x: i32 gmem, y: f32 gmem written aliased; m) requires tma, wgmma
  where m >= 1
  check 1 "index out of range"
  grid min(m, sms) threads 256 cluster 2
    alloc sa: bf16 smem (4096) align 1024
    alloc full: i64 barrier (2)
    alloc f: f32 rmem (8)
    var s = 0 in 0 .. 2
    let q = m // 3
    load i = x[q | 1:0]
    check i in 0 .. m code 1
    init full[s | 1:0] arrivals 4
    fence barrier_init
    sync 0
    role producer warps 0 .. 4 registers 40
      if warp == 0 and m < 5
        elect
          expect full[s | 1:0] bytes 8192
          copy sm90.tma_load ta[(64,64):(64,1)] -> sa[(64,64):(64,1) | swizzle 3 4 3] at (0, q) signal full[s | 1:0]
      else
        arrive full[s | 1:0] cluster 1 if lane == 0 and q != 2
        set s = 1
    role consumer warps 4 .. 8
      wait full[s | 1:0] phase 1
      mma test.wgmma f[8:1] += sa[(64,16):(64,1) | swizzle 3 4 3] * sa[(16,16):(64,1) | swizzle 3 4 3] async accumulate if q != 0
      commit mma
      wait group mma 0 makes f[8:1]
      wait group bulk 1 read
      shuffle f[8:1] = f[8:1] xor 4
      reduce f[(8,2):(1,0)] = { %2 = maximum %0, %1; return %2 } (f[(8,2):(1,0)])
      map f[8:1] = { %1 = cast.f32 %0; return %1 } (index c0 + q)
      atomic y[8*lane | 8:1] += f[8:1]
      copy f[8:1] -> y[8*lane | 8:1] fill 1.5 streaming
      sync warpgroup + 1 threads 128 arrive
      fence async_proxy
      griddep wait
      griddep launch
      prefetch ta[1:0] level 1 write
)";
    std::string once = to_string(parse_program(text));
    EXPECT_EQ(to_string(parse_program(once)), once);
    EXPECT_EQ(std::count(once.begin(), once.end(), '\n'), 38);
}

// Words that may end a statement begin the next one here.
TEST(Text, OptionalWordsEndWithTheLine) {
    const char* text = R"(kernel words(x: f32 gmem written)
  grid 1 threads 64
    alloc b: i64 barrier (1)
    alloc v: f32 rmem (1)
    copy x[1:0] -> v[1:0]
    fill v[1:0] 0.0
    sync 0
    arrive b[1:0]
    if lane == 0
      wait b[1:0] phase 0
)";
    EXPECT_EQ(to_string(parse_program(text)), text);
}

TEST(Text, ErrorsNameThePlace) {
    auto message = [](const char* text) -> std::string {
        try {
            parse_program(text);
        } catch (const base::UserError& e) {
            return e.what();
        }
        return "nothing thrown";
    };
    EXPECT_EQ(message("kernel k()\n  tasks\n    fill q[4:1] 0\n"), "line 3, column 10: no buffer has this name, found 'q'");
    EXPECT_EQ(message("kernel k()\n  tasks\n    jump\n"), "line 3, column 5: this is no statement, found 'jump'");
    EXPECT_EQ(message("kernel k()\n  tasks\n    alloc q: f32 rmem (4)\n      fill q[4:1] 0\n"),
              "line 4, column 7: this line stands in no block's column, found 'fill'");
    EXPECT_EQ(message("kernel k()\n  tasks\n    alloc q: f33 rmem (4)\n").substr(0, 17), "line 3, column 14");
}

TEST(Verify, NamesTheStatement) {
    auto message = [](const std::string& body) -> std::string {
        try {
            verify(parse_program("kernel k(x: f32 gmem; n)\n  tasks i in n\n    alloc q: f32 rmem (4)\n" + body), test::atoms());
        } catch (const base::InternalError& e) {
            return e.what();
        }
        return "nothing thrown";
    };
    EXPECT_EQ(message("    copy q[4:1] -> x[4*i | 4:1]\n"), "kernel k, statement `copy q[4:1] -> x[4*i | 4:1]`: `x` is not marked written");
    EXPECT_EQ(message("    fill q[2 | 4:1] 0\n"), "kernel k, statement `fill q[2 | 4:1] 0.0`: element 5 of `q`, which has 4");
    EXPECT_EQ(message("    let i = 2 * n\n"), "kernel k, statement `let i = 2*n`: `i` is defined twice");
    EXPECT_EQ(message("    fill q[z | 1:0] 0\n"), "kernel k, statement `fill q[z | 1:0] 0.0`: `z` is not defined here");
    EXPECT_EQ(message("    mma test.fma q[(1,4):(0,1)] += x[(1,1):(0,0)] * q[(4,1):(1,0)]\n"),
              "kernel k, statement `mma test.fma q[(1,4):(0,1)] += x[(1,1):(0,0)] * q[(4,1):(1,0)]`: `test.fma` needs `requires avx512f`");
}

} // namespace
} // namespace codetta::tile
