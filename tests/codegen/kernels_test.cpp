// Whole kernels, compiled and run: sum of vectors, softmax, products.
#include "support.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace codetta::test {

namespace {

tile::Program vector_sum(DType t) {
    Builder b("vector_sum");
    const Expr n = b.integer("n");
    const View x = b.input("x", t, {n}, {1}), y = b.input("y", t, {n}, {1}), z = b.output("z", t, {n}, {1});
    const auto i = b.tasks({"i"}, {ceil_div(n, 64)});
    const View u = b.rmem("u", t, {64}), v = b.rmem("v", t, {64});
    const auto limit = tile::limit_of_mode(u.layout, 0, n - 64 * i[0]);
    b.copy(tile::tile(x, 0, 64, i[0]), u, {.limits = {limit}});
    b.copy(tile::tile(y, 0, 64, i[0]), v, {.limits = {limit}});
    b.map(u, {u, v}, [](scalar::Builder& s, auto in) { return s.apply(Prim::add, {in[0], in[1]}); });
    b.copy(u, tile::tile(z, 0, 64, i[0]), {.limits = {limit}});
    return std::move(b).finish();
}

} // namespace

TEST(Kernels, VectorSum) {
    for (DType t : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::i8, DType::u8, DType::i16})
        for (int64_t n : {1, 3, 63, 64, 65, 127, 200, 1000}) {
            SCOPED_TRACE(std::string(scalar::to_string(t)) + " " + std::to_string(n));
            expect_same(vector_sum(t), {random_array(t, n, 1, -20, 20), random_array(t, n, 2, -20, 20), HostArray(t, {n})}, {n});
        }
}

namespace {

// One task is one row, read three times from the cache.
tile::Program softmax() {
    Builder b("softmax");
    const Expr m = b.integer("m"), n = b.integer("n", {1, sym::kUnbounded});
    const View x = b.input("x", DType::f32, {m, n}, {n, 1}), y = b.output("y", DType::f32, {m, n}, {n, 1});
    const auto i = b.tasks({"i"}, {m});
    const int64_t w = 64;
    const View row_in = tile::at(x, 0, i[0]), row_out = tile::at(y, 0, i[0]);
    const View v = b.rmem("v", DType::f32, {w}), most = b.rmem("most", DType::f32, {w}), top = b.rmem("top", DType::f32, {1}),
               sums = b.rmem("sums", DType::f32, {w}), total = b.rmem("total", DType::f32, {1});
    const auto load = [&](const Expr& c, double fill) {
        b.copy(tile::tile(row_in, 0, w, c), v, {.limits = {tile::limit_of_mode(v.layout, 0, n - w * c)}, .fill = fill});
    };
    const View wide_top = tile::with_layout(top, {{w}, {0}}), wide_total = tile::with_layout(total, {{w}, {0}});
    b.fill(most, -INFINITY);
    b.loop("p", 0, ceil_div(n, w), [&](const Expr& c) {
        load(c, -INFINITY);
        b.map(most, {most, v}, [](scalar::Builder& s, auto in) { return s.apply(Prim::maximum, {in[0], in[1]}); });
    });
    b.fill(top, -INFINITY);
    b.reduce({most}, {wide_top}, scalar::maximum(DType::f32).combine);
    b.fill(sums, 0);
    const auto weight = [](scalar::Builder& s, scalar::Value x, scalar::Value top) {
        return s.apply(Prim::exp, {s.apply(Prim::sub, {x, top})});
    };
    b.loop("q", 0, ceil_div(n, w), [&](const Expr& c) {
        load(c, -INFINITY);
        b.map(sums, {sums, v, wide_top}, [&](scalar::Builder& s, auto in) { return s.apply(Prim::add, {in[0], weight(s, in[1], in[2])}); });
    });
    b.fill(total, 0);
    b.reduce({sums}, {wide_total}, scalar::sum(DType::f32).combine);
    b.loop("r", 0, ceil_div(n, w), [&](const Expr& c) {
        load(c, 0);
        b.map(v, {v, wide_top, wide_total},
              [&](scalar::Builder& s, auto in) { return s.apply(Prim::div, {weight(s, in[0], in[1]), in[2]}); });
        b.copy(v, tile::tile(row_out, 0, w, c), {.limits = {tile::limit_of_mode(v.layout, 0, n - w * c)}});
    });
    return std::move(b).finish();
}

} // namespace

TEST(Kernels, Softmax) {
    for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {3, 64}, {5, 100}, {2, 513}, {7, 17}})
        expect_same(softmax(), {random_array(DType::f32, m * n, 3, -10, 10), HostArray(DType::f32, {m * n})}, {m, n}, 3e-7);
}

namespace {

// The f32 product of docs/languages: packed weight, run-time m, n, k; bias and gelu.
tile::Program product(const std::string& fma, int64_t lanes, int64_t rows, int64_t vectors, bool gelu) {
    const int64_t w = lanes * vectors;
    Builder b("product");
    const Expr m = b.integer("m", {1, 1 << 20}), n = b.integer("n", {1, 1 << 20}), k = b.integer("k", {1, 1 << 20});
    const View a = b.input("a", DType::f32, {m, k}, {k, 1});
    const View packed = b.input("w", DType::f32, {ceil_div(n, w), k, w}, {w * k, w, 1});
    const View bias = b.input("bias", DType::f32, {n}, {1});
    const View out = b.output("out", DType::f32, {m, n}, {n, 1});
    const auto t = b.tasks({"i", "j"}, {ceil_div(m, rows), ceil_div(n, w)});
    const View acc = b.rmem("acc", DType::f32, {rows, w}), columns = b.rmem("columns", DType::f32, {w});
    b.fill(acc, 0);
    b.loop("p", 0, k, [&](const Expr& p) {
        b.copy(tile::at(tile::at(packed, 0, t[1]), 0, p), columns);
        b.unrolled("r", 0, rows, [&](const Expr& r) {
            const Expr row = min(rows * t[0] + r, m - 1);
            const View element{a.buffer, row * k + p, {{1, 1}, {0, 0}}, {}};
            b.mma(fma, tile::slice(acc, 0, r, 1), element, tile::with_layout(columns, {{w, 1}, {1, 0}}));
        });
    });
    const View bv = b.rmem("bv", DType::f32, {w});
    b.copy(tile::tile(bias, 0, w, t[1]), bv, {.limits = {tile::limit_of_mode(bv.layout, 0, n - w * t[1])}});
    b.map(acc, {acc, tile::with_layout(bv, {{rows, w}, {0, 1}})}, [&](scalar::Builder& s, auto in) {
        const auto x = s.apply(Prim::add, {in[0], in[1]});
        return gelu ? s.apply(Prim::mul, {x, s.apply(Prim::normal_cdf, {x})}) : x;
    });
    b.copy(acc, tile::tile(tile::tile(out, 0, rows, t[0]), 1, w, t[1]),
           {.limits = {tile::limit_of_mode(acc.layout, 0, m - rows * t[0]), tile::limit_of_mode(acc.layout, 1, n - w * t[1])}});
    b.require(lanes == 16 ? "avx512f" : "fma");
    return std::move(b).finish();
}

} // namespace

TEST(Kernels, Product) {
    for (bool gelu : {false, true})
        for (auto [m, n, k] : {std::array<int64_t, 3>{6, 64, 32}, {7, 65, 5}, {1, 1, 1}, {13, 130, 40}, {20, 40, 33}})
            for (int64_t lanes : {8, 16}) {
                SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
                const int64_t rows = lanes == 16 ? 6 : 4, vectors = lanes == 16 ? 4 : 2, w = lanes * vectors;
                expect_same(product(lanes == 16 ? "avx512.fma_f32" : "avx2.fma_f32", lanes, rows, vectors, gelu),
                            {random_array(DType::f32, m * k, 1), random_array(DType::f32, (n + w - 1) / w * w * k, 2),
                             random_array(DType::f32, n, 3), HostArray(DType::f32, {m * n})},
                            {m, n, k}, 1e-6);
            }
}

namespace {

// A line of assembly between a label and the backward jump to it: the innermost loop that holds `instruction`.
std::vector<std::string> loop_with(const std::string& assembly, const std::string& instruction) {
    std::vector<std::string> lines;
    std::string line;
    std::istringstream stream(assembly);
    while (std::getline(stream, line)) lines.push_back(line);
    for (size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].find(instruction) == std::string::npos) continue;
        size_t begin = i, end = i;
        while (begin > 0 && lines[begin].rfind(".LBB", 0) != 0) --begin;
        const std::string label = lines[begin].substr(0, lines[begin].find(':'));
        while (end < lines.size() && (lines[end].find("\tj") == std::string::npos || lines[end].find(label) == std::string::npos)) ++end;
        return {lines.begin() + static_cast<std::ptrdiff_t>(begin),
                lines.begin() + static_cast<std::ptrdiff_t>(std::min(end + 1, lines.size()))};
    }
    return {};
}

int count(const std::vector<std::string>& lines, const std::string& text) {
    return static_cast<int>(std::ranges::count_if(lines, [&](const auto& l) { return l.find(text) != std::string::npos; }));
}

} // namespace

// 24 multiply-adds, 4 loads, 6 broadcasts, the loop's own three instructions and nothing else: no spill, no address arithmetic.
TEST(Kernels, ProductLoopIsTight) {
    const auto target = base::make_target("x86_avx512");
    for (bool gelu : {false, true}) {
        const auto loop = loop_with(codegen::assembly(product("avx512.fma_f32", 16, 6, 4, gelu), targets::atoms(), target), "vfmadd231ps");
        EXPECT_EQ(count(loop, "vfmadd231ps"), 24);
        EXPECT_EQ(count(loop, "vbroadcastss"), 6);
        EXPECT_EQ(count(loop, "vmovups"), 4);
        EXPECT_EQ(count(loop, "(%rsp)"), 0);
        EXPECT_LE(loop.size(), 1u + 24 + 6 + 4 + 4) << "label, multiply-adds, broadcasts, loads, two counters and the jump";
    }
    const auto small = loop_with(
        codegen::assembly(product("avx2.fma_f32", 8, 4, 2, false), targets::atoms(), base::make_target("x86_avx2")), "vfmadd231ps");
    EXPECT_EQ(count(small, "vfmadd231ps"), 8);
    EXPECT_EQ(count(small, "(%rsp)"), 0);
}

TEST(Kernels, DotProductsOfBf16) {
    Builder b("dot");
    const Expr k = b.integer("k", {2, 1 << 20}, 2);
    const View a = b.input("a", DType::bf16, {3, k}, {k, 1});
    const View w = b.input("w", DType::bf16, {32, {2, floor_div(k, 2)}}, {2, {1, 64}}); // pairs of k together
    const View out = b.output("out", DType::f32, {3, 32}, {32, 1});
    b.require("avx512_bf16");
    b.tasks({}, {});
    const View acc = b.rmem("acc", DType::f32, {3, 32});
    b.fill(acc, 0);
    b.loop("p", 0, floor_div(k, 2), [&](const Expr& p) {
        b.mma("avx512.dp_bf16", acc, View{a.buffer, 2 * p, {{3, 2}, {k, 1}}, {}}, View{w.buffer, 64 * p, {{32, 2}, {2, 1}}, {}});
    });
    b.copy(acc, out);
    const auto program = std::move(b).finish();
    expect_same(program, {random_array(DType::bf16, 120, 1), random_array(DType::bf16, 1280, 2), HostArray(DType::f32, {96})}, {40}, 1e-5);
}

TEST(Kernels, ProductOfF64WithRuntimeStart) {
    for (int64_t lanes : {4, 8}) {
        Builder b("product64");
        const Expr k = b.integer("k"), first = b.integer("first");
        const View a = b.input("a", DType::f64, {2, k}, {k, 1}), w = b.input("w", DType::f64, {k, 16}, {16, 1}),
                   out = b.output("out", DType::f64, {2, 16}, {16, 1});
        b.require(lanes == 8 ? "avx512f" : "fma");
        b.tasks({}, {});
        const View acc = b.rmem("acc", DType::f64, {2, 16});
        b.copy(out, acc);
        b.loop("p", 0, k, [&](const Expr& p) {
            tile::Mma s;
            s.atom = lanes == 8 ? "avx512.fma_f64" : "avx2.fma_f64";
            s.d = acc;
            s.a = {a.buffer, p, {{2, 1}, {k, 0}}, {}};
            s.b = {w.buffer, 16 * p, {{16, 1}, {1, 0}}, {}};
            s.accumulate_if = sym::lt(first, p);
            b.mma(s);
        });
        b.copy(acc, out);
        const auto program = std::move(b).finish();
        for (int64_t start : {-1, 0, 3})
            expect_same(program, {random_array(DType::f64, 10, 1), random_array(DType::f64, 80, 2), random_array(DType::f64, 32, 3)},
                        {5, start}, 1e-15);
    }
}

} // namespace codetta::test
