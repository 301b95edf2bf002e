#include "codetta/tile/interpret.h"

#include <gtest/gtest.h>

#include <cmath>

#include "codetta/base/error.h"
#include "codetta/tile/builder.h"
#include "codetta/tile/test_atoms.h"
#include "codetta/tile/verify.h"

namespace codetta::tile {
namespace {

using scalar::DType;
using scalar::HostArray;
using scalar::Prim;
using sym::Expr;

HostArray numbers(DType t, std::vector<int64_t> extents, int seed) {
    HostArray out(t, extents);
    int64_t size = out.size();
    HostArray flat = out.view({size}, {1}, 0);
    for (int64_t i = 0; i < size; ++i) {
        int64_t at[1] = {i};
        flat.store(at, scalar::make_float(DType::f64, static_cast<double>((i * 7 + seed * 13 + i * i % 11) % 17 - 8) / 4));
    }
    return out;
}
HostArray flat(const HostArray& a) { return a.view({a.size()}, {1}, 0); }
double get(const HostArray& a, int64_t i, int64_t j) {
    int64_t at[2] = {i, j};
    return scalar::as_double(a.load(at));
}

// The f32 product of languages.md, by the builder.
Program product() {
    Builder b("product");
    Expr m = b.integer("m", {1, 1 << 20}), n = b.integer("n", {1, 1 << 20}), k = b.integer("k", {0, 1 << 20});
    View a = b.input("a", DType::f32, {m, k}, {k, 1});
    View w = b.input("w", DType::f32, {n, k}, {k, 1});
    View out = b.output("out", DType::f32, {m, n}, {n, 1});
    b.require("avx512f");
    auto ij = b.tasks({"i", "j"}, {ceil_div(m, 6), ceil_div(n, 64)});
    View acc = b.rmem("acc", DType::f32, {6, 64}), bv = b.rmem("bv", DType::f32, {64});
    b.fill(acc, 0);
    b.loop("p", 0, k, [&](const Expr& p) {
        View column = at(slice(w, 0, 64 * ij[1], 64), 1, p);
        b.copy(column, bv, {.limits = {limit_of_mode(bv.layout, 0, n - 64 * ij[1])}});
        b.unrolled("r", 0, 6, [&](const Expr& r) {
            View row = slice(slice(a, 0, min(6 * ij[0] + r, m - 1), 1), 1, p, 1);
            b.mma("test.fma", slice(acc, 0, r, 1), row, with_layout(bv, {{64, 1}, {1, 0}}));
        });
    });
    b.map(acc, {acc, Argument(6 * ij[0] + Expr::symbol("c0"))},
          [](scalar::Builder& s, auto in) { return s.apply(Prim::add, {in[0], s.cast(DType::f32, in[1])}); });
    View target = slice(slice(out, 0, 6 * ij[0], 6), 1, 64 * ij[1], 64);
    b.copy(acc, target, {.limits = {limit_of_mode(acc.layout, 0, m - 6 * ij[0]), limit_of_mode(acc.layout, 1, n - 64 * ij[1])}});
    return std::move(b).finish();
}

TEST(Interpret, ProductOfLanguagesPage) {
    Program p = product();
    verify(p, test::atoms());
    Program again = parse_program(to_string(p));
    EXPECT_EQ(to_string(again), to_string(p));
    int64_t m = 13, n = 70, k = 5;
    HostArray a = numbers(DType::f32, {m, k}, 1), w = numbers(DType::f32, {n, k}, 2), out(DType::f32, {m, n});
    EXPECT_EQ(interpret(again, test::atoms(), {{flat(a), flat(w), flat(out)}, {m, n, k}}), 0);
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            double sum = static_cast<double>(i);
            for (int64_t l = 0; l < k; ++l) sum += get(a, i, l) * get(w, j, l);
            EXPECT_EQ(get(out, i, j), sum) << i << " " << j;
        }
}

TEST(Interpret, OutOfBoundsNamesTheStatement) {
    Program p = parse_program("kernel k(x: f32 gmem written; n)\n  tasks i in n\n    alloc q: f32 rmem (4)\n    fill q[4:1] 1\n    copy "
                              "q[4:1] -> x[4*i | 4:1]\n");
    HostArray x(DType::f32, {10});
    try {
        interpret(p, test::atoms(), {{x}, {3}});
        FAIL();
    } catch (const base::InternalError& e) {
        EXPECT_EQ(std::string(e.what()).find("kernel k, statement `copy q[4:1] -> x[4*i | 4:1]`: element 10 of `x`, which has 10"), 0u)
            << e.what();
    }
}

TEST(Interpret, ChecksGiveTheirCode) {
    Program p = parse_program("kernel k(x: i64 gmem; n)\n  check 1 \"first\"\n  check 2 \"second\"\n  tasks i in n\n    load v = x[i | "
                              "1:0]\n    check v in 0 .. 5 code 2\n");
    HostArray x(DType::i64, {3});
    EXPECT_EQ(interpret(p, test::atoms(), {{x}, {3}}), 0);
    x.as<int64_t>()[1] = 5;
    EXPECT_EQ(interpret(p, test::atoms(), {{x}, {3}}), 2);
}

// AMX-like product whose previous tile's epilogue runs inside the k loop of the next: two scratch buffers, the previous column as a var.
Program pipelined() {
    Builder b("pipelined");
    Expr n = b.integer("n", {32, 1 << 20}, 16), k = b.integer("k", {32, 1 << 20}, 32);
    View a = b.input("a", DType::bf16, {16, k}, {k, 1});
    View w = b.input("w", DType::bf16, {n, k}, {k, 1});
    View out = b.output("out", DType::bf16, {16, n}, {n, 1});
    b.require("amx_tile");
    b.require("amx_bf16");
    b.tasks({}, {});
    View spare = b.scratch("spare", DType::f32, {{16, 16, 2}, {16, 1, 256}});
    View ta = b.tmm("ta", DType::bf16, {{16, 32}, {32, 1}}), tb = b.tmm("tb", DType::bf16, {{16, 32}, {32, 1}});
    View tc = b.tmm("tc", DType::f32, {{16, 16}, {16, 1}});
    View row = b.rmem("row", DType::f32, {16}), result = b.rmem("result", DType::bf16, {16});
    Expr current = b.var("current", 0, 0, 2);
    auto epilogue_row = [&](const Expr& r, const Expr& column, const Expr& buffer) {
        b.copy(at(at(spare, 2, buffer), 0, r), row);
        b.map(result, {row}, [](scalar::Builder& s, auto in) { return s.apply(Prim::maximum, {in[0], s.constant(DType::f32, 0)}); });
        b.copy(result, slice(at(out, 0, r), 0, 16 * column, 16));
    };
    auto body = [&](const Expr& j, const std::function<void(const Expr&)>& inside) {
        b.fill(tc, 0);
        b.loop("p", 0, floor_div(k, 32), [&](const Expr& p) {
            b.copy(slice(a, 1, 32 * p, 32), ta, {.atom = "test.tileload"});
            b.copy(slice(slice(w, 0, 16 * j, 16), 1, 32 * p, 32), tb, {.atom = "test.tileload"});
            b.mma("test.tdpbf16ps", tc, ta, tb);
            inside(p);
        });
        b.copy(tc, at(spare, 2, current), {.atom = "test.tilestore"});
    };
    Expr tiles = floor_div(n, 16), steps = floor_div(k, 32), rows = ceil_div(16, steps);
    body(0, [](const Expr&) {});
    b.loop("j", 1, tiles, [&](const Expr& j) {
        b.set(current, 1 - current);
        body(j, [&](const Expr& p) {
            b.loop("r", min(rows * p, 16), min(rows * p + rows, 16), [&](const Expr& r) { epilogue_row(r, j - 1, 1 - current); });
        });
    });
    b.loop("r", 0, 16, [&](const Expr& r) { epilogue_row(r, tiles - 1, current); });
    return std::move(b).finish();
}

TEST(Interpret, PipelinedEpilogue) {
    Program p = pipelined();
    verify(p, test::atoms());
    EXPECT_EQ(to_string(parse_program(to_string(p))), to_string(p));
    int64_t n = 64, k = 96;
    HostArray a = numbers(DType::bf16, {16, k}, 1), w = numbers(DType::bf16, {n, k}, 2), out(DType::bf16, {16, n});
    EXPECT_EQ(interpret(p, test::atoms(), {{flat(a), flat(w), flat(out)}, {n, k}}), 0);
    for (int64_t i = 0; i < 16; ++i)
        for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) sum += get(a, i, l) * get(w, j, l);
            EXPECT_EQ(get(out, i, j), scalar::round_to(DType::bf16, std::max(sum, 0.0))) << i << " " << j;
        }
}

// A producer and a consumer over one barrier of two buffers; `early` and `late` agree.
constexpr const char* kRing = R"(kernel ring(t: f32 tensormap box (2, 8) swizzle 0, y: f32 gmem written; n) requires tma
  grid 1 threads 64
    alloc s: f32 smem (64) align 128
    alloc full: i64 barrier (2)
    alloc empty: i64 barrier (2)
    if thread == 0
      init full[0 | 1:0] arrivals 1
      init full[1 | 1:0] arrivals 1
      init empty[0 | 1:0] arrivals 1
      init empty[1 | 1:0] arrivals 1
      fence barrier_init
    sync 0
    role producer warps 0 .. 1
      elect
        for i in 0 .. n
          wait empty[i % 2 | 1:0] phase 1 - i // 2 % 2
          expect full[i % 2 | 1:0] bytes 64
          copy sm90.tma_load t[(2,8):(8,1)] -> s[32*(i % 2) | (2,8):(8,1)] at (2*i, -3) signal full[i % 2 | 1:0]
    role consumer warps 1 .. 2
      alloc v: f32 rmem (1)
      for i_1 in 0 .. n
        wait full[i_1 % 2 | 1:0] phase i_1 // 2 % 2
        if lane < 16
          copy s[32*(i_1 % 2) + lane | 1:0] -> v[1:0]
          copy v[1:0] -> y[16*i_1 + lane | 1:0]
        arrive empty[i_1 % 2 | 1:0] if lane == 0
)";

TEST(Interpret, RingOfBoxes) {
    Program p = parse_program(kRing);
    verify(p, test::atoms());
    EXPECT_EQ(to_string(parse_program(to_string(p))), to_string(p));
    HostArray t = numbers(DType::f32, {7, 6}, 1);
    for (Completion completion : {Completion::early, Completion::late}) {
        HostArray y = numbers(DType::f32, {4 * 16}, 2);
        std::vector<TensorMap> maps{{t}};
        EXPECT_EQ(interpret(p, test::atoms(), {{y}, {4}}, maps, completion), 0);
        for (int64_t row = 0; row < 8; ++row)
            for (int64_t c = 0; c < 8; ++c) { // boxes begin three columns before the tensor and end behind its rows: zeros there
                bool inside = row < 7 && c >= 3 && c < 9;
                EXPECT_EQ(y.as<float>()[row * 8 + c], inside ? get(t, row, c - 3) : 0) << row << " " << c;
            }
    }
}

TEST(Interpret, DeadlockListsWhoWaits) {
    std::string text = kRing;
    text.replace(text.find("phase i_1 // 2 % 2"), 18, "phase 1 - i_1 // 2 % 2");
    HostArray t = numbers(DType::f32, {7, 6}, 1), y(DType::f32, {64});
    std::vector<TensorMap> maps{{t}};
    auto message = [&](const std::string& program) -> std::string {
        try {
            interpret(parse_program(program), test::atoms(), {{y}, {4}}, maps);
        } catch (const base::InternalError& e) {
            return e.what();
        }
        return "nothing thrown";
    };
    EXPECT_EQ(message(text).substr(0, 29), "kernel ring: every warp waits"); // the consumer runs ahead by a phase
    text = kRing;
    text.replace(text.find("arrive empty[i_1 % 2 | 1:0] if lane == 0"), 40, "arrive empty[i_1 % 2 | 1:0] if lane == 40");
    EXPECT_EQ(message(text), "kernel ring: every warp waits\n"
                             "  warp 0 (producer): `wait empty[i % 2 | 1:0] phase -((i // 2) % 2) + 1`: element 0 is in phase 0, 1 of 1 "
                             "arrivals and 0 bytes are missing\n"
                             "  warp 1 (consumer): `wait full[i_1 % 2 | 1:0] phase (i_1 // 2) % 2`: element 0 is in phase 1, 1 of 1 "
                             "arrivals and 0 bytes are missing");
}

TEST(Interpret, RacesAreFound) {
    HostArray t = numbers(DType::f32, {7, 6}, 1), y(DType::f32, {64});
    std::vector<TensorMap> maps{{t}};
    // The consumer does not wait; it runs behind the producer here, so that only late completion shows it.
    std::string text = kRing;
    text.replace(text.find("producer warps 0 .. 1"), 21, "producer warps 1 .. 2");
    text.replace(text.find("consumer warps 1 .. 2"), 21, "consumer warps 0 .. 1");
    size_t at = text.find("        wait full");
    text.erase(at, text.find('\n', at) + 1 - at);
    HostArray early = y.clone(), late = y.clone();
    interpret(parse_program(text), test::atoms(), {{early}, {2}}, maps, Completion::early);
    interpret(parse_program(text), test::atoms(), {{late}, {2}}, maps, Completion::late);
    bool same = true;
    for (int64_t i = 0; i < 32; ++i) same = same && early.as<float>()[i] == late.as<float>()[i];
    EXPECT_FALSE(same);
}

} // namespace
} // namespace codetta::tile
