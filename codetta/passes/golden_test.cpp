// Runs the goldens of tests/goldens/passes: a sentence why; `passes: a, b` (or `all`); a graph; `---`; lines that must be in the print, in
// order; `not: text` must not be there. Each case must also give the same values as before the passes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "codetta/base/hash.h"
#include "codetta/ops/list.h"
#include "codetta/passes/pipeline.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"

namespace codetta::passes {
namespace {

struct Case {
    std::string name, passes, graph;
    std::vector<std::string> present, absent;
};

std::string trimmed(std::string text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.erase(text.begin());
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    return text;
}

Case read_case(const std::filesystem::path& path) {
    Case c{path.stem().string(), "", "", {}, {}};
    std::ifstream file(path);
    bool expected = false;
    for (std::string line; std::getline(file, line);) {
        if (line == "---")
            expected = true;
        else if (!expected && line.starts_with("passes:"))
            c.passes = trimmed(line.substr(7));
        else if (!expected && (!c.graph.empty() || line.starts_with("graph")))
            c.graph += line + "\n";
        else if (expected && line.starts_with("not:"))
            c.absent.push_back(trimmed(line.substr(4)));
        else if (expected && !trimmed(line).empty())
            c.present.push_back(trimmed(line));
    }
    return c;
}

std::vector<Case> cases() {
    std::vector<Case> result;
    for (const auto& entry : std::filesystem::directory_iterator(CODETTA_SOURCE_DIR "/tests/goldens/passes"))
        if (entry.path().extension() == ".txt") result.push_back(read_case(entry.path()));
    std::sort(result.begin(), result.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
    return result;
}

graph::Graph run_case(const Case& c, graph::Graph g, const graph::OpSet& ops) {
    base::Options options;
    if (c.passes == "all") return run_passes(std::move(g), ops, options);
    std::istringstream names(c.passes);
    for (std::string name; std::getline(names, name, ',');) {
        name = trimmed(name);
        if (name == "eager")
            options.numerics = base::Numerics::eager;
        else
            g = find_pass(name).run(std::move(g), ops, options);
        graph::verify(g, ops);
    }
    return g;
}

std::vector<scalar::HostArray> arguments(const graph::Graph& g, sym::Bindings sizes) {
    std::vector<scalar::HostArray> result;
    for (const graph::Input& i : g.inputs) {
        if (i.data) continue;
        const graph::TensorType& t = g.type(i.value);
        std::vector<int64_t> extents;
        for (const sym::Expr& e : t.shape) {
            for (const std::string& s : sym::symbols(e)) sizes.emplace(s, 5);
            extents.push_back(sym::evaluate(e, sizes));
        }
        scalar::HostArray a(t.dtype, extents);
        for (int64_t k = 0; k < a.size(); ++k) {
            double v = static_cast<double>(base::hash_combine(result.size() + 1, static_cast<uint64_t>(k)) >> 11) * 0x1p-53;
            scalar::HostArray flat = a.view({a.size()}, {1}, 0);
            std::vector<int64_t> at = {k};
            flat.store(at,
                       scalar::is_float(t.dtype) ? scalar::make_float(t.dtype, 2 * v - 1) : scalar::make_integer(t.dtype, v < 0.5 ? 0 : 1));
        }
        result.push_back(a);
    }
    return result;
}

void expect_same(const std::vector<scalar::HostArray>& a, const std::vector<scalar::HostArray>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(a[i].extents(), b[i].extents()) << "result " << i;
        std::vector<int64_t> at(a[i].extents().size(), 0);
        for (int64_t n = a[i].size(); n > 0; --n) {
            scalar::Scalar x = a[i].load(at), y = b[i].load(at);
            if (!scalar::is_float(x.dtype))
                ASSERT_EQ(x.i, y.i) << "result " << i;
            else if (std::isnan(x.f))
                ASSERT_TRUE(std::isnan(y.f)) << "result " << i;
            else
                ASSERT_NEAR(x.f, y.f, 1e-9 * (1 + std::fabs(x.f))) << "result " << i;
            for (size_t d = at.size(); d-- > 0;) {
                if (++at[d] < a[i].extents()[d]) break;
                at[d] = 0;
            }
        }
    }
}

TEST(PassGoldens, PrintWhatTheySay) {
    graph::OpSet ops = ops::list();
    std::vector<Case> all = cases();
    ASSERT_FALSE(all.empty());
    for (const Case& c : all) {
        SCOPED_TRACE(c.name);
        graph::Graph before = graph::parse_graph(c.graph);
        ASSERT_NO_THROW(graph::verify(before, ops));
        graph::Graph after = run_case(c, before, ops);
        std::string text = graph::to_string(after);
        size_t at = 0;
        for (const std::string& line : c.present) {
            size_t found = text.find(line, at);
            EXPECT_NE(found, std::string::npos) << "not there (or not in this order): " << line << "\n" << text;
            if (found != std::string::npos) at = found + line.size();
        }
        for (const std::string& part : c.absent)
            EXPECT_EQ(text.find(part), std::string::npos) << "should not be there: " << part << "\n" << text;
    }
}

TEST(PassGoldens, KeepTheValues) {
    graph::OpSet ops = ops::list();
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        graph::Graph before = graph::parse_graph(c.graph), after = run_case(c, before, ops);
        sym::Bindings sizes;
        std::vector<int64_t> size_arguments(before.size_arguments.size(), 5);
        for (const std::string& s : before.size_arguments) sizes[s] = 5;
        std::vector<scalar::HostArray> first = arguments(before, sizes), second = arguments(before, sizes);
        expect_same(graph::interpret(before, ops, first, size_arguments, true), graph::interpret(after, ops, second, size_arguments, true));
        expect_same(first, second); // what was written in place
    }
}

} // namespace
} // namespace codetta::passes
