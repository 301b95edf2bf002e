// Random graphs: the interpreters (in double; with every rounding) against compiled code on every target that this machine runs.
//   differential --seeds 1..5000 [--target x86_avx2] [--minutes 30] [--print SEED] [--in-process]
// Each graph runs in a process of its own, so that a crash is one failure more. Prints the seed, the text (made as small as it goes) and
// the cause of each failure, then how often every op met every dtype; returns 1 when anything failed.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/list.h"
#include "tests/fuzz/random_graph.h"
#include "tests/support/run_graph.h"

namespace codetta::test {
namespace {

using scalar::DType;
using scalar::HostArray;

constexpr size_t dtypes = scalar::kDTypes.size();
constexpr unsigned seconds_per_graph = 120;

// Shared by the processes.
struct Tally {
    uint64_t graphs, nodes, calls, compared, refused, symbolic, strided, empty, aliased, in_place, frozen, on_reference;
    uint64_t of_op[512][dtypes];
};

struct Failure {
    std::string kind, text; // kind: what shrinking must keep
};

enum class Sort : uint8_t { finite, infinite, negative_infinite, nan };
Sort sort_of(double v) {
    return std::isnan(v) ? Sort::nan : !std::isinf(v) ? Sort::finite : v > 0 ? Sort::infinite : Sort::negative_infinite;
}

// got against the value in double; `rounded` shows how far rounding alone may go.
std::optional<std::string> differs(const HostArray& got, const HostArray& exact, const HostArray& rounded, double unit) {
    if (got.extents() != exact.extents()) return "another shape";
    const DType t = got.dtype();
    double worst_rounded = 0, squares = 0;
    size_t count = 0;
    scalar::for_each_coordinate(got.extents(), [&](std::span<const int64_t> at) {
        if (!scalar::is_float(t)) return;
        const double e = exact.load(at).f, r = rounded.load(at).f;
        if (!std::isfinite(e) || !std::isfinite(r)) return;
        worst_rounded = std::max(worst_rounded, std::fabs(e - r));
        squares += e * e;
        ++count;
    });
    const double rms = count ? std::sqrt(squares / static_cast<double>(count)) : 0;
    std::optional<std::string> result;
    scalar::for_each_coordinate(got.extents(), [&](std::span<const int64_t> at) {
        if (result) return;
        const scalar::Scalar g = got.load(at), e = exact.load(at), r = rounded.load(at);
        bool same = true;
        if (!scalar::is_float(t))
            same = g.i == scalar::as_integer(e) || g.i == r.i;
        else if (sort_of(e.f) != sort_of(r.f))
            return; // rounding decides
        else if (!std::isfinite(e.f))
            same = sort_of(g.f) == sort_of(e.f);
        else
            same = std::isfinite(g.f) && std::fabs(g.f - e.f) <= 8 * worst_rounded + 16 * unit * (std::fabs(e.f) + std::max(rms, 1.0));
        if (same) return;
        std::string place;
        for (const int64_t i : at) place += (place.empty() ? "" : ", ") + std::to_string(i);
        result = scalar::is_float(t) ? fmt::format("[{}] is {}, must be {} (with roundings {}, tolerance {})", place, g.f, e.f, r.f,
                                                   8 * worst_rounded + 16 * unit * (std::fabs(e.f) + std::max(rms, 1.0)))
                                     : fmt::format("[{}] is {}, must be {}", place, g.i, scalar::as_integer(e));
    });
    return result;
}

std::vector<int64_t> size_arguments(const graph::Graph& g, const sym::Bindings& sizes) {
    std::vector<int64_t> result;
    for (const std::string& s : g.size_arguments) result.push_back(sizes.at(s));
    return result;
}

struct Interpreted {
    std::vector<HostArray> arguments, outputs;
    std::string index_error;
};

Interpreted interpreted(const RandomGraph& g, const graph::OpSet& ops, const sym::Bindings& sizes, uint64_t seed, bool exact) {
    Interpreted result;
    result.arguments = make_arguments(g, sizes, seed);
    try {
        result.outputs = graph::interpret(g.graph, ops, result.arguments, size_arguments(g.graph, sizes), exact);
    } catch (const base::IndexError& e) {
        result.index_error = e.message();
    }
    return result;
}

std::optional<Failure> run_on(const RandomGraph& g, const graph::OpSet& ops, const base::Target& target, uint64_t seed, Tally* tally) {
    std::string stage = "compile";
    try {
        compile::Report report;
        const runtime::Executable executable = compile::compile(g.graph, ops, target, {}, {}, &report);
        if (tally) tally->on_reference += report.on_reference;
        for (const sym::Bindings& sizes : g.runs) {
            stage = "interpret";
            const Interpreted exact = interpreted(g, ops, sizes, seed, true), rounded = interpreted(g, ops, sizes, seed, false);
            std::string at;
            for (const auto& [name, n] : sizes) at += fmt::format(" {}={}", name, n);
            stage = "call";
            const std::vector<HostArray> arguments = make_arguments(g, sizes, seed);
            HostOutputs memory;
            std::vector<HostArray> got;
            try {
                got = call(executable, arguments, size_arguments(g.graph, sizes), memory);
            } catch (const base::IndexError& e) {
                if (rounded.index_error.empty()) return Failure{"index", fmt::format("call{}: {}", at, e.what())};
                continue;
            }
            if (!rounded.index_error.empty())
                return Failure{"no index error", fmt::format("call{}: must fail: {}", at, rounded.index_error)};
            if (tally) ++tally->calls;
            for (size_t i = 0; i < got.size(); ++i) {
                const graph::Output& o = g.graph.outputs[i];
                double unit = 0;
                if (o.kind != graph::Output::Kind::size) {
                    const graph::Value& v = g.graph.value(o.value);
                    const auto it = g.unit.find(v.name);
                    unit = std::max(rounding_unit(v.type.dtype), it == g.unit.end() ? 0 : it->second);
                }
                if (const auto why = differs(got[i], exact.outputs[i], rounded.outputs[i], unit))
                    return Failure{"value", fmt::format("call{}: output {}{}", at, i, *why)};
                if (tally) ++tally->compared;
            }
            for (size_t i = 0; i < arguments.size(); ++i)
                if (const auto why = differs(arguments[i], exact.arguments[i], rounded.arguments[i], 0x1p-8))
                    return Failure{"argument", fmt::format("call{}: argument {}{}", at, i, *why)};
        }
    } catch (const std::exception& e) {
        std::string kind = stage + std::string(": ") + e.what();
        return Failure{kind.substr(0, kind.find_first_of("0123456789%")), kind};
    }
    return std::nullopt;
}

// g with only these outputs, what they need and the nodes that write in place; values in `given` come from outside.
std::optional<RandomGraph> part(const RandomGraph& g, const graph::OpSet& ops, const std::vector<graph::Output>& outputs,
                                const std::vector<bool>& without) {
    const graph::Graph& old = g.graph;
    std::vector<bool> needed(old.values.size(), false);
    for (const graph::Output& o : outputs)
        if (o.kind != graph::Output::Kind::size) needed[o.value.value] = true;
    std::vector<bool> keep(old.nodes.size(), false);
    for (size_t i = old.nodes.size(); i-- > 0;) {
        const graph::Node& n = old.nodes[i];
        for (const graph::ValueId v : n.outputs) keep[i] = keep[i] || needed[v.value];
        keep[i] = (keep[i] || n.into) && !without[i];
        if (keep[i])
            for (const auto& v : n.inputs)
                if (v) needed[v->value] = true;
        if (keep[i] && n.into) needed[n.into->value] = true;
    }
    RandomGraph result = g;
    graph::Graph small;
    small.name = old.name, small.facts = old.facts, small.size_arguments = old.size_arguments;
    std::vector<std::optional<graph::ValueId>> now(old.values.size());
    const auto take = [&](graph::ValueId v) {
        now[v.value] = graph::ValueId(small.values.size());
        small.values.push_back(old.value(v));
        return *now[v.value];
    };
    for (graph::Input input : old.inputs)
        if (needed[input.value.value]) {
            input.value = take(input.value);
            small.inputs.push_back(input);
        }
    for (size_t i = 0; i < old.nodes.size(); ++i)
        if (!keep[i])
            for (const graph::ValueId v : old.nodes[i].outputs)
                if (needed[v.value]) {
                    small.inputs.push_back({take(v), graph::InputKind::argument, false, std::nullopt});
                    if (!scalar::is_float(old.type(v).dtype)) result.plans[old.value(v).name] = {0, 2, false, {}};
                }
    for (size_t i = 0; i < old.nodes.size(); ++i) {
        if (!keep[i]) continue;
        graph::Node n = old.nodes[i];
        for (auto& v : n.inputs)
            if (v) v = now[v->value];
        for (graph::ValueId& v : n.outputs) v = take(v);
        if (n.into) n.into = now[n.into->value];
        small.nodes.push_back(std::move(n));
    }
    for (graph::Output o : outputs) {
        if (o.kind != graph::Output::Kind::size) o.value = *now[o.value.value];
        if (o.kind == graph::Output::Kind::value && graph::find_input(small, o.value)) o.kind = graph::Output::Kind::input;
        small.outputs.push_back(o);
    }
    result.graph = std::move(small);
    try {
        graph::verify(result.graph, ops);
    } catch (const std::exception&) {
        return std::nullopt;
    }
    return result;
}

RandomGraph shrunk(RandomGraph g, const graph::OpSet& ops, const base::Target& target, uint64_t seed, Failure& failure) {
    const auto start = std::chrono::steady_clock::now();
    for (bool smaller = true; smaller;) {
        smaller = false;
        const auto attempt = [&](const std::vector<graph::Output>& outputs, const std::vector<bool>& without) {
            if (std::chrono::steady_clock::now() - start > std::chrono::seconds(60)) return false;
            const auto candidate = part(g, ops, outputs, without);
            if (!candidate || (candidate->graph.nodes.size() >= g.graph.nodes.size() && outputs.size() >= g.graph.outputs.size()))
                return false;
            const auto still = run_on(*candidate, ops, target, seed, nullptr);
            if (!still || still->kind != failure.kind) return false;
            g = *candidate, failure = *still;
            return smaller = true;
        };
        const std::vector<bool> none(g.graph.nodes.size(), false);
        for (size_t o = 0; o < g.graph.outputs.size() && !smaller && g.graph.outputs.size() > 1; ++o)
            if (!attempt({g.graph.outputs[o]}, none) && !smaller) {
                std::vector<graph::Output> fewer = g.graph.outputs;
                fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(o));
                attempt(fewer, none);
            }
        for (size_t n = 0; n < g.graph.nodes.size() && !smaller; ++n) {
            std::vector<bool> without = none;
            without[n] = true;
            attempt(g.graph.outputs, without);
        }
    }
    return g;
}

void count(const RandomGraph& g, const graph::OpSet& ops, Tally& tally) {
    ++tally.graphs;
    tally.nodes += g.graph.nodes.size();
    tally.refused += g.refused;
    tally.symbolic += !g.graph.size_arguments.empty();
    bool strided = false, empty = false, aliased = false, in_place = false, frozen = false;
    for (const graph::Input& i : g.graph.inputs) {
        strided = strided || !graph::is_contiguous(g.graph.type(i.value));
        frozen = frozen || i.frozen;
    }
    for (const auto& [name, plan] : g.plans) aliased = aliased || !plan.overlaps.empty();
    for (const graph::Value& v : g.graph.values)
        for (const sym::Bindings& sizes : g.runs)
            for (const sym::Expr& e : v.type.shape) empty = empty || sym::evaluate(e, sizes) == 0;
    for (const graph::Node& n : g.graph.nodes) {
        in_place = in_place || n.into;
        const auto op = static_cast<size_t>(ops.find(n.op) - ops.all().data());
        ++tally.of_op[op][static_cast<size_t>(g.graph.type(n.inputs.empty() || !n.inputs[0] ? n.outputs[0] : *n.inputs[0]).dtype)];
    }
    tally.strided += strided, tally.empty += empty, tally.aliased += aliased, tally.in_place += in_place, tally.frozen += frozen;
}

// True when all is well.
bool run_seed(uint64_t seed, const graph::OpSet& ops, const Templates& templates, const std::vector<base::Target>& targets, Tally& tally) {
    RandomGraph g;
    try {
        g = make_random_graph(ops, templates, seed);
        graph::verify(g.graph, ops);
    } catch (const std::exception& e) {
        std::printf("seed %llu: making: %s\n%s\n", static_cast<unsigned long long>(seed), e.what(), graph::to_string(g.graph).c_str());
        return false;
    }
    count(g, ops, tally);
    for (const base::Target& target : targets)
        if (auto failure = run_on(g, ops, target, seed, &tally)) {
            const std::string first = failure->text;
            const RandomGraph small = shrunk(g, ops, target, seed, *failure);
            std::printf("seed %llu on %s: %s\n  smaller: %s\n%s\n", static_cast<unsigned long long>(seed), target.name.c_str(),
                        first.c_str(), failure->text.c_str(), graph::to_string(small.graph).c_str());
            return false;
        }
    return true;
}

bool run_apart(uint64_t seed, const graph::OpSet& ops, const Templates& templates, const std::vector<base::Target>& targets, Tally& tally) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(seconds_per_graph);
        const bool well = run_seed(seed, ops, templates, targets, tally);
        std::fflush(stdout);
        _exit(well ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        std::string text;
        try {
            text = graph::to_string(make_random_graph(ops, templates, seed).graph);
        } catch (const std::exception& e) {
            text = e.what();
        }
        std::printf("seed %llu: signal %d (%s)\n%s\n", static_cast<unsigned long long>(seed), WTERMSIG(status), strsignal(WTERMSIG(status)),
                    text.c_str());
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void print(const Tally& t, const graph::OpSet& ops) {
    std::printf("%-30s", "op");
    for (const DType d : scalar::kDTypes) std::printf("%6s", std::string(scalar::to_string(d)).c_str());
    std::printf("\n");
    uint64_t of_dtype[dtypes] = {}, fewest = ~uint64_t{0};
    std::string rare;
    for (size_t i = 0; i < ops.all().size(); ++i) {
        uint64_t all = 0;
        std::printf("%-30s", ops.all()[i].name.c_str());
        for (size_t d = 0; d < dtypes; ++d) {
            std::printf("%6llu", static_cast<unsigned long long>(t.of_op[i][d]));
            all += t.of_op[i][d], of_dtype[d] += t.of_op[i][d];
        }
        std::printf("\n");
        if (all < fewest) fewest = all, rare = ops.all()[i].name;
    }
    std::printf("%-30s", "all");
    for (const uint64_t n : of_dtype) std::printf("%6llu", static_cast<unsigned long long>(n));
    std::printf(
        "\n%llu graphs, %llu nodes, %llu calls, %llu outputs compared, %llu regions on reference; least seen op: %s (%llu)\n"
        "graphs with symbolic sizes %llu, strided inputs %llu, empty arrays %llu, aliased inputs %llu, in place %llu, frozen %llu; nodes "
        "refused by ops %llu\n",
        static_cast<unsigned long long>(t.graphs), static_cast<unsigned long long>(t.nodes), static_cast<unsigned long long>(t.calls),
        static_cast<unsigned long long>(t.compared), static_cast<unsigned long long>(t.on_reference), rare.c_str(),
        static_cast<unsigned long long>(fewest), static_cast<unsigned long long>(t.symbolic), static_cast<unsigned long long>(t.strided),
        static_cast<unsigned long long>(t.empty), static_cast<unsigned long long>(t.aliased), static_cast<unsigned long long>(t.in_place),
        static_cast<unsigned long long>(t.frozen), static_cast<unsigned long long>(t.refused));
}

int run(int argc, char** argv) {
    uint64_t first = 1, last = 60;
    double minutes = 0;
    std::string only;
    bool apart = true, show = false;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        if (word == "--seeds") {
            const size_t dots = value.find("..");
            first = last = std::stoull(value);
            if (dots != value.npos) last = std::stoull(value.substr(dots + 2));
            ++i;
        } else if (word == "--target")
            only = value, ++i;
        else if (word == "--minutes")
            minutes = std::stod(value), ++i;
        else if (word == "--in-process")
            apart = false;
        else if (word == "--print")
            show = true;
        else {
            std::fprintf(stderr, "differential --seeds A..B [--target NAME] [--minutes M] [--in-process] [--print]\n");
            return 2;
        }
    }
    const graph::OpSet ops = ops::list();
    const Templates templates(ops);
    std::vector<base::Target> targets;
    for (const base::Target& t : runnable_targets())
        if (only.empty() || t.name == only) targets.push_back(t);
    if (targets.empty()) {
        std::fprintf(stderr, "no target '%s' on this machine\n", only.c_str());
        return 2;
    }
    void* shared = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    Tally& tally = *new (shared) Tally{};
    const auto start = std::chrono::steady_clock::now();
    uint64_t failures = 0, seed = first;
    for (; seed <= last; ++seed) {
        if (minutes > 0 && std::chrono::steady_clock::now() - start > std::chrono::duration<double>(minutes * 60)) break;
        if (show)
            std::printf("seed %llu\n%s\n", static_cast<unsigned long long>(seed),
                        graph::to_string(make_random_graph(ops, templates, seed).graph).c_str());
        failures += !(apart ? run_apart(seed, ops, templates, targets, tally) : run_seed(seed, ops, templates, targets, tally));
    }
    print(tally, ops);
    std::printf("seeds %llu..%llu: %llu failures\n", static_cast<unsigned long long>(first), static_cast<unsigned long long>(seed - 1),
                static_cast<unsigned long long>(failures));
    return failures > 0;
}

} // namespace
} // namespace codetta::test

int main(int argc, char** argv) { return codetta::test::run(argc, argv); }
