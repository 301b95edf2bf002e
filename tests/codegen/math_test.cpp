// Every transcendental primitive on every target against long double: random values over the whole range, around the points where formulas
// change, and the edges.
#include "support.h"

#include <bit>
#include <cmath>
#include <limits>

namespace codetta::test {

namespace {

struct Case {
    Prim prim;
    long double (*wanted)(long double);
    double lo, hi; // where random values are dense
    double ulp_f32, ulp_f64;
};

long double cdf(long double x) { return 0.5L * erfcl(-x * 0.70710678118654752440084436210484903928L); }

const Case kCases[] = {
    {Prim::sqrt, sqrtl, 0, 100, 0.51, 0.51}, {Prim::rsqrt, [](long double x) { return 1 / sqrtl(x); }, 0, 100, 1.5, 1.5},
    {Prim::exp, expl, -104, 90, 1.1, 1.1},   {Prim::exp2, exp2l, -150, 129, 1.1, 1.1},
    {Prim::expm1, expm1l, -20, 90, 1.1, 2},  {Prim::log, logl, 0, 10, 1.5, 1.1},
    {Prim::log2, log2l, 0, 10, 2.5, 1.5},    {Prim::log1p, log1pl, -1, 3, 1.1, 2},
    {Prim::sin, sinl, -30, 30, 0.6, 1.1},    {Prim::cos, cosl, -30, 30, 0.6, 1.1},
    {Prim::tan, tanl, -30, 30, 0.6, 3},      {Prim::asin, asinl, -1, 1, 0.6, 1.5},
    {Prim::acos, acosl, -1, 1, 0.6, 1.5},    {Prim::atan, atanl, -10, 10, 0.6, 1.5},
    {Prim::sinh, sinhl, -90, 90, 0.6, 3},    {Prim::cosh, coshl, -90, 90, 0.6, 2.5},
    {Prim::tanh, tanhl, -10, 10, 2.5, 3},    {Prim::erf, erfl, -4, 4, 2.5, 2},
    {Prim::normal_cdf, cdf, -14, 6, 12, 6},  {Prim::sigmoid, [](long double x) { return 1 / (1 + expl(-x)); }, -90, 20, 2.5, 2.5},
};

tile::Program apply_to_all(Prim p, DType t) {
    Builder b("apply");
    const Expr n = b.integer("n");
    const View x = b.input("x", t, {n}, {1}), y = b.output("y", t, {n}, {1});
    const auto i = b.tasks({"i"}, {ceil_div(n, 64)});
    const View v = b.rmem("v", t, {64});
    const auto limit = tile::limit_of_mode(v.layout, 0, n - 64 * i[0]);
    b.copy(tile::tile(x, 0, 64, i[0]), v, {.limits = {limit}});
    b.map(v, {v}, [&](scalar::Builder& s, auto in) { return s.apply(p, {in[0]}); });
    b.copy(v, tile::tile(y, 0, 64, i[0]), {.limits = {limit}});
    return std::move(b).finish();
}

template <class T>
std::vector<T> samples(const Case& c) {
    using limits = std::numeric_limits<T>;
    std::vector<T> x = {T(0),
                        T(-0.0),
                        T(1),
                        T(-1),
                        limits::infinity(),
                        -limits::infinity(),
                        limits::quiet_NaN(),
                        limits::max(),
                        limits::lowest(),
                        limits::min(),
                        -limits::min(),
                        limits::denorm_min(),
                        -limits::denorm_min(),
                        T(0.5),
                        T(-0.5),
                        T(2),
                        T(88.7),
                        T(88.8),
                        T(-87.4),
                        T(-103.9),
                        T(-104.1),
                        T(709.7),
                        T(710),
                        T(-745),
                        T(-746),
                        T(127.99),
                        T(128),
                        T(-149),
                        T(-150),
                        T(1e6),
                        T(1.1e6),
                        T(1e10),
                        T(3e38),
                        T(1e22),
                        T(0.625),
                        T(0.4142135),
                        T(2.4142135),
                        T(14),
                        T(-14),
                        T(38),
                        T(-38)};
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> real(c.lo, c.hi), small(-1, 1);
    for (int i = 0; i < 20000; ++i) x.push_back(static_cast<T>(real(random)));
    for (int i = 0; i < 4000; ++i) x.push_back(static_cast<T>(std::ldexp(small(random), -(i % 60))));
    for (int i = 0; i < 8000; ++i) { // any bits
        if constexpr (sizeof(T) == 4)
            x.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
        else
            x.push_back(std::bit_cast<double>(random()));
    }
    return x;
}

// In units of the last place of the right value (of the smallest normal below it).
template <class T>
double ulps(T got, long double wanted) {
    using limits = std::numeric_limits<T>;
    const long double largest = limits::max();
    if (std::isnan(wanted)) return std::isnan(got) ? 0 : 1e9;
    if (std::isnan(got)) return 1e9;
    if (fabsl(wanted) > largest * (1 + 0.25L * limits::epsilon())) return std::isinf(got) && (got > 0) == (wanted > 0) ? 0 : 1e9;
    if (std::isinf(got)) return fabsl(wanted) > largest * (1 - 2 * (long double)limits::epsilon()) ? 1 : 1e9;
    int exponent = 0;
    frexpl(wanted, &exponent);
    const long double unit =
        wanted == 0 ? limits::denorm_min() : std::max<long double>(limits::denorm_min(), ldexpl(1, exponent - limits::digits));
    return static_cast<double>(fabsl((long double)got - wanted) / unit);
}

template <class T>
void check(const Case& c, DType t, double bound, const base::Target& target) {
    const auto x = samples<T>(c);
    const auto n = static_cast<int64_t>(x.size());
    HostArray in(t, {n}), out(t, {n});
    std::copy(x.begin(), x.end(), in.as<T>());
    const auto got = run_compiled(apply_to_all(c.prim, t), target, {in, out}, {n}, nullptr, 1 << 20);
    double worst = 0;
    T at = 0, gave = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto k = static_cast<size_t>(i);
        const long double wanted = c.wanted(x[k]);
        const double close = std::abs(static_cast<double>(got[1].as<T>()[i] - wanted));
        // Values that no sum feels: sigmoid loses its subnormal results; f32 normal_cdf has 200 ulp below -4.5 and keeps its size alone
        // below -8.
        if (c.prim == Prim::sigmoid && close <= std::numeric_limits<T>::min()) continue;
        if (c.prim == Prim::normal_cdf && t == DType::f32 && x[k] < -8 && close <= 1e-15 && close <= 1.5 * wanted + 1e-44) continue;
        const double e = ulps(got[1].as<T>()[i], wanted);
        if (c.prim == Prim::normal_cdf && t == DType::f32 && x[k] < -4.5 && e < 200) continue;
        if (e > worst) worst = e, at = x[k], gave = got[1].as<T>()[i];
    }
    EXPECT_LE(worst, bound) << scalar::to_string(c.prim) << " " << scalar::to_string(t) << " on " << target.name << " at " << std::hexfloat
                            << at << std::defaultfloat << " (" << at << "): " << gave << " instead of "
                            << static_cast<double>(c.wanted(at));
    if (std::getenv("SHOW_ULPS"))
        std::printf("%-10s %s %-11s %.3f at %g\n", scalar::to_string(c.prim).data(), scalar::to_string(t).data(), target.name.c_str(),
                    worst, (double)at);
}

} // namespace

TEST(Math, Ulps) {
    for (const auto& target : runnable_targets())
        for (const Case& c : kCases) {
            check<float>(c, DType::f32, c.ulp_f32, target);
            check<double>(c, DType::f64, c.ulp_f64, target);
        }
}

// gelu whose value is rounded to bf16 at once comes by shorter polynomials: half a unit of bf16 and 2^-11 of the value more.
TEST(Math, GeluForBf16) {
    Builder b("gelu");
    const Expr n = b.integer("n");
    const View x = b.input("x", DType::f32, {n}, {1}), y = b.output("y", DType::bf16, {n}, {1});
    const auto i = b.tasks({"i"}, {ceil_div(n, 64)});
    const View v = b.rmem("v", DType::f32, {64}), r = b.rmem("r", DType::bf16, {64});
    const auto limit = tile::limit_of_mode(v.layout, 0, n - 64 * i[0]);
    b.copy(tile::tile(x, 0, 64, i[0]), v, {.limits = {limit}});
    b.map(r, {v}, [&](scalar::Builder& s, auto in) { return s.apply(Prim::mul, {in[0], s.apply(Prim::normal_cdf, {in[0]})}); });
    b.copy(r, tile::tile(y, 0, 64, i[0]), {.limits = {limit}});
    const auto program = std::move(b).finish();
    const int64_t count = 100000;
    HostArray in = random_array(DType::f32, count, 3, -12, 12), out(DType::bf16, {count});
    const double edges[] = {0, 1e-30, -1e-30, 1e30, -1e30, 20, -20, 6, -6, INFINITY, -INFINITY, NAN};
    for (int64_t e = 0; e < 12; ++e) in.as<float>()[e] = static_cast<float>(edges[e]);
    for (const auto& target : runnable_targets()) {
        const auto got = run_compiled(program, target, {in, out}, {count}, nullptr, 1 << 20);
        for (int64_t e = 0; e < count; ++e) {
            const long double a = in.as<float>()[e], wanted = a * cdf(a);
            const double g = element(got[1], e);
            if (std::isnan(wanted)) {
                EXPECT_TRUE(std::isnan(g)) << static_cast<double>(a);
                continue;
            }
            // Below -6 the value keeps its size alone.
            const long double allowed = a < -6 ? 2 * fabsl(wanted) + 1e-20L : fabsl(wanted) * (0x1p-8L + 0x1p-11L);
            if (std::isinf(wanted)) {
                EXPECT_EQ(g, static_cast<double>(wanted));
            } else if (fabsl(wanted) > 1e-37L) {
                ASSERT_LE(fabsl(g - wanted), allowed) << target.name << " at " << static_cast<double>(a);
            }
        }
    }
}

} // namespace codetta::test
