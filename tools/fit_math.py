"""Fits the polynomials of codetta/codegen/math (near-minimax by Chebyshev interpolation in 60 digits) and prints coefficients.h.

Needs mpmath alone: python tools/fit_math.py > codetta/codegen/math/coefficients.h
"""
import mpmath as mp

mp.mp.dps = 60


def fit(f, lo, hi, degree):
    """Coefficients, lowest degree first, of the Chebyshev interpolant of f on [lo, hi]."""
    n = degree + 1
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / n) for k in range(n)]
    values = [f((lo + hi) / 2 + (hi - lo) / 2 * t) for t in nodes]
    chebyshev = [2 / mp.mpf(n) * mp.fsum(values[k] * mp.cos(j * mp.pi * (k + mp.mpf(1) / 2) / n) for k in range(n)) for j in range(n)]
    chebyshev[0] /= 2
    # to monomials in t, then t = (2x - lo - hi) / (hi - lo)
    previous, current = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    total = [mp.mpf(0)] * n
    for j, c in enumerate(chebyshev):
        terms = previous if j == 0 else current
        for i, v in enumerate(terms):
            total[i] += c * v
        if j >= 1:
            doubled = [mp.mpf(0)] + [2 * v for v in current]
            for i, v in enumerate(previous):
                doubled[i] -= v
            previous, current = current, doubled
    scale, shift = 2 / (hi - lo), -(lo + hi) / (hi - lo)
    result = [mp.mpf(0)] * n
    power = [mp.mpf(1)]
    for c in total:
        for i, v in enumerate(power):
            result[i] += c * v
        grown = [mp.mpf(0)] * (len(power) + 1)
        for i, v in enumerate(power):
            grown[i] += v * shift
            grown[i + 1] += v * scale
        power = grown
    return result


def series(f):
    """f with its removable singularity at 0 stepped over."""
    def g(x):
        if abs(x) < mp.mpf(10) ** -18:
            x = mp.mpf(10) ** -18
        return f(x)
    return g


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def root(f):
    """A function of x*x as a function of its square."""
    return series(lambda y: f(mp.sqrt(y)))


LOG2E = 1 / mp.log(2)
HALF_LN2 = mp.log(2) / 2
K = mp.mpf(15) / 4  # erfcx in (x - K) / (x + K)


def cdf_rest(a):
    """log2(Phi(-a)) + a^2/2 log2(e): slowly varying."""
    return mp.log(erfcx(a / mp.sqrt(2)) / 2) * LOG2E


def mapped_erfcx(t):
    x = K * (1 + t) / (1 - t)
    return erfcx(x) * (1 + 2 * x)  # tends to 2/sqrt(pi): tame at infinity


TABLES = [
    ("f32_exp", "(e^r - 1 - r) / r^2", series(lambda r: (mp.exp(r) - 1 - r) / r**2), -HALF_LN2, HALF_LN2, 4),
    ("f32_exp2", "(2^f - 1) / f", series(lambda f: (mp.mpf(2)**f - 1) / f), -0.5, 0.5, 5),
    ("f32_log", "(log(1+f) - f + f^2/2) / f^3", series(lambda f: (mp.log(1 + f) - f + f * f / 2) / f**3), mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 8),
    ("f32_tanh", "(tanh x - x) / x^3 in x^2", root(lambda x: (mp.tanh(x) - x) / x**3), 0, mp.mpf("0.625")**2, 4),
    ("f32_erf", "(erf x) / x - 1 in x^2", root(lambda x: mp.erf(x) / x - 1), 0, 1, 6),
    ("f32_cdf", "log2 Phi(-a) + a^2/2 log2 e", cdf_rest, 0, 8, 12),
    ("f32_exp2_for_bf16", "(2^f - 1) / f", series(lambda f: (mp.mpf(2)**f - 1) / f), -0.5, 0.5, 2),
    ("f32_cdf_for_bf16", "log2 Phi(-a) + a^2/2 log2 e", cdf_rest, 0, 6, 6),
    ("f64_exp", "(e^r - 1 - r) / r^2", series(lambda r: (mp.exp(r) - 1 - r) / r**2), -HALF_LN2, HALF_LN2, 10),
    ("f64_exp2", "(2^f - 1 - f ln 2) / f^2", series(lambda f: (mp.mpf(2)**f - 1 - f * mp.log(2)) / f**2), -0.5, 0.5, 10),
    ("f64_log", "(log((1+s)/(1-s)) - 2s) / s^3 in s^2", root(lambda s: (mp.log((1 + s) / (1 - s)) - 2 * s) / s**3), 0, mp.mpf("0.0295"), 7),
    ("f64_sin", "(sin x - x) / x^3 in x^2", root(lambda x: (mp.sin(x) - x) / x**3), 0, (mp.pi / 4)**2 + 0.001, 6),
    ("f64_cos", "(cos x - 1 + x^2/2) / x^4 in x^2", root(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4), 0, (mp.pi / 4)**2 + 0.001, 6),
    ("f64_atan", "(atan x - x) / x^3 in x^2", root(lambda x: (mp.atan(x) - x) / x**3), 0, mp.tan(mp.pi / 8)**2 + 0.001, 12),
    ("f64_asin", "(asin x - x) / x^3 in x^2", root(lambda x: (mp.asin(x) - x) / x**3), 0, mp.mpf("0.2501"), 13),
    ("f64_erf", "(erf x) / x - 1 in x^2", root(lambda x: mp.erf(x) / x - 1), 0, 1, 13),
    ("f64_erfcx", "erfcx(x) (1 + 2x), t = (x - 3.75) / (x + 3.75)", mapped_erfcx, -1, mp.mpf("0.79"), 23),
]

print("// Made by tools/fit_math.py: do not edit. Lowest degree first.")
print("#pragma once\n")
print("#include <array>\n")
print("namespace codetta::codegen {\n")
for name, what, f, lo, hi, degree in TABLES:
    c = fit(f, lo, hi, degree)
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    worst = max(abs(mp.polyval(c[::-1], x) - f(x)) for x in [lo + (hi - lo) * k / 200 for k in range(201)])
    print(f"// {what} on [{mp.nstr(lo, 5)}, {mp.nstr(hi, 5)}]: error {mp.nstr(worst, 3)}")
    numbers = ", ".join(float(v).hex() for v in c)
    print(f"inline constexpr std::array<double, {degree + 1}> k_{name} = {{{numbers}}};\n")
mp.mp.dps = 420
bits = int(mp.floor(2 / mp.pi * mp.mpf(2)**1280))
words = [(bits >> (1280 - 64 * (i + 1))) & (2**64 - 1) for i in range(20)]
print("// The bits of 2/pi behind the point, 64 a word.")
print("inline constexpr std::array<unsigned long long, 20> k_two_over_pi = {" + ", ".join(f"0x{w:016x}ull" for w in words) + "};\n")
print("} // namespace codetta::codegen")
