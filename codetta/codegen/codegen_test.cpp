// What code says about itself: AMX instructions, errors, images.
#include "codetta/base/error.h"
#include "codetta/codegen/compile.h"
#include "codetta/codegen/iteration.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/function.h"
#include "codetta/scalar/host_array.h"
#include "codetta/targets/list.h"
#include "codetta/tile/builder.h"
#include "codetta/tile/interpret.h"
#include "codetta/tile/verify.h"

#include <gtest/gtest.h>

#include <random>

namespace codetta::codegen {

using scalar::DType;
using sym::Expr;
using tile::Builder;
using tile::View;

namespace {

int count(const std::string& text, const std::string& what) {
    int n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

// out[32, 32] = a[32, k] * w[32, k]^T with w packed in pairs; four accumulator tiles.
tile::Program amx_product() {
    Builder b("amx_product");
    const Expr k = b.integer("k", {32, 1 << 20}, 32);
    const View a = b.input("a", DType::bf16, {32, k}, {k, 1});
    const View w = b.input("w", DType::bf16, {1}, {0}); // [n / 16][k / 2][16][2]
    const View out = b.output("out", DType::f32, {32, 32}, {32, 1});
    b.require("amx_tile");
    b.require("amx_bf16");
    b.tasks({}, {});
    const View c = b.tmm("c", DType::f32, {{{16, 2}, {16, 2}}, {{16, 512}, {1, 256}}});
    const View ta = b.tmm("ta", DType::bf16, {{{16, 2}, 32}, {{32, 512}, 1}});
    const View tb = b.tmm("tb", DType::bf16, {{{16, 2}, {2, 16}}, {{2, 512}, {1, 32}}});
    b.fill(c, 0);
    b.loop("p", 0, floor_div(k, 32), [&](const Expr& p) {
        b.copy(tile::slice(a, 1, 32 * p, 32), ta, {.atom = "amx.tileload_bf16"});
        b.copy(View{w.buffer, 512 * p, {{{16, 2}, {2, 16}}, {{2, 16 * k}, {1, 32}}}, {}}, tb, {.atom = "amx.tileload_bf16"});
        b.mma("amx.tdpbf16ps", c, ta, tb);
    });
    b.copy(c, out, {.atom = "amx.tilestore_f32"});
    return std::move(b).finish();
}

} // namespace

TEST(Amx, OneInstructionPerStatementAndOneConfigurationPerEntry) {
    const auto program = amx_product();
    tile::verify(program, targets::atoms());
    const auto text = assembly(program, targets::atoms(), base::make_target("x86_amx"));
    EXPECT_EQ(count(text, "tdpbf16ps"), 4);
    EXPECT_EQ(count(text, "tileloadd"), 4);
    EXPECT_EQ(count(text, "tilezero"), 4);
    EXPECT_EQ(count(text, "tilestored"), 4);
    EXPECT_EQ(count(text, "ldtilecfg"), 1);
    EXPECT_EQ(count(text, "tilerelease"), 1);
    for (int t = 0; t < 8; ++t) EXPECT_NE(text.find("%tmm" + std::to_string(t)), std::string::npos) << t;
    EXPECT_FALSE(compile(program, targets::atoms(), base::make_target("x86_amx")).bytes.empty());
}

TEST(Amx, TheInterpreterAgreesWithThePackedOrder) {
    const int64_t k = 64;
    scalar::HostArray a(DType::bf16, {32 * k}), w(DType::bf16, {32 * k}), packed(DType::bf16, {32 * k}), out(DType::f32, {32 * 32});
    std::mt19937 random(1);
    const auto set = [](scalar::HostArray& x, int64_t i, double v) {
        x.store(std::array<int64_t, 1>{i}, scalar::make_float(DType::bf16, v));
    };
    const auto get = [](const scalar::HostArray& x, int64_t i) { return scalar::as_double(x.load(std::array<int64_t, 1>{i})); };
    for (int64_t i = 0; i < 32 * k; ++i) set(a, i, static_cast<int>(random() % 9) - 4), set(w, i, static_cast<int>(random() % 9) - 4);
    for (int64_t n = 0; n < 32; ++n)
        for (int64_t j = 0; j < k; ++j) set(packed, n / 16 * 16 * k + j / 2 * 32 + n % 16 * 2 + j % 2, get(w, n * k + j));
    tile::interpret(amx_product(), targets::atoms(), {{a, packed, out}, {k}});
    for (int64_t m = 0; m < 32; ++m)
        for (int64_t n = 0; n < 32; ++n) {
            double sum = 0;
            for (int64_t j = 0; j < k; ++j) sum += get(a, m * k + j) * get(w, n * k + j);
            ASSERT_EQ(get(out, m * 32 + n), sum) << m << ", " << n;
        }
}

TEST(Amx, WrongRegisterOrderIsRefused) {
    Builder b("bad");
    b.integer("k");
    b.tasks({}, {});
    b.require("amx_bf16");
    const View c = b.tmm("c", DType::f32, {{16, 16}, {16, 1}}), ta = b.tmm("ta", DType::bf16, {{16, 32}, {32, 1}}),
               tb = b.tmm("tb", DType::bf16, {{16, 32}, {32, 1}});
    b.mma("amx.tdpbf16ps", c, ta, tb);
    const auto program = std::move(b).finish();
    try {
        compile(program, targets::atoms(), base::make_target("x86_amx"));
        FAIL();
    } catch (const base::InternalError& e) {
        EXPECT_NE(std::string(e.what()).find("b of 'amx.tdpbf16ps': element (1, 0) lies at 32 of its tile register instead of 2"),
                  std::string::npos)
            << e.what();
    }
}

TEST(Compile, ImageDescribesItself) {
    Builder b("scale");
    const Expr n = b.integer("n");
    const View x = b.input("x", DType::f32, {n}, {1}), y = b.output("y", DType::bf16, {n}, {1});
    b.check_code("unused");
    const auto i = b.tasks({"i"}, {n});
    const View v = b.rmem("v", DType::f32, {1}), r = b.rmem("r", DType::bf16, {1});
    b.copy(tile::element(x, i[0]), v);
    b.map(r, {v}, [](scalar::Builder&, auto in) { return in[0]; });
    b.copy(r, tile::element(y, i[0]));
    const auto image = compile(std::move(b).finish(), targets::atoms(), base::make_target("x86_avx2"));
    ASSERT_EQ(image.entries.size(), 1u);
    EXPECT_EQ(image.entries[0].symbol, "scale");
    EXPECT_EQ(base::to_string(image.entries[0].signature), "(in x: f32, out y: bf16; n; checks \"unused\")");
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(image.bytes.data()) + 1, 3), "ELF");
}

TEST(Compile, MissingFeatureIsAUserError) {
    Builder b("needs_amx");
    b.require("amx_tile");
    b.tasks({}, {});
    const auto program = std::move(b).finish();
    EXPECT_THROW(compile(program, targets::atoms(), base::make_target("x86_avx2")), base::UserError);
}

TEST(Iteration, RefinesAndJoins) {
    // (6, (16, 4)) row-major registers against (6, 64) with a run-time row stride
    const layout::Layout a{{6, {16, 4}}, {64, {1, 16}}}, c{{6, 64}, {Expr::symbol("ld"), 1}};
    const layout::Layout both[] = {a, c};
    const Iteration space = iterate(both);
    ASSERT_EQ(space.dims.size(), 2u);
    EXPECT_EQ(space.dims[0].extent, 6);
    EXPECT_EQ(space.dims[1].extent, 64);
    EXPECT_TRUE(space.dims[1].strides[0].is(1));
    const layout::Layout alone[] = {a};
    ASSERT_EQ(iterate(alone).dims.size(), 1u);
    EXPECT_EQ(iterate(alone).dims[0].extent, 384);
    const layout::Layout split[] = {{{6}, {1}}, {{4, 2}, {1, 4}}};
    EXPECT_THROW(iterate(split), base::InternalError);
}

} // namespace codetta::codegen
