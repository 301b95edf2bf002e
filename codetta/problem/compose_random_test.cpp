// Random chains of small ops, composed step by step: every composition computes what its parts compute one after the other, and so do its
// normal forms and its halves.
#include <random>

#include "codetta/base/error.h"
#include "codetta/problem/normalise.h"
#include "codetta/problem/test_support.h"

namespace codetta::problem {
namespace {

using sym::Expr;

class Ops {
public:
    explicit Ops(uint64_t seed) : random_(seed) {}

    // A random op on a f32 tensor of this shape; `shape` becomes the result's. Operand `x` is read, `out` written.
    Problem next(std::vector<Expr>& shape) {
        for (int attempt = 0; attempt < 20; ++attempt) {
            switch (pick(15)) {
            case 0: return pointwise(shape);
            case 1: return pointwise(shape);
            case 2: return permute(shape);
            case 3:
                if (auto p = merge(shape)) return *p;
                break;
            case 4:
                if (auto p = split(shape)) return *p;
                break;
            case 5:
                if (auto p = slice(shape)) return *p;
                break;
            case 6: return pad(shape);
            case 7:
                if (shape.size() < 4) return expand(shape);
                break;
            case 8:
                if (auto p = reduce(shape)) return *p;
                break;
            case 9: return flip(shape);
            case 10:
                if (!shape.empty()) return rows(shape);
                break;
            case 11:
                if (!shape.empty()) return product(shape);
                break;
            case 12:
                if (!shape.empty()) return concatenate(shape);
                break;
            case 13:
                if (!shape.empty()) return cumulate(shape);
                break;
            case 14:
                if (auto p = gather(shape)) return *p;
                break;
            }
        }
        return pointwise(shape);
    }
    size_t pick(size_t n) { return static_cast<size_t>(random_() % n); }

private:
    // `  x: f32[...] in` and so on, and axes d0, d1 ... over `domain`.
    struct Draft {
        std::string axes, operands, stages;
    };
    static std::string list(const std::vector<Expr>& shape) {
        std::string text;
        for (const Expr& e : shape) text += (text.empty() ? "" : ", ") + sym::to_string(e);
        return text;
    }
    static std::vector<std::string> indices(size_t n) {
        std::vector<std::string> names;
        for (size_t i = 0; i < n; ++i) names.push_back("d" + std::to_string(i));
        return names;
    }
    static std::string join(const std::vector<std::string>& items) {
        std::string text;
        for (const std::string& s : items) text += (text.empty() ? "" : ", ") + s;
        return text;
    }
    static Problem make(const std::vector<Expr>& in, const std::vector<Expr>& out, const std::string& more_axes,
                        const std::string& more_operands, const std::string& stages) {
        std::string axes;
        for (size_t i = 0; i < out.size(); ++i)
            axes += (axes.empty() ? "" : ", ") + ("d" + std::to_string(i)) + " = " + sym::to_string(out[i]);
        if (!more_axes.empty()) axes += (axes.empty() ? "" : ", ") + more_axes;
        return parse_problem("problem op(" + axes + ") where s0 >= 0\n  x: f32[" + list(in) + "] in\n" + more_operands + "  out: f32[" +
                             list(out) + "] out\n" + stages);
    }
    // out[d0 ...] = expression, where `at` is where x is read.
    static Problem view(const std::vector<Expr>& in, const std::vector<Expr>& out, const std::vector<std::string>& at,
                        const std::string& rest = "") {
        std::string d = join(indices(out.size()));
        return make(in, out, "", "", "  v: f32[" + d + "] = x[" + join(at) + "]" + rest + " -> out[" + d + "]\n");
    }

    Problem pointwise(const std::vector<Expr>& shape) {
        std::string d = join(indices(shape.size()));
        static const char* const bodies[] = {"x[@] * 2.0 + 1.0",
                                             "maximum(x[@], 0.0)",
                                             "x[@] * sigmoid(x[@])",
                                             "x[@] + c[@]",
                                             "f32(narrow.bf16(x[@]))",
                                             "select(x[@] < c[@], x[@], c[@] * 0.5)",
                                             "-x[@]",
                                             "exp(minimum(x[@], 2.0))"};
        std::string body = bodies[pick(std::size(bodies))];
        for (size_t at; (at = body.find('@')) != std::string::npos;) body.replace(at, 1, d);
        bool extra = body.find("c[") != std::string::npos;
        return make(shape, shape, "", extra ? "  c: f32[" + list(shape) + "] in\n" : "",
                    "  y: f32[" + d + "] = " + body + " -> out[" + d + "]\n");
    }
    Problem permute(std::vector<Expr>& shape) {
        std::vector<size_t> order(shape.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::shuffle(order.begin(), order.end(), random_);
        std::vector<Expr> in = shape;
        std::vector<std::string> at(shape.size());
        for (size_t i = 0; i < order.size(); ++i) {
            shape[i] = in[order[i]];
            at[order[i]] = "d" + std::to_string(i);
        }
        return view(in, shape, at);
    }
    std::optional<Problem> merge(std::vector<Expr>& shape) {
        if (shape.size() < 2) return std::nullopt;
        size_t i = pick(shape.size() - 1);
        std::vector<Expr> in = shape;
        std::string inner = "(" + sym::to_string(shape[i + 1]) + ")";
        if (shape[i + 1].is(0)) return std::nullopt;
        if (!shape[i + 1].constant()) return std::nullopt; // s0 may be 0: torch would not divide either
        shape[i] = shape[i] * shape[i + 1];
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        std::vector<std::string> at;
        for (size_t k = 0; k < in.size(); ++k)
            at.push_back(k == i       ? "d" + std::to_string(i) + " // " + inner
                         : k == i + 1 ? "d" + std::to_string(i) + " % " + inner
                                      : "d" + std::to_string(k > i ? k - 1 : k));
        return view(in, shape, at);
    }
    std::optional<Problem> split(std::vector<Expr>& shape) {
        for (size_t i = 0; i < shape.size(); ++i)
            for (int64_t s : {2, 3}) {
                auto outer = sym::exact_div(shape[i], s);
                if (!outer || pick(2) == 0 || shape.size() > 4) continue;
                std::vector<Expr> in = shape;
                shape[i] = *outer;
                shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(i) + 1, Expr(s));
                std::vector<std::string> at;
                for (size_t k = 0; k < in.size(); ++k)
                    at.push_back(k == i ? std::to_string(s) + "*d" + std::to_string(i) + " + d" + std::to_string(i + 1)
                                        : "d" + std::to_string(k > i ? k + 1 : k));
                return view(in, shape, at);
            }
        return std::nullopt;
    }
    std::optional<Problem> slice(std::vector<Expr>& shape) {
        for (size_t i = 0; i < shape.size(); ++i) {
            auto extent = shape[i].constant();
            if (!extent || *extent < 3 || pick(2) == 0) continue;
            std::vector<Expr> in = shape;
            std::vector<std::string> at = indices(shape.size());
            at[i] = pick(2) == 0 ? at[i] + " + 1" : "2*" + at[i];
            shape[i] = at[i][0] == '2' ? Expr((*extent + 1) / 2) : Expr(*extent - 1 - static_cast<int64_t>(pick(2)));
            return view(in, shape, at);
        }
        return std::nullopt;
    }
    Problem pad(std::vector<Expr>& shape) {
        if (shape.empty()) return pointwise(shape);
        size_t i = pick(shape.size());
        std::vector<Expr> in = shape;
        std::vector<std::string> at = indices(shape.size());
        at[i] += " - 1";
        std::string guard = " if 0 <= " + at[i] + " < " + sym::to_string(shape[i]);
        shape[i] = shape[i] + 2;
        static const char* const fills[] = {"", " else 0.5", " else -inf"};
        return view(in, shape, at, guard + fills[pick(3)]);
    }
    Problem expand(std::vector<Expr>& shape) {
        std::vector<Expr> in = shape;
        size_t i = pick(shape.size() + 1);
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(i), Expr(2));
        std::vector<std::string> at = indices(shape.size());
        at.erase(at.begin() + static_cast<std::ptrdiff_t>(i));
        return view(in, shape, at);
    }
    Problem flip(const std::vector<Expr>& shape) {
        if (shape.empty()) return pointwise(shape);
        std::vector<std::string> at = indices(shape.size());
        size_t i = pick(shape.size());
        at[i] = "-" + at[i] + " + " + sym::to_string(shape[i]) + " - 1";
        return view(shape, shape, at);
    }
    std::optional<Problem> reduce(std::vector<Expr>& shape) {
        if (shape.empty()) return std::nullopt;
        size_t i = pick(shape.size());
        std::vector<Expr> in = shape;
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(i));
        std::vector<std::string> d = indices(shape.size()), at = d;
        at.insert(at.begin() + static_cast<std::ptrdiff_t>(i), "r");
        static const char* const combiners[] = {"sum(r) x[@]", "max(r) x[@]", "sum(r) x[@] * x[@]"};
        std::string body = combiners[pick(3)];
        for (size_t p; (p = body.find('@')) != std::string::npos;) body.replace(p, 1, join(at));
        return make(in, shape, "r = " + sym::to_string(in[i]), "", "  a: f32[" + join(d) + "] = " + body + " -> out[" + join(d) + "]\n");
    }
    // A softmax-like op along the last dimension, its reductions over axes of their own.
    Problem rows(const std::vector<Expr>& shape) {
        std::vector<std::string> d = indices(shape.size()), row(d.begin(), d.end() - 1);
        auto with = [&](const std::string& last) {
            std::vector<std::string> at = row;
            at.push_back(last);
            return join(at);
        };
        std::string r = join(row), n = sym::to_string(shape.back());
        return make(shape, shape, "r = " + n + ", q = " + n, "",
                    "  mx: f32[" + r + "] = max(r) x[" + with("r") + "]\n  s: f32[" + r + "] = sum(q) exp(x[" + with("q") + "] - mx[" + r +
                        "])\n  y: f32[" + join(d) + "] = exp(x[" + join(d) + "] - mx[" + r + "]) / s[" + r + "] -> out[" + join(d) + "]\n");
    }
    Problem product(std::vector<Expr>& shape) {
        std::vector<Expr> in = shape;
        Expr k = shape.back();
        int64_t n = 2 + static_cast<int64_t>(pick(5));
        shape.back() = n;
        std::vector<std::string> d = indices(shape.size()), at = d;
        at.back() = "k";
        return make(in, shape, "k = " + sym::to_string(k), "  w: f32[" + std::to_string(n) + ", " + sym::to_string(k) + "] in\n",
                    "  acc: f32[" + join(d) + "] = sum(k) x[" + join(at) + "] * w[" + d.back() + ", k] -> out[" + join(d) + "]\n");
    }

    // x beside a tensor of its own, along some dimension: two stages write one output.
    Problem concatenate(std::vector<Expr>& shape) {
        size_t i = pick(shape.size());
        std::vector<Expr> in = shape, other = shape;
        other[i] = 2;
        shape[i] = shape[i] + 2;
        std::vector<std::string> d = indices(shape.size()), a = d, b = d, there = d;
        a[i] = "a", b[i] = "b", there[i] = "b + " + sym::to_string(in[i]);
        bool front = pick(2) == 0;
        if (front) there[i] = "b";
        std::vector<std::string> here = a;
        if (front) here[i] = "a + 2";
        return make(in, shape, "a = " + sym::to_string(in[i]) + ", b = 2", "  c: f32[" + list(other) + "] in\n",
                    "  first: f32[" + join(a) + "] = x[" + join(a) + "] -> out[" + join(here) + "]\n  second: f32[" + join(b) + "] = c[" +
                        join(b) + "] * 2.0 -> out[" + join(there) + "]\n");
    }
    Problem cumulate(const std::vector<Expr>& shape) {
        std::string d = join(indices(shape.size())), along = "d" + std::to_string(pick(shape.size()));
        return make(shape, shape, "", "",
                    "  y: f32[" + d + "] = scan(" + along + ") " + (pick(2) == 0 ? "sum" : "max") + " x[" + d + "] -> out[" + d + "]\n");
    }
    std::optional<Problem> gather(std::vector<Expr>& shape) {
        for (size_t i = 0; i < shape.size(); ++i) {
            auto extent = shape[i].constant();
            if (!extent || *extent < 1) continue;
            std::vector<Expr> in = shape;
            shape[i] = 3;
            std::vector<std::string> at = indices(shape.size());
            std::string n = std::to_string(*extent);
            at[i] = "checked(i[" + at[i] + "], -" + n + ", " + n + ") % " + n;
            std::string d = join(indices(shape.size()));
            return make(in, shape, "", "  i: i64[3] in\n", "  y: f32[" + d + "] = x[" + join(at) + "] -> out[" + d + "]\n");
        }
        return std::nullopt;
    }

    std::mt19937_64 random_;
};

// The operands of `after` that `before` has too (by name), on memory of their own.
void expect_same_where_finite(const Problem& before, const Problem& after, const std::vector<sym::Bindings>& sizes) {
    test::expect_same(before, after, sizes);
}

TEST(ComposeRandom, chains_compute_what_their_parts_do) {
    size_t fused = 0, composed = 0, largest = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
        Ops ops(seed);
        std::vector<Expr> shape;
        static const std::vector<std::vector<Expr>> starts = {
            {Expr::symbol("s0"), 6}, {2, Expr::symbol("s0"), 4}, {3, 4}, {6}, {2, 3, 2, 2}, {Expr::symbol("s0") * 2, 3}};
        shape = starts[ops.pick(starts.size())];
        std::vector<sym::Bindings> sizes = {{{"s0", 2}}, {{"s0", 3}}, {{"s0", 0}}};
        std::string trace = "seed " + std::to_string(seed) + "\n";
        Problem whole = ops.next(shape);
        trace += to_string(whole);
        std::string result = "out";
        for (int step = 0; step < 4; ++step) {
            Problem op = ops.next(shape);
            trace += to_string(op);
            SCOPED_TRACE(trace);
            std::set<std::string> kept;
            for (const Operand& o : whole.operands)
                if (o.role == Role::out && (o.name != result || ops.pick(4) == 0)) kept.insert(o.name);
            whole.name = "whole";
            std::set<std::string> before;
            for (const Operand& o : whole.operands) before.insert(o.name);
            Problem next = test::compose_and_compare(whole, op, {{"x", result}}, kept, sizes);
            ++composed;
            fused += next.stages.size() == 1;
            largest = std::max(largest, next.stages.size());
            // The newest output is the last operand that is written.
            for (const Operand& o : next.operands)
                if (o.role == Role::out) result = o.name;
            whole = std::move(next);
            if (testing::Test::HasFailure()) return;
            expect_same_where_finite(whole, merge_axes(whole), sizes);
            expect_same_where_finite(whole, split_axes(whole), sizes);
            expect_same_where_finite(whole, drop_unit_axes(whole), sizes);
            expect_same_where_finite(whole, merge_axes(drop_unit_axes(split_axes(whole))), sizes);
            if (testing::Test::HasFailure()) return;
            if (whole.stages.size() > 8) break;
        }
    }
    EXPECT_GE(composed, 1000U);
    EXPECT_GE(fused, 200U);
    EXPECT_LE(largest, 16U);
}

} // namespace
} // namespace codetta::problem
