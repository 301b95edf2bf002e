#include "codetta/scalar/combiner.h"

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"

#include <algorithm>
#include <array>
#include <limits>

namespace codetta::scalar {

namespace {

Op constant_op(DType t, double v) {
    Builder b;
    return b.finish({b.constant(t, v)}).ops[0];
}

Op integer_op(DType t, int64_t v) {
    Builder b;
    return b.finish({b.integer(t, v)}).ops[0];
}

Op smallest(DType t) {
    if (is_float(t)) return constant_op(t, -std::numeric_limits<double>::infinity());
    if (t == DType::boolean || t == DType::u8) return integer_op(t, 0);
    return integer_op(t, -1 - static_cast<int64_t>((uint64_t{1} << (bytes(t) * 8 - 1)) - 1));
}

Op largest(DType t) {
    if (is_float(t)) return constant_op(t, std::numeric_limits<double>::infinity());
    if (t == DType::boolean) return integer_op(t, 1);
    if (t == DType::u8) return integer_op(t, 255);
    return integer_op(t, static_cast<int64_t>((uint64_t{1} << (bytes(t) * 8 - 1)) - 1));
}

// lift drops the position; finish is the identity.
Combiner simple(std::string name, DType t, Op start, Prim p) {
    Combiner c;
    c.name = std::move(name);
    c.state = {t};
    c.identity = {std::move(start)};
    Builder lift;
    Value x = lift.parameter(t);
    lift.parameter(DType::i64);
    c.lift = lift.finish({x});
    Builder combine;
    Value a = combine.parameter(t), b = combine.parameter(t);
    c.combine = combine.finish({combine.apply(p, {a, b})});
    c.finish = identity(t);
    return c;
}

// State (value, position). The larger value wins (Prim::gt) or the smaller (Prim::lt); a nan beats every number; of equals the first
// position.
Combiner arg(std::string name, DType t, Op start, Prim wins) {
    Combiner c;
    c.name = std::move(name);
    c.state = {t, DType::i64};
    c.identity = {std::move(start), largest(DType::i64)};
    Builder lift;
    Value x = lift.parameter(t), position = lift.parameter(DType::i64);
    c.lift = lift.finish({x, position});
    Builder b;
    Value va = b.parameter(t), ia = b.parameter(DType::i64), vb = b.parameter(t), ib = b.parameter(DType::i64);
    Value better = b.apply(wins, {vb, va}), same = b.apply(Prim::eq, {va, vb});
    if (is_float(t)) {
        Value nan_a = b.apply(Prim::is_nan, {va}), nan_b = b.apply(Prim::is_nan, {vb});
        better = b.apply(Prim::bit_or, {better, b.apply(Prim::bit_and, {nan_b, b.apply(Prim::bit_not, {nan_a})})});
        same = b.apply(Prim::bit_or, {same, b.apply(Prim::bit_and, {nan_a, nan_b})});
    }
    Value take_b = b.apply(Prim::bit_or, {better, b.apply(Prim::bit_and, {same, b.apply(Prim::lt, {ib, ia})})});
    c.combine = b.finish({b.apply(Prim::select, {take_b, vb, va}), b.apply(Prim::select, {take_b, ib, ia})});
    Builder finish;
    finish.parameter(t);
    Value i = finish.parameter(DType::i64);
    c.finish = finish.finish({i});
    return c;
}

void require(bool ok, std::string_view name, DType t) { CODETTA_USER_CHECK(ok, "combiner '{}' does not take {}", name, to_string(t)); }

} // namespace

Combiner sum(DType t) {
    require(t != DType::boolean, "sum", t);
    return simple("sum", t, integer_op(t, 0), Prim::add);
}

Combiner product(DType t) {
    require(t != DType::boolean, "prod", t);
    return simple("prod", t, integer_op(t, 1), Prim::mul);
}

Combiner maximum(DType t) { return simple("max", t, smallest(t), Prim::maximum); }
Combiner minimum(DType t) { return simple("min", t, largest(t), Prim::minimum); }
Combiner any() { return simple("any", DType::boolean, integer_op(DType::boolean, 0), Prim::bit_or); }
Combiner all() { return simple("all", DType::boolean, integer_op(DType::boolean, 1), Prim::bit_and); }
Combiner argmax(DType t) { return arg("argmax", t, smallest(t), Prim::gt); }
Combiner argmin(DType t) { return arg("argmin", t, largest(t), Prim::lt); }

Combiner logsumexp(DType t) {
    require(is_float(t), "logsumexp", t);
    Combiner c;
    c.name = "logsumexp";
    c.state = {t, t};
    c.identity = {smallest(t), constant_op(t, 0)};
    Builder lift;
    Value x = lift.parameter(t);
    lift.parameter(DType::i64);
    c.lift = lift.finish({x, lift.constant(t, 1)});
    Builder b;
    Value ma = b.parameter(t), sa = b.parameter(t), mb = b.parameter(t), sb = b.parameter(t);
    Value m = b.apply(Prim::maximum, {ma, mb});
    // Equal maxima need no scaling; this also keeps inf - inf out of the exponent.
    auto scaled = [&](Value mx, Value s) {
        Value factor = b.apply(Prim::exp, {b.apply(Prim::sub, {mx, m})});
        return b.apply(Prim::select, {b.apply(Prim::eq, {mx, m}), s, b.apply(Prim::mul, {s, factor})});
    };
    Value s = b.apply(Prim::add, {scaled(ma, sa), scaled(mb, sb)});
    c.combine = b.finish({m, s});
    Builder finish;
    Value fm = finish.parameter(t), fs = finish.parameter(t);
    c.finish = finish.finish({finish.apply(Prim::add, {fm, finish.apply(Prim::log, {fs})})});
    return c;
}

Combiner welford(DType t) {
    require(is_float(t), "welford", t);
    Combiner c;
    c.name = "welford";
    c.state = {t, t, t}; // count, mean, sum of squared deviations
    c.identity = {constant_op(t, 0), constant_op(t, 0), constant_op(t, 0)};
    Builder lift;
    Value x = lift.parameter(t);
    lift.parameter(DType::i64);
    c.lift = lift.finish({lift.constant(t, 1), x, lift.constant(t, 0)});
    Builder b;
    Value na = b.parameter(t), ua = b.parameter(t), da = b.parameter(t), nb = b.parameter(t), ub = b.parameter(t), db = b.parameter(t);
    Value n = b.apply(Prim::add, {na, nb});
    Value share = b.apply(Prim::div, {nb, b.apply(Prim::maximum, {n, b.constant(t, 1)})});
    Value delta = b.apply(Prim::sub, {ub, ua});
    Value mean = b.apply(Prim::fma, {delta, share, ua});
    Value cross = b.apply(Prim::mul, {b.apply(Prim::mul, {delta, delta}), b.apply(Prim::mul, {na, share})});
    c.combine = b.finish({n, mean, b.apply(Prim::add, {b.apply(Prim::add, {da, db}), cross})});
    Builder finish;
    finish.parameter(t), finish.parameter(t);
    Value d = finish.parameter(t);
    c.finish = finish.finish({d});
    return c;
}

namespace {

constexpr std::array<std::string_view, 10> kCombiners = {"sum", "prod",   "max",    "min",       "any",
                                                         "all", "argmax", "argmin", "logsumexp", "welford"};

} // namespace

bool is_combiner(std::string_view name) { return std::ranges::find(kCombiners, name) != kCombiners.end(); }

Combiner make_combiner(std::string_view name, DType t) {
    if (name == "sum") return sum(t);
    if (name == "prod") return product(t);
    if (name == "max") return maximum(t);
    if (name == "min") return minimum(t);
    if (name == "argmax") return argmax(t);
    if (name == "argmin") return argmin(t);
    if (name == "logsumexp") return logsumexp(t);
    if (name == "welford") return welford(t);
    if (name == "any" || name == "all") {
        require(t == DType::boolean, name, t);
        return name == "any" ? any() : all();
    }
    throw base::UserError("unknown combiner '" + std::string(name) + "'" + base::did_you_mean(name, kCombiners));
}

void verify(const Combiner& c) {
    size_t n = c.state.size();
    CODETTA_CHECK(n > 0 && c.identity.size() == n, "combiner {}: {} identities for {} state components", c.name, c.identity.size(), n);
    verify(c.lift);
    verify(c.combine);
    verify(c.finish);
    for (size_t i = 0; i < n; ++i)
        CODETTA_CHECK(c.identity[i].prim == Prim::constant && c.identity[i].dtype == c.state[i], "combiner {}: identity {}", c.name, i);
    std::vector<DType> twice = c.state;
    twice.insert(twice.end(), c.state.begin(), c.state.end());
    auto results = [](const Function& f) {
        std::vector<DType> types;
        for (Value v : f.results) types.push_back(f.ops[v].dtype);
        return types;
    };
    CODETTA_CHECK(c.combine.parameters() == twice && results(c.combine) == c.state, "combiner {}: combine", c.name);
    CODETTA_CHECK(c.lift.parameters().size() == 2 && c.lift.parameters()[1] == DType::i64 && results(c.lift) == c.state,
                  "combiner {}: lift", c.name);
    CODETTA_CHECK(c.finish.parameters() == c.state && c.finish.results.size() == 1, "combiner {}: finish", c.name);
}

} // namespace codetta::scalar
