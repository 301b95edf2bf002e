// Hand-made values, a few per family; python/tests compares every op with torch.
#include <cmath>

#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "codetta/ops/list.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/host_array.h"

namespace codetta::ops {
namespace {

using scalar::DType;
using scalar::HostArray;

// Runs `outputs = node` written as in a graph; inputs are constants of the text.
std::vector<double> run(const std::string& statements, const std::string& result) {
    static const graph::OpSet ops = list();
    graph::Graph g = graph::parse_graph("graph g() {\n" + statements + "\n return " + result + "\n}");
    graph::verify(g, ops);
    HostArray a = graph::interpret(g, ops, {}, {}).at(0);
    std::vector<double> values;
    std::vector<int64_t> at(a.extents().size(), 0);
    for (int64_t n = a.size(); n > 0; --n) {
        scalar::Scalar s = a.load(at);
        values.push_back(scalar::is_float(s.dtype) ? s.f : static_cast<double>(s.i));
        for (size_t d = at.size(); d-- > 0;) {
            if (++at[d] < a.extents()[d]) break;
            at[d] = 0;
        }
    }
    return values;
}

std::string error_of(const std::string& statements) {
    try {
        run(statements, "%0");
    } catch (const base::Error& e) {
        return e.what();
    }
    return "no error";
}

using V = std::vector<double>;

TEST(Values, Pointwise) {
    EXPECT_EQ(run("%x: f32[3] = data([1, -2, 3]) %0: f32[3] = add(%x, scalar=0.5)", "%0"), (V{1.5, -1.5, 3.5}));
    EXPECT_EQ(run("%x: f32[2] = data([1, 4]) %0: f32[2] = sub(_, %x, scalar=1)", "%0"), (V{0, -3}));
    EXPECT_EQ(run("%x: f32[2, 1] = data([1, 2]) %y: f32[2] = data([10, 20]) %0: f32[2, 2] = mul(%x, %y)", "%0"), (V{10, 20, 20, 40}));
    EXPECT_EQ(run("%x: i64[3] = data([7, -7, 5]) %0: i64[3] = div(%x, scalar=2, rounding_mode=\"floor\")", "%0"), (V{3, -4, 2}));
    EXPECT_EQ(run("%x: i64[3] = data([7, -7, 5]) %0: i64[3] = div(%x, scalar=2, rounding_mode=\"trunc\")", "%0"), (V{3, -3, 2}));
    EXPECT_EQ(run("%x: f32[3] = data([-1, nan, 2]) %0: f32[3] = relu(%x)", "%0")[0], 0);
    EXPECT_TRUE(std::isnan(run("%x: f32[1] = data([nan]) %0: f32[1] = relu(%x)", "%0")[0]));
    EXPECT_EQ(run("%x: i64[2] = data([3, 4]) %0: bool[2] = gt(%x, scalar=3)", "%0"), (V{0, 1}));
    // Beside 16-bit floats the number is one of theirs, as in torch.
    EXPECT_EQ(run("%x: bf16[2] = data([0.3, 0.31]) %0: bool[2] = gt(%x, scalar=0.3)", "%0"), (V{0, 1}));
    EXPECT_EQ(run("%x: f16[2] = data([0.3, 0.31]) %0: bool[2] = eq(%x, scalar=0.3)", "%0"), (V{1, 0}));
    EXPECT_EQ(run("%x: f32[2] = data([0.3, 0.31]) %0: bool[2] = ne(%x, scalar=0.3)", "%0"), (V{0, 1}));
    EXPECT_EQ(run("%x: f32[2] = data([-0.5, 1.75]) %0: i64[2] = cast(%x, dtype=i64)", "%0"), (V{0, 1}));
}

TEST(Values, RoundsOnceAtTheResult) {
    // 1 + 2^-8 is no bf16; in f32 inside, the sum of three rounds once: 1 + 2^-8 + 2^-8 = 1 + 2^-7 exactly.
    EXPECT_EQ(
        run("%x: bf16[1] = data([1]) %y: bf16[1] = data([0.00390625]) %z: bf16[1] = data([1]) %0: bf16[1] = addcmul(%x, %y, %z, value=2)",
            "%0"),
        (V{1.0078125}));
    // A Python scalar is not rounded to bf16 first: 3 * 0.3 = 0.9, not 3 * bf16(0.3).
    EXPECT_EQ(run("%x: bf16[1] = data([192]) %0: bf16[1] = mul(%x, scalar=0.3)", "%0"), (V{57.5}));
}

TEST(Values, ViewsAndMoves) {
    EXPECT_EQ(
        run("%x: i64[2, 3] = data([0, 1, 2, 3, 4, 5]) %0: i64[3, 2] = view(%x, shape=[3, -1]) %1: i64[2, 3] = permute(%0, dims=[1, 0])",
            "%1"),
        (V{0, 2, 4, 1, 3, 5}));
    EXPECT_EQ(run("%x: i64[5] = data([0, 1, 2, 3, 4]) %0: i64[2] = slice(%x, start=-4, end=100, step=3)", "%0"), (V{1, 4}));
    EXPECT_EQ(run("%x: i64[2] = data([1, 2]) %y: i64[1] = data([3]) %0: i64[3] = cat(%x, %y)", "%0"), (V{1, 2, 3}));
    EXPECT_EQ(run("%x: i64[2] = data([1, 2]) %0: i64[4] = constant_pad(%x, pads=[1, 1], value=9)", "%0"), (V{9, 1, 2, 9}));
    EXPECT_EQ(run("%x: i64[4] = data([0, 1, 2, 3]) %0: i64[4] = roll(%x, shifts=[1], dims=[0])", "%0"), (V{3, 0, 1, 2}));
    EXPECT_EQ(run("%x: i64[4] = data([0, 1, 2, 3]) %s: i64[2] = data([8, 9]) %0: i64[4] = slice_scatter(%x, %s, start=1, step=2)", "%0"),
              (V{0, 8, 2, 9}));
}

TEST(Values, ProductsAndReductions) {
    EXPECT_EQ(run("%a: f32[2, 2] = data([1, 2, 3, 4]) %b: f32[2, 2] = data([5, 6, 7, 8]) %0: f32[2, 2] = mm(%a, %b)", "%0"),
              (V{19, 22, 43, 50}));
    EXPECT_EQ(run("%x: f32[1, 2] = data([1, 2]) %w: f32[2, 2] = data([5, 6, 7, 8]) %b: f32[2] = data([100, 200]) %0: f32[1, 2] = "
                  "linear(%x, %w, %b)",
                  "%0"),
              (V{117, 223}));
    EXPECT_EQ(
        run("%c: f32[1] = data([nan]) %a: f32[1, 1] = data([3]) %b: f32[1, 1] = data([5]) %0: f32[1, 1] = addmm(%c, %a, %b, beta=0.0)",
            "%0"),
        (V{15}));
    EXPECT_EQ(run("%x: bool[3] = data([true, true, false]) %0: i64[] = sum(%x)", "%0"), (V{2}));
    EXPECT_EQ(run("%x: f32[2, 2] = data([1, 2, 3, 6]) %0: f32[2, 1] = mean(%x, dims=[1], keepdim=true)", "%0"), (V{1.5, 4.5}));
    EXPECT_EQ(run("%x: f32[4] = data([2, 7, 7, 1]) %0: i64[] = argmax(%x)", "%0"), (V{1}));
    EXPECT_EQ(run("%x: f32[3] = data([1, 2, 6]) %0: f32[] = var(%x)", "%0"), (V{7}));
    EXPECT_EQ(run("%x: i64[3] = data([1, 2, 3]) %0: i64[3] = cumsum(%x, dim=0)", "%0"), (V{1, 3, 6}));
}

TEST(Values, IndexingAndItsErrors) {
    const std::string x = "%x: f32[3, 2] = data([0, 1, 10, 11, 20, 21]) ";
    EXPECT_EQ(run(x + "%i: i64[2] = data([2, -3]) %0: f32[2, 2] = index(%x, %i)", "%0"), (V{20, 21, 0, 1}));
    EXPECT_EQ(run(x + "%i: i64[2] = data([2, 0]) %0: f32[2, 2] = embedding(%x, %i)", "%0"), (V{20, 21, 0, 1}));
    EXPECT_EQ(run("%x: i64[3] = data([0, 0, 0]) %i: i64[3] = data([1, 1, 2]) %v: i64[3] = data([5, 6, 7]) %0: i64[3] = scatter_add(%x, %i, "
                  "%v, dim=0)",
                  "%0"),
              (V{0, 11, 7}));
    EXPECT_EQ(
        run("%x: i64[3] = data([0, 0, 0]) %i: i64[2] = data([1, 1]) %v: i64[2] = data([5, 6]) %0: i64[3] = index_copy(%x, %i, %v, dim=0)",
            "%0"),
        (V{0, 6, 0}))
        << "the last of duplicates wins";
    EXPECT_NE(error_of(x + "%i: i64[1] = data([3]) %0: f32[1, 2] = index(%x, %i)").find("index 3 is out of range"), std::string::npos);
    EXPECT_NE(error_of(x + "%i: i64[1] = data([-1]) %0: f32[1, 2] = embedding(%x, %i)").find("index -1 is out of range"),
              std::string::npos);
}

TEST(Values, RowsThatAreMaskedThroughout) {
    const std::string qkv = "%q: f32[1, 2, 1] = data([1, 1]) %k: f32[1, 2, 1] = data([1, 1]) %v: f32[1, 2, 1] = data([3, 5]) "
                            "%m: bool[2, 2] = data([true, true, false, false]) ";
    EXPECT_EQ(run(qkv + "%0: f32[1, 2, 1], %1: f32[1, 2] = attention(%q, %k, %v, %m)", "%0"), (V{4, 0}));
    EXPECT_EQ(run(qkv + "%0: f32[1, 2, 1], %1: f32[1, 2] = attention(%q, %k, %v, %m)", "%1")[1], 0);
    EXPECT_TRUE(std::isnan(run(qkv + "%0: f32[1, 2, 1], %1: f32[1, 2] = attention(%q, %k, %v, %m, safe=false)", "%0")[1]));
    EXPECT_EQ(run("%x: f32[2] = data([-inf, -inf]) %0: f32[2] = safe_softmax(%x, dim=0)", "%0"), (V{0, 0}));
}

TEST(Errors, SayWhatDoesNotFit) {
    EXPECT_NE(error_of("%x: f32[2] = data([1, 2]) %y: i64[2] = data([1, 2]) %0: f32[2] = add(%x, %y)")
                  .find("op 'add': operands are f32 and i64; cast one of them first"),
              std::string::npos);
    EXPECT_NE(error_of("%x: f32[2] = data([1, 2]) %y: f32[3] = data([1, 2, 3]) %0: f32[2] = add(%x, %y)")
                  .find("shapes [2] and [3] do not broadcast"),
              std::string::npos);
    EXPECT_NE(error_of("%x: i64[2] = data([1, 2]) %0: i64[2] = exp(%x)").find("the op is for floats, not for i64; cast the operand first"),
              std::string::npos);
    EXPECT_NE(error_of("%x: i64[2] = data([1, 2]) %0: i64[2] = add(%x, scalar=0.5)").find("attribute 'scalar' is 0.5, which is no i64"),
              std::string::npos);
    EXPECT_NE(error_of("%x: f32[2] = data([1, 2]) %0: f32[3] = view(%x, shape=[3])").find("shape [3] does not hold the elements of [2]"),
              std::string::npos);
    EXPECT_NE(error_of("%x: f32[2] = data([1, 2]) %0: f32[2] = softmax(%x, dim=1)").find("dimension 1 is out of range for 1 dimensions"),
              std::string::npos);
    EXPECT_NE(error_of("%a: f32[1, 2] = data([1, 2]) %b: f32[1, 2] = data([1, 2]) %0: f32[1, 2] = mm(%a, %b)")
                  .find("inner sizes differ: 2 against 1"),
              std::string::npos);
}

} // namespace
} // namespace codetta::ops
