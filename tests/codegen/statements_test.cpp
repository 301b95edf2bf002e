// Single statements against the interpreter: bodies on every dtype, casts, copies of every shape, reductions, prefetch, checks.
#include "support.h"

#include <limits>

namespace codetta::test {

namespace {

using Body = std::function<std::vector<scalar::Value>(scalar::Builder&, std::span<const scalar::Value>)>;

// y_i = body(x...) for n elements, one task per 40 (a ragged vector).
tile::Program pointwise(std::vector<DType> in, std::vector<DType> out, scalar::Function body) {
    Builder b("pointwise");
    const Expr n = b.integer("n");
    std::vector<View> sources, targets;
    for (size_t i = 0; i < in.size(); ++i) sources.push_back(b.input("x" + std::to_string(i), in[i], {n}, {1}));
    for (size_t i = 0; i < out.size(); ++i) targets.push_back(b.output("y" + std::to_string(i), out[i], {n}, {1}));
    const int64_t w = 40;
    const auto t = b.tasks({"i"}, {ceil_div(n, w)});
    std::vector<tile::Argument> arguments;
    std::vector<View> results;
    for (size_t i = 0; i < in.size(); ++i) {
        const View v = b.rmem("v" + std::to_string(i), in[i], {w});
        b.copy(tile::tile(sources[i], 0, w, t[0]), v, {.limits = {tile::limit_of_mode(v.layout, 0, n - w * t[0])}});
        arguments.push_back(v);
    }
    for (size_t i = 0; i < out.size(); ++i) results.push_back(b.rmem("r" + std::to_string(i), out[i], {w}));
    b.map(results, arguments, std::move(body));
    for (size_t i = 0; i < out.size(); ++i)
        b.copy(results[i], tile::tile(targets[i], 0, w, t[0]), {.limits = {tile::limit_of_mode(results[i].layout, 0, n - w * t[0])}});
    return std::move(b).finish();
}

HostArray edge_values(DType t, int64_t n, uint32_t seed) {
    HostArray a = scalar::is_float(t) ? random_array(t, n, seed, -30, 30) : random_array(t, n, seed, -200, 200);
    std::vector<double> edges = {0,
                                 -0.0,
                                 1,
                                 -1,
                                 2,
                                 -2,
                                 3,
                                 127,
                                 128,
                                 -128,
                                 255,
                                 256,
                                 32767,
                                 -32768,
                                 65535,
                                 2147483647.0,
                                 -2147483648.0,
                                 4294967296.0,
                                 1e10,
                                 9.3e18,
                                 -9.3e18,
                                 0.5,
                                 -0.5,
                                 1.5,
                                 2.5};
    if (scalar::is_float(t)) edges.insert(edges.end(), {INFINITY, -INFINITY, NAN, 3e38, -3e38, 1e-3, 65504, 65520, 1e-7});
    std::mt19937 random(seed);
    for (int64_t i = 0; i < n; i += 2) {
        const int64_t at[] = {i};
        const double v = edges[random() % edges.size()];
        if (scalar::is_float(t))
            a.store(at, scalar::make_float(t, v));
        else if (std::abs(v) < 9e18)
            a.store(at, scalar::make_integer(t, static_cast<int64_t>(v)));
        else
            a.store(at, scalar::make_integer(t, v > 0 ? INT64_MAX : INT64_MIN));
    }
    return a;
}

} // namespace

TEST(Bodies, Casts) {
    const int64_t n = 400;
    for (DType from : scalar::kDTypes) {
        // one kernel per source: all destinations at once
        scalar::Builder s;
        const auto x = s.parameter(from);
        std::vector<scalar::Value> results;
        std::vector<DType> to(scalar::kDTypes.begin(), scalar::kDTypes.end());
        for (DType t : to) results.push_back(s.cast(t, x));
        SCOPED_TRACE(std::string("from ") + std::string(scalar::to_string(from)));
        std::vector<HostArray> arrays = {edge_values(from, n, 5)};
        for (DType t : to) arrays.emplace_back(t, std::vector<int64_t>{n});
        expect_same(pointwise({from}, to, s.finish(results)), arrays, {n});
    }
}

TEST(Bodies, Arithmetic) {
    const int64_t n = 400;
    for (DType t : scalar::kDTypes) {
        if (t == DType::boolean) continue; // below
        std::vector<Prim> prims = {Prim::add, Prim::sub, Prim::mul, Prim::floor_div, Prim::mod, Prim::rem, Prim::minimum, Prim::maximum};
        if (scalar::is_float(t))
            prims.push_back(Prim::div);
        else
            prims.insert(prims.end(),
                         {Prim::trunc_div, Prim::bit_and, Prim::bit_or, Prim::bit_xor, Prim::pow, Prim::shift_left, Prim::shift_right});
        std::vector<Prim> unary = {Prim::neg, Prim::abs, Prim::sign};
        if (scalar::is_float(t))
            unary.insert(unary.end(), {Prim::floor, Prim::ceil, Prim::trunc, Prim::round});
        else
            unary.push_back(Prim::bit_not);
        scalar::Builder s;
        const auto x = s.parameter(t), y = s.parameter(t);
        std::vector<scalar::Value> results;
        std::vector<DType> types;
        for (Prim p : prims) results.push_back(s.apply(p, {x, y})), types.push_back(t);
        for (Prim p : unary) results.push_back(s.apply(p, {x})), types.push_back(t);
        for (Prim p : {Prim::eq, Prim::ne, Prim::lt, Prim::le, Prim::gt, Prim::ge})
            results.push_back(s.apply(p, {x, y})), types.push_back(DType::boolean);
        results.push_back(s.apply(Prim::select, {s.apply(Prim::lt, {x, y}), x, y})), types.push_back(t);
        SCOPED_TRACE(std::string(scalar::to_string(t)));
        // all at once: the element index tells which op differs
        std::vector<HostArray> arrays = {edge_values(t, n, 5), edge_values(t, n, 6)};
        for (DType r : types) arrays.emplace_back(r, std::vector<int64_t>{n});
        // vcvtneps2bf16 flushes subnormal results; floats as large as 3e38 are among the values
        expect_same(pointwise({t, t}, types, s.finish(results)), arrays, {n}, t == DType::bf16 ? 1e-76 : 0);
    }
}

TEST(Bodies, Logic) {
    scalar::Builder s;
    const auto x = s.parameter(DType::boolean), y = s.parameter(DType::boolean);
    std::vector<scalar::Value> results;
    for (Prim p : {Prim::bit_and, Prim::bit_or, Prim::bit_xor, Prim::minimum, Prim::maximum, Prim::eq, Prim::ne, Prim::lt, Prim::ge})
        results.push_back(s.apply(p, {x, y}));
    results.push_back(s.apply(Prim::bit_not, {x}));
    std::vector<DType> types(results.size(), DType::boolean);
    std::vector<HostArray> arrays = {edge_values(DType::boolean, 200, 1), edge_values(DType::boolean, 200, 2)};
    for (DType r : types) arrays.emplace_back(r, std::vector<int64_t>{200});
    expect_same(pointwise({DType::boolean, DType::boolean}, types, s.finish(results)), arrays, {200});
}

TEST(Map, CoordinatesAndBroadcasts) {
    // out[r, c] = x[c] + 100 * r + c + n: row broadcast, integer expressions affine and not
    Builder b("coordinates");
    const Expr n = b.integer("n");
    const View x = b.input("x", DType::f32, {24}, {1}), y = b.output("y", DType::f32, {5, 24}, {24, 1});
    b.tasks({}, {});
    const View v = b.rmem("v", DType::f32, {24}), r = b.rmem("r", DType::f32, {5, 24});
    b.copy(x, v);
    const Expr c0 = Expr::symbol("c0"), c1 = Expr::symbol("c1");
    b.map(r, {tile::with_layout(v, {{5, 24}, {0, 1}}), 100 * c0 + c1 + n, mod(c1, 7)}, [](scalar::Builder& s, auto in) {
        return s.apply(Prim::add, {s.apply(Prim::add, {in[0], s.cast(DType::f32, in[1])}), s.cast(DType::f32, in[2])});
    });
    b.copy(r, y);
    expect_same(std::move(b).finish(), {random_array(DType::f32, 24, 1), HostArray(DType::f32, {120})}, {3}, 1e-7);
}

TEST(Map, HeavyBodiesRunInLoops) {
    for (int64_t columns : {64, 40, 200}) {
        Builder b("heavy");
        b.integer("n");
        const View x = b.input("x", DType::f32, {9, columns}, {columns, 1}), bias = b.input("bias", DType::f32, {columns}, {1}),
                   y = b.output("y", DType::bf16, {9, columns}, {columns, 1});
        b.tasks({}, {});
        const View v = b.rmem("v", DType::f32, {9, columns}), w = b.rmem("w", DType::f32, {columns}),
                   r = b.rmem("r", DType::bf16, {9, columns});
        b.copy(x, v);
        b.copy(bias, w);
        b.map(r, {v, tile::with_layout(w, {{9, columns}, {0, 1}})}, [](scalar::Builder& s, auto in) {
            const auto z = s.apply(Prim::add, {in[0], in[1]});
            return s.apply(Prim::mul, {z, s.apply(Prim::erf, {z})});
        });
        b.copy(r, y);
        expect_same(std::move(b).finish(),
                    {random_array(DType::f32, 9 * columns, 1), random_array(DType::f32, columns, 2), HostArray(DType::bf16, {9 * columns})},
                    {0}, 0.004);
    }
}

namespace {

// Copies x (rows x columns, run-time strides) to scratch or registers in the given layout and from there to y, with limits.
tile::Program moves(DType t, int64_t rows, int64_t columns, layout::Layout between, tile::Space space, bool limited) {
    Builder b("moves");
    const Expr m = b.integer("m"), n = b.integer("n"), sr = b.integer("sr"), sc = b.integer("sc");
    const View x{b.input("x", t, {1}, {0}).buffer, 0, {{rows, columns}, {sr, sc}}, {}};
    const View y = b.output("y", t, {rows, columns}, {columns, 1});
    b.tasks({}, {});
    const View s = b.alloc("s", space, t, between);
    tile::Builder::CopyOptions options;
    if (limited) options.limits = {tile::limit_of_mode(between, 0, m), tile::limit_of_mode(between, 1, n)};
    b.copy(x, s, options);
    b.copy(s, y, options);
    return std::move(b).finish();
}

} // namespace

TEST(Copy, LayoutsLimitsAndStrides) {
    int turn = 0;
    for (DType t : {DType::f32, DType::bf16, DType::f64, DType::u8})
        for (auto [rows, columns] : {std::pair<int64_t, int64_t>{16, 48}, {5, 7}, {3, 40}})
            for (bool column_major : {false, true})
                for (auto space : {tile::Space::rmem, tile::Space::scratch})
                    for (bool limited : {false, true})
                        for (bool transposed_source : {false, true}) {
                            if (++turn % 3 != 0) continue; // a third of the combinations, spread over all of them
                            const layout::Layout between =
                                column_major ? layout::Layout{{rows, columns}, {1, rows}} : layout::Layout{{rows, columns}, {columns, 1}};
                            const int64_t m = limited ? rows - 2 : rows, n = limited ? columns - 3 : columns;
                            const int64_t sr = transposed_source ? 1 : columns + 3, sc = transposed_source ? rows + 1 : 1;
                            SCOPED_TRACE(std::string(scalar::to_string(t)) + " " + std::to_string(rows) + "x" + std::to_string(columns) +
                                         (column_major ? " column" : " row") + (space == tile::Space::rmem ? " rmem" : " scratch") +
                                         (limited ? " limited" : "") + (transposed_source ? " T" : ""));
                            // the source holds exactly what may be read
                            const int64_t size = (m - 1) * sr + (n - 1) * sc + 1;
                            expect_same(moves(t, rows, columns, between, space, limited),
                                        {random_array(t, size, 1, -100, 100), random_array(t, rows * columns, 2, -100, 100)},
                                        {m, n, sr, sc});
                        }
}

TEST(Copy, PairsOfBf16AreTransposed) {
    // w[n, k] -> packed[k / 2][n][k % 2], as dot-product instructions want it
    Builder b("pack");
    const Expr n = b.integer("n");
    const View w = b.input("w", DType::bf16, {16, 64}, {64, 1});
    const View packed = b.output("packed", DType::bf16, {1}, {0});
    b.tasks({}, {});
    const View from = tile::with_layout(w, {{16, {2, 32}}, {64, {1, 2}}}), to = tile::with_layout(packed, {{16, {2, 32}}, {2, {1, 32}}});
    b.copy(from, to, {.limits = {tile::limit_of_mode(from.layout, 0, n)}});
    const auto program = std::move(b).finish();
    for (int64_t rows : {16, 11}) expect_same(program, {random_array(DType::bf16, 1024, 1), random_array(DType::bf16, 1024, 2)}, {rows});
}

TEST(Copy, RowsOfBf16AreInterleaved) {
    // w[k, n] -> packed[k / 2][n][k % 2], straight to memory with whole pairs, through registers and scratch with half ones
    for (const tile::Space between : {tile::Space::gmem, tile::Space::rmem, tile::Space::scratch}) {
        Builder b("interleave");
        const Expr n = b.integer("n"), k = b.integer("k");
        const View w = b.input("w", DType::bf16, {8, 32}, {40, 1});
        const View packed = b.output("packed", DType::bf16, {1}, {0});
        b.tasks({}, {});
        const View from = tile::with_layout(w, {{32, {2, 4}}, {1, {40, 80}}}), to = tile::with_layout(packed, {{32, {2, 4}}, {2, {1, 64}}});
        const auto limits = [&](const View& v) {
            std::vector<tile::Limit> all{tile::limit_of_mode(v.layout, 0, n)};
            if (between != tile::Space::gmem) all.push_back(tile::limit_of_mode(v.layout, 1, k));
            return all;
        };
        if (between == tile::Space::gmem) {
            b.copy(from, to, {.limits = limits(from)});
        } else {
            const View middle = b.alloc("middle", between, DType::bf16, to.layout);
            b.copy(from, middle, {.limits = limits(from)});
            b.copy(middle, to);
        }
        const auto program = std::move(b).finish();
        for (int64_t columns : {32, 21, 3})
            for (int64_t rows : {8, 5})
                expect_same(program, {random_array(DType::bf16, 320, 1), random_array(DType::bf16, 256, 2)}, {columns, rows});
        for (const auto& target : runnable_targets()) {
            if (target.vector_bits != 512 || between != tile::Space::gmem) continue;
            EXPECT_NE(codegen::assembly(program, targets::atoms(), target).find("vpermt2w"), std::string::npos);
        }
    }
}

TEST(Copy, StreamingStores) {
    Builder b("stream");
    const Expr n = b.integer("n");
    const View x = b.input("x", DType::f32, {n}, {1}), y = b.output("y", DType::f32, {n}, {1});
    const auto i = b.tasks({"i"}, {ceil_div(n, 64)});
    const View v = b.rmem("v", DType::f32, {64});
    const auto limit = tile::limit_of_mode(v.layout, 0, n - 64 * i[0]);
    b.copy(tile::tile(x, 0, 64, i[0]), v, {.limits = {limit}});
    b.prefetch(tile::tile(x, 0, 64, i[0] + 1), 2);
    b.copy(v, tile::tile(y, 0, 64, i[0]), {.limits = {limit}, .streaming = true});
    const auto program = std::move(b).finish();
    expect_same(program, {random_array(DType::f32, 333, 1), HostArray(DType::f32, {333})}, {333});
    for (const auto& target : runnable_targets()) {
        const auto text = codegen::assembly(program, targets::atoms(), target);
        EXPECT_NE(text.find("vmovntps"), std::string::npos) << target.name;
        EXPECT_NE(text.find("sfence"), std::string::npos) << target.name;
    }
}

TEST(Reduce, EveryCombinerAndShape) {
    for (std::string_view name : {"sum", "max", "min", "prod", "argmax", "argmin", "logsumexp", "welford"})
        for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 64}, {4, 37}, {7, 16}, {3, 300}})
            for (bool along_columns : {true, false}) {
                const auto c = scalar::make_combiner(name, DType::f32);
                const size_t states = c.state.size();
                Builder b("reduction");
                b.integer("n");
                std::vector<View> in, out, registers, results;
                const int64_t kept = along_columns ? rows : columns;
                for (size_t s = 0; s < states; ++s)
                    in.push_back(b.input("x" + std::to_string(s), c.state[s], {rows, columns}, {columns, 1}));
                for (size_t s = 0; s < states; ++s) out.push_back(b.output("y" + std::to_string(s), c.state[s], {kept}, {1}));
                b.tasks({}, {});
                for (size_t s = 0; s < states; ++s) {
                    registers.push_back(b.rmem("r" + std::to_string(s), c.state[s], {rows, columns}));
                    b.copy(in[s], registers[s]);
                    const View v = b.rmem("v" + std::to_string(s), c.state[s], {kept});
                    b.copy(out[s], v);
                    results.push_back(v);
                }
                std::vector<View> spread;
                for (const View& v : results)
                    spread.push_back(tile::with_layout(v, along_columns ? layout::Layout{{rows, columns}, {1, 0}}
                                                                        : layout::Layout{{rows, columns}, {0, 1}}));
                b.reduce(registers, spread, c.combine);
                for (size_t s = 0; s < states; ++s) b.copy(results[s], out[s]);
                std::vector<HostArray> arrays;
                for (size_t s = 0; s < states; ++s)
                    arrays.push_back(
                        random_array(c.state[s], rows * columns, static_cast<uint32_t>(s + 1), name == "welford" && s != 1 ? 1 : -2, 2));
                for (size_t s = 0; s < states; ++s)
                    arrays.push_back(random_array(c.state[s], kept, static_cast<uint32_t>(s + 7), name == "welford" && s != 1 ? 1 : -2, 2));
                SCOPED_TRACE(std::string(name) + " " + std::to_string(rows) + "x" + std::to_string(columns) +
                             (along_columns ? " rows kept" : " columns kept"));
                expect_same(std::move(b).finish(), arrays, {0}, 1e-5);
            }
}

TEST(Reduce, FromMemoryInLoops) {
    for (int64_t n : {2000, 4096, 1003}) {
        Builder b("long_sum");
        b.integer("n");
        const View x = b.input("x", DType::f32, {n}, {1}), y = b.output("y", DType::f32, {1}, {1});
        b.tasks({}, {});
        const View v = b.rmem("v", DType::f32, {1});
        b.fill(v, 0);
        b.reduce({x}, {tile::with_layout(v, {{n}, {0}})}, scalar::sum(DType::f32).combine);
        b.copy(v, y);
        expect_same(std::move(b).finish(), {random_array(DType::f32, n, 1), HostArray(DType::f32, {1})}, {0}, 1e-4);
    }
}

TEST(Control, LoopsVariablesChecksAndIndices) {
    // y[i] = table[index[i]], a failed check leaves the task and sets the status; a var counts tasks inside a loop
    Builder b("gather");
    const Expr n = b.integer("n"), rows = b.integer("rows");
    const View index = b.input("index", DType::i64, {n}, {1}), table = b.input("table", DType::f32, {rows, 20}, {20, 1}),
               y = b.output("y", DType::f32, {n, 20}, {20, 1}), counts = b.output("counts", DType::f32, {n}, {1});
    const auto i = b.tasks({"i"}, {n});
    const View v = b.rmem("v", DType::f32, {20}), c = b.rmem("c", DType::f32, {1});
    const Expr row = b.load_index("row", tile::element(index, i[0]));
    b.check(row, 0, rows, "row out of range");
    b.copy(tile::at(table, 0, row), v);
    b.copy(v, tile::at(y, 0, i[0]));
    const Expr count = b.var("count", 0, 0, 1000);
    b.loop("j", 1, row + 1, 2,
           [&](const Expr& j) { b.when({sym::lt(mod(j, 3), 2)}, [&] { b.set(count, count + 1); }, [&] { b.set(count, count + 10); }); });
    b.map(c, {count}, [](scalar::Builder& s, auto in) { return s.cast(DType::f32, in[0]); });
    b.copy(c, tile::element(counts, i[0]));
    const auto program = std::move(b).finish();
    HostArray good(DType::i64, {7}), bad(DType::i64, {7});
    for (int64_t k = 0; k < 7; ++k) good.as<int64_t>()[k] = bad.as<int64_t>()[k] = (k * 5) % 9;
    bad.as<int64_t>()[3] = 9;
    bad.as<int64_t>()[5] = -1;
    for (const auto& indices : {good, bad})
        expect_same(program, {indices, random_array(DType::f32, 180, 1), HostArray(DType::f32, {140}), HostArray(DType::f32, {7})}, {7, 9});
}

TEST(Atomic, AddsElements) {
    Builder b("scatter");
    const Expr n = b.integer("n");
    const View x = b.input("x", DType::f32, {n, 8}, {8, 1}), y = b.output("y", DType::f32, {8}, {1});
    const auto i = b.tasks({"i"}, {n});
    const View v = b.rmem("v", DType::f32, {8});
    b.copy(tile::at(x, 0, i[0]), v);
    b.atomic_add(v, y);
    expect_same(std::move(b).finish(), {random_array(DType::f32, 40, 1), HostArray(DType::f32, {8})}, {5}, 1e-6);
}

} // namespace codetta::test
