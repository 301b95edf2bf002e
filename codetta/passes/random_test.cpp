// Random graphs of views, casts, arithmetic, constants, updates and in-place copies keep their values, bit for bit, through the whole
// pipeline.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "codetta/ops/list.h"
#include "codetta/passes/pipeline.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/expr.h"

namespace codetta::passes {
namespace {

using graph::GraphBuilder;
using graph::TensorType;
using graph::ValueId;
using scalar::DType;
using scalar::HostArray;
using Exprs = std::vector<sym::Expr>;

class RandomGraph {
public:
    RandomGraph(const graph::OpSet& ops, uint64_t seed) : random_(seed), b_(ops, {}) {}

    graph::Graph make() {
        symbolic_ = pick(3) == 0;
        sym::Expr n = symbolic_ ? sym::Expr::symbol("n") : sym::Expr(4);
        if (symbolic_) b_.graph().facts.set_range("n", {2, 64});
        for (const char* name : {"x", "y", "cache"}) values_.push_back(b_.input(name, graph::contiguous(DType::f32, {n, 6})));
        values_.push_back(b_.input("i", graph::contiguous(DType::i64, {n, 6})));
        for (int step = 0; step < 18; ++step) try_step(n);
        if (pick(2) == 0) write_cache();
        for (size_t k = 0; k < 3; ++k) {
            ValueId v = values_[values_.size() - 1 - k];
            bool again = graph::find_input(b_.graph(), v) != nullptr;
            for (const graph::Output& o : b_.graph().outputs) again = again || o.value == v;
            b_.output(again ? b_.add1("clone", {safe(v)}) : v);
        }
        return b_.finish();
    }

private:
    size_t pick(size_t n) { return random_() % n; }
    ValueId any() { return values_[pick(values_.size())]; }
    // After the cache is overwritten nobody may read it.
    ValueId safe(ValueId v) const { return written_ && b_.graph().value(v).name == "cache" ? values_[0] : v; }

    ValueId other_like(ValueId v) {
        for (int k = 0; k < 8; ++k) {
            ValueId w = any();
            if (b_.type(w).dtype == b_.type(v).dtype && b_.type(w).shape == b_.type(v).shape) return w;
        }
        return v;
    }

    void try_step(const sym::Expr& n) {
        try {
            step(n);
        } catch (const base::UserError&) { // the op does not fit this value: another one will
        }
    }

    void keep(ValueId v) { values_.push_back(v); }

    void step(const sym::Expr& n) {
        ValueId v = any();
        TensorType t = b_.type(v);
        auto rank = static_cast<int64_t>(t.rank());
        bool is_float = scalar::is_float(t.dtype);
        switch (pick(20)) {
        case 0: return keep(b_.add1("view", {v}, {{"shape", Exprs{n, 2, 3}}}));
        case 1: return keep(b_.add1("view", {v}, {{"shape", Exprs{n, 6}}}));
        case 2: return keep(b_.add1("unsqueeze", {v}, {{"dim", int64_t{0}}}));
        case 3: return keep(b_.add1("squeeze", {v}, {{"dims", Exprs{0}}}));
        case 4: {
            Exprs dims;
            for (int64_t d = rank; d-- > 0;) dims.emplace_back(d);
            return keep(b_.add1("permute", {v}, {{"dims", dims}}));
        }
        case 5: return keep(b_.add1("cast", {v}, {{"dtype", std::vector{DType::f32, DType::bf16, DType::f64, DType::i64}[pick(4)]}}));
        case 6: return keep(b_.add1("cast", {v}, {{"dtype", is_float ? DType::f32 : DType::i64}}));
        case 7: return keep(b_.add1(std::vector{"mul", "div", "sub", "pow"}[pick(4)], {v}, {{"scalar", static_cast<int64_t>(pick(2))}}));
        case 8: return keep(b_.add1("add", {v, other_like(v)}));
        case 9: return keep(b_.add1("mul", {v, other_like(v)}));
        case 10: return keep(b_.add1("slice", {v}, {{"dim", int64_t{-1}}, {"start", sym::Expr(static_cast<int64_t>(pick(2)))}}));
        case 11: return keep(b_.add1("cat", {v, other_like(v)}, {{"dim", int64_t{-1}}}));
        case 12: return keep(b_.add1(pick(2) ? "clone" : "alias", {v}));
        case 13: return keep(b_.add1("sum", {v}, {{"dims", Exprs{-1}}, {"keepdim", true}}));
        case 14: {
            HostArray a(t.dtype, {6});
            for (int64_t k = 0; k < 6; ++k)
                a.store(std::vector<int64_t>{k},
                        is_float ? scalar::make_float(t.dtype, static_cast<double>(k) / 4) : scalar::make_integer(t.dtype, k));
            return keep(b_.add1("add", {v, b_.add1("mul", {b_.constant(a)}, {{"scalar", int64_t{2}}})}));
        }
        case 15: {
            ValueId one = b_.add1("full", {}, {{"value", static_cast<int64_t>(pick(2))}, {"dtype", t.dtype}});
            return keep(b_.add1("mul", {v, one}));
        }
        case 16: {
            ValueId p = b_.add1("arange", {}, {{"length", t.shape.back()}}),
                    q = b_.add1("ge", {p}, {{"scalar", static_cast<int64_t>(pick(3))}});
            return keep(b_.add1("where", {q, v, other_like(v)}));
        }
        case 17: return keep(b_.add1("relu", {v}));
        case 18: return keep(b_.add1("softmax", {v}, {{"dim", int64_t{-1}}}));
        default: return keep(b_.add1("neg", {v}));
        }
    }

    // A chain of updates of the cache (or something unrelated), copied into it.
    void write_cache() {
        ValueId cache = values_[2], v = cache;
        for (size_t k = 0; k < 1 + pick(2); ++k) {
            ValueId part = b_.add1("slice", {values_[pick(2)]}, {{"dim", int64_t{1}}, {"start", sym::Expr(1)}, {"end", sym::Expr(3)}});
            v = b_.add1(
                "slice_scatter", {v, part},
                {{"dim", int64_t{1}}, {"start", sym::Expr(static_cast<int64_t>(k))}, {"end", sym::Expr(static_cast<int64_t>(k) + 2)}});
        }
        if (pick(3) == 0) keep(b_.add1("neg", {cache}));
        if (pick(3) == 0) keep(b_.add1("add", {v, cache}));
        ValueId copied = b_.add1("copy", {cache, v});
        b_.set_into(copied, cache);
        written_ = true;
        keep(b_.add1("neg", {pick(2) ? copied : v}));
    }

    std::mt19937_64 random_;
    GraphBuilder b_;
    std::vector<ValueId> values_;
    bool symbolic_ = false, written_ = false;
};

std::vector<HostArray> arguments(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<HostArray> result;
    for (DType t : {DType::f32, DType::f32, DType::f32, DType::i64}) {
        HostArray a(t, {4, 6});
        for (int64_t i = 0; i < 4; ++i)
            for (int64_t j = 0; j < 6; ++j) {
                int64_t v = static_cast<int64_t>(random() % 33) - 16;
                bool special = random() % 16 == 0;
                std::vector<int64_t> at = {i, j};
                a.store(at,
                        t == DType::f32 ? scalar::make_float(t, special ? -0.0 : static_cast<double>(v) / 8) : scalar::make_integer(t, v));
            }
        result.push_back(a);
    }
    return result;
}

void expect_equal(const HostArray& a, const HostArray& b, const std::string& what) {
    ASSERT_EQ(a.extents(), b.extents()) << what;
    std::vector<int64_t> at(a.extents().size(), 0);
    for (int64_t n = a.size(); n > 0; --n) {
        scalar::Scalar x = a.load(at), y = b.load(at);
        bool same = scalar::is_float(x.dtype)
                        ? (x.f == y.f && std::signbit(x.f) == std::signbit(y.f)) || (std::isnan(x.f) && std::isnan(y.f))
                        : x.i == y.i;
        ASSERT_TRUE(same) << what << ": " << x.f << " " << x.i << " against " << y.f << " " << y.i;
        for (size_t d = at.size(); d-- > 0;) {
            if (++at[d] < a.extents()[d]) break;
            at[d] = 0;
        }
    }
}

TEST(RandomGraphs, KeepTheirValuesBitForBit) {
    graph::OpSet ops = ops::list();
    base::Options options;
    size_t nodes = 0, in_place = 0;
    for (uint64_t seed = 1; seed <= 1000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        graph::Graph before = RandomGraph(ops, seed).make();
        ASSERT_NO_THROW(graph::verify(before, ops)) << graph::to_string(before);
        graph::Graph after;
        try {
            after = run_passes(before, ops, options);
        } catch (const std::exception& e) {
            FAIL() << e.what() << "\n" << graph::to_string(before);
        }
        nodes += before.nodes.size();
        for (const graph::Node& n : after.nodes) in_place += n.into && n.op != "copy";
        std::vector<HostArray> first = arguments(seed), second = arguments(seed);
        std::vector<HostArray> want = graph::interpret(before, ops, first, {}), got = graph::interpret(after, ops, second, {});
        ASSERT_EQ(want.size(), got.size());
        for (size_t k = 0; k < want.size(); ++k)
            expect_equal(want[k], got[k], "result " + std::to_string(k) + "\n" + graph::to_string(before) + graph::to_string(after));
        expect_equal(first[2], second[2], "the cache\n" + graph::to_string(before) + graph::to_string(after));
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(nodes, 10'000u);
    EXPECT_GT(in_place, 100u) << "updates that became writes";
}

} // namespace
} // namespace codetta::passes
