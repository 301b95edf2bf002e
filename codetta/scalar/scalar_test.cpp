// Dtypes, arrays and evaluation.
#include "codetta/base/error.h"
#include "codetta/scalar/combiner.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/host_array.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace codetta::scalar {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string message_of(auto&& f) {
    try {
        f();
    } catch (const base::Error& e) {
        return e.what();
    }
    return "no error";
}

TEST(DType, promotion_is_torchs_table) {
    // torch 2.13, torch.promote_types over the types in order.
    const char* rows[] = {"bool u8 i8 i16 i32 i64 f16 bf16 f32 f64",  "u8 u8 i16 i16 i32 i64 f16 bf16 f32 f64",
                          "i8 i16 i8 i16 i32 i64 f16 bf16 f32 f64",   "i16 i16 i16 i16 i32 i64 f16 bf16 f32 f64",
                          "i32 i32 i32 i32 i32 i64 f16 bf16 f32 f64", "i64 i64 i64 i64 i64 i64 f16 bf16 f32 f64",
                          "f16 f16 f16 f16 f16 f16 f16 f32 f32 f64",  "bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64",
                          "f32 f32 f32 f32 f32 f32 f32 f32 f32 f64",  "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64"};
    for (size_t a = 0; a < kDTypes.size(); ++a) {
        std::string row;
        for (DType b : kDTypes) row += (row.empty() ? "" : " ") + std::string(to_string(promote(kDTypes[a], b)));
        EXPECT_EQ(row, rows[a]);
    }
    for (DType t : kDTypes) EXPECT_EQ(parse_dtype(to_string(t)), t);
    EXPECT_EQ(message_of([] { parse_dtype("bf15"); }), "unknown dtype 'bf15'; did you mean 'bf16'?");
}

TEST(Round, sixteen_bit_floats_round_to_nearest_even_exhaustively) {
    // Every pair of neighbours: the midpoint goes to the even one, what lies beside it to the nearer one.
    for (DType t : {DType::f16, DType::bf16}) {
        for (uint32_t bits = 0; bits < (t == DType::f16 ? 0x7bffU : 0x7f7fU); ++bits) {
            auto value = [&](uint32_t b) {
                auto raw = static_cast<uint16_t>(b);
                return load_element(t, reinterpret_cast<const std::byte*>(&raw)).f;
            };
            double a = value(bits), b = value(bits + 1), middle = (a + b) / 2;
            ASSERT_LT(a, b);
            ASSERT_EQ(round_to(t, a), a);
            ASSERT_EQ(round_to(t, middle), bits % 2 ? b : a) << bits;
            ASSERT_EQ(round_to(t, -middle), bits % 2 ? -b : -a);
            ASSERT_EQ(round_to(t, std::nextafter(middle, kInf)), b);
            ASSERT_EQ(round_to(t, std::nextafter(middle, 0)), a);
            uint16_t stored = 0;
            store_element(t, reinterpret_cast<std::byte*>(&stored), {t, b, 0});
            ASSERT_EQ(stored, bits + 1);
        }
    }
    EXPECT_EQ(round_to(DType::f16, 65519.0), 65504.0);
    EXPECT_EQ(round_to(DType::f16, 65520.0), kInf);
    EXPECT_EQ(round_to(DType::f16, -1e9), -kInf);
    EXPECT_EQ(round_to(DType::bf16, 3.4e38), kInf);
    EXPECT_TRUE(std::isnan(round_to(DType::bf16, kNan)));
    EXPECT_TRUE(std::signbit(round_to(DType::f16, -1e-30)));
}

TEST(Wrap, integers_wrap_in_their_width) {
    EXPECT_EQ(wrap_to(DType::i8, 200), -56);
    EXPECT_EQ(wrap_to(DType::u8, -1), 255);
    EXPECT_EQ(wrap_to(DType::i32, int64_t{1} << 31), std::numeric_limits<int32_t>::min());
    EXPECT_EQ(wrap_to(DType::boolean, 7), 1);
}

double run(Prim p, DType t, double a, double b = 0) {
    Builder builder;
    std::vector<Value> inputs = {builder.parameter(t)};
    std::vector<Scalar> arguments = {is_float(t) ? make_float(t, a) : make_integer(t, static_cast<int64_t>(a))};
    if (arity(p) > 1) {
        inputs.push_back(builder.parameter(t));
        arguments.push_back(is_float(t) ? make_float(t, b) : make_integer(t, static_cast<int64_t>(b)));
    }
    Value v = builder.apply(p, inputs);
    return as_double(evaluate(builder.finish({v}), arguments)[0]);
}

TEST(Evaluate, floats_as_torch) {
    EXPECT_EQ(run(Prim::floor_div, DType::f32, 7, -2), -4);
    EXPECT_EQ(run(Prim::floor_div, DType::f32, 1, 0), kInf);
    EXPECT_EQ(run(Prim::mod, DType::f32, -5, kInf), kInf);
    EXPECT_EQ(run(Prim::mod, DType::f32, 7, -2), -1);
    EXPECT_EQ(run(Prim::rem, DType::f32, -7, 2), -1);
    EXPECT_EQ(run(Prim::sign, DType::f32, kNan), 0);
    EXPECT_TRUE(std::isnan(run(Prim::maximum, DType::f32, kNan, 1)));
    EXPECT_TRUE(std::isnan(run(Prim::minimum, DType::f32, 1, kNan)));
    EXPECT_EQ(run(Prim::round, DType::f32, 2.5), 2);
    EXPECT_EQ(run(Prim::add, DType::f32, 16777216, 1), 16777216);
    EXPECT_EQ(run(Prim::add, DType::bf16, 256, 1), 256);
    EXPECT_NEAR(run(Prim::normal_cdf, DType::f64, -10), 7.619853024160527e-24, 1e-36);
    EXPECT_EQ(run(Prim::lt, DType::f32, kNan, 1), 0);
    EXPECT_EQ(run(Prim::ne, DType::f32, kNan, kNan), 1);
}

TEST(Evaluate, integers_as_torch) {
    EXPECT_EQ(run(Prim::floor_div, DType::i64, -7, 2), -4);
    EXPECT_EQ(run(Prim::mod, DType::i64, -7, 2), 1);
    EXPECT_EQ(run(Prim::trunc_div, DType::i64, -7, 2), -3);
    EXPECT_EQ(run(Prim::rem, DType::i64, -7, 2), -1);
    EXPECT_EQ(run(Prim::floor_div, DType::i64, 7, 0), 0);
    EXPECT_EQ(run(Prim::add, DType::u8, 250, 10), 4);
    EXPECT_EQ(run(Prim::pow, DType::i32, 3, 40), wrap_to(DType::i32, -6289078614652622815));
    EXPECT_EQ(run(Prim::shift_left, DType::i32, 1, 40), 0);
    EXPECT_EQ(run(Prim::shift_right, DType::i32, -8, 40), -1);
    EXPECT_EQ(run(Prim::bit_not, DType::boolean, 1), 0);
    EXPECT_EQ(run(Prim::bit_not, DType::u8, 1), 254);
}

TEST(Evaluate, casts_as_torch_on_x86) {
    auto cast = [](DType from, DType to, double v) {
        Scalar s = is_float(from) ? make_float(from, v) : make_integer(from, static_cast<int64_t>(v));
        return as_double(evaluate(cast_function(from, to), std::span(&s, 1))[0]);
    };
    EXPECT_EQ(cast(DType::f32, DType::i64, kNan), -0x1p63);
    EXPECT_EQ(cast(DType::f32, DType::i32, 1e20), -0x1p31);
    EXPECT_EQ(cast(DType::f32, DType::u8, 300), 44);
    EXPECT_EQ(cast(DType::f32, DType::u8, -1), 255);
    EXPECT_EQ(cast(DType::f32, DType::i32, -2.9), -2);
    EXPECT_EQ(cast(DType::f32, DType::boolean, kNan), 1);
    EXPECT_EQ(cast(DType::f64, DType::bf16, 1.00390625), 1);
    EXPECT_EQ(cast(DType::i64, DType::i8, 200), -56);
}

TEST(Evaluate, exact_keeps_doubles) {
    Builder b;
    Value x = b.parameter(DType::f32);
    Function f = b.finish({b.cast(DType::f32, b.cast(DType::bf16, b.apply(Prim::div, {x, b.constant(DType::f32, 3)})))});
    Scalar one = make_float(DType::f32, 1);
    EXPECT_EQ(evaluate(f, std::span(&one, 1), true)[0].f, 1.0 / 3);
    EXPECT_EQ(evaluate(f, std::span(&one, 1))[0].f, 0.333984375);
}

std::vector<Scalar> reduce(const Combiner& c, std::vector<double> values, bool backwards = false) {
    verify(c);
    std::vector<Scalar> state;
    for (const Op& op : c.identity) state.push_back(constant_value(op));
    DType t = c.lift.parameters()[0];
    for (size_t n = 0; n < values.size(); ++n) {
        size_t i = backwards ? values.size() - 1 - n : n;
        std::vector<Scalar> element = {is_float(t) ? make_float(t, values[i]) : make_integer(t, static_cast<int64_t>(values[i])),
                                       make_integer(DType::i64, static_cast<int64_t>(i))};
        std::vector<Scalar> lifted = evaluate(c.lift, element), both = state;
        both.insert(both.end(), lifted.begin(), lifted.end());
        state = evaluate(c.combine, both);
    }
    return evaluate(c.finish, state);
}

TEST(Combiner, values_in_any_order) {
    for (bool backwards : {false, true}) {
        auto value = [&](const Combiner& c, std::vector<double> v) { return as_double(reduce(c, std::move(v), backwards)[0]); };
        EXPECT_EQ(value(sum(DType::f32), {1, 2, 3}), 6);
        EXPECT_EQ(value(sum(DType::i64), {}), 0);
        EXPECT_EQ(value(product(DType::i64), {2, 3}), 6);
        EXPECT_EQ(value(maximum(DType::f32), {}), -kInf);
        EXPECT_EQ(value(maximum(DType::i32), {}), -0x1p31);
        EXPECT_TRUE(std::isnan(value(maximum(DType::f32), {1, kNan, 3})));
        EXPECT_EQ(value(minimum(DType::u8), {9, 4}), 4);
        EXPECT_EQ(value(any(), {0, 1, 0}), 1);
        EXPECT_EQ(value(all(), {0, 1, 0}), 0);
        EXPECT_EQ(value(argmax(DType::f32), {1, 5, 5, 2}), 1);
        EXPECT_EQ(value(argmax(DType::f32), {1, kNan, 5, kNan}), 1);
        EXPECT_EQ(value(argmax(DType::f32), {-kInf, -kInf}), 0);
        EXPECT_EQ(value(argmin(DType::i64), {3, 1, 1}), 1);
        EXPECT_NEAR(value(logsumexp(DType::f64), {1, 2, 3}), std::log(std::exp(1) + std::exp(2) + std::exp(3)), 1e-14);
        EXPECT_EQ(value(logsumexp(DType::f64), {-kInf, -kInf}), -kInf);
        EXPECT_NEAR(value(welford(DType::f64), {1, 2, 3, 6}), 14, 1e-12);
    }
    for (const char* name : {"sum", "prod", "max", "min", "argmax", "argmin", "logsumexp", "welford"})
        EXPECT_EQ(make_combiner(name, DType::f32).name, name);
    EXPECT_EQ(message_of([] { make_combiner("summ", DType::f32); }), "unknown combiner 'summ'; did you mean 'sum'?");
    EXPECT_EQ(message_of([] { make_combiner("any", DType::f32); }), "combiner 'any' does not take f32");
}

TEST(HostArray, views_share_and_clones_do_not) {
    HostArray a(DType::f32, {2, 3});
    for_each_coordinate(a.extents(), [&](auto c) { a.store(c, make_float(DType::f32, static_cast<double>(10 * c[0] + c[1]))); });
    HostArray t = a.view({3, 2}, {1, 3}, 0), copy = t.clone();
    int64_t at[] = {2, 1};
    EXPECT_EQ(t.load(at).f, 12);
    t.store(at, make_float(DType::f32, -1));
    int64_t back[] = {1, 2};
    EXPECT_EQ(a.load(back).f, -1);
    EXPECT_EQ(copy.load(at).f, 12);
    EXPECT_EQ(copy.strides(), (std::vector<int64_t>{2, 1}));
    int64_t outside[] = {0, 3};
    EXPECT_THROW(a.load(outside), base::InternalError);
    int visits = 0;
    for_each_coordinate(std::vector<int64_t>{2, 0}, [&](auto) { ++visits; });
    for_each_coordinate(std::vector<int64_t>{}, [&](auto) { ++visits; });
    EXPECT_EQ(visits, 1);
}

} // namespace
} // namespace codetta::scalar
