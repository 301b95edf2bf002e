// Walks the vocabulary: every op has samples, and each sample builds, verifies, prints and parses back, lowers to a valid Problem and gives
// the exact value up to its rounding.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "codetta/base/error.h"
#include "codetta/ops/list.h"
#include "codetta/ops/samples.h"
#include "codetta/problem/problem.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/host_array.h"

namespace codetta::ops {
namespace {

void expect_close(const scalar::HostArray& got, const scalar::HostArray& exact, scalar::DType t, const std::string& what) {
    ASSERT_EQ(got.extents(), exact.extents()) << what;
    double unit = t == scalar::DType::bf16 ? 0x1p-8 : t == scalar::DType::f16 ? 0x1p-11 : t == scalar::DType::f32 ? 0x1p-24 : 0x1p-53;
    std::vector<int64_t> at(got.extents().size(), 0);
    for (int64_t n = got.size(); n > 0; --n) {
        scalar::Scalar a = got.load(at), b = exact.load(at);
        if (!scalar::is_float(t)) {
            ASSERT_EQ(a.i, b.i) << what;
        } else if (std::isnan(b.f) || std::isinf(b.f)) {
            ASSERT_TRUE(std::isnan(a.f) == std::isnan(b.f) && (std::isnan(b.f) || a.f == b.f)) << what << ": " << a.f << " against " << b.f;
        } else {
            ASSERT_NEAR(a.f, b.f, 16 * unit * (1 + std::fabs(b.f))) << what;
        }
        for (size_t d = at.size(); d-- > 0;) {
            if (++at[d] < got.extents()[d]) break;
            at[d] = 0;
        }
    }
}

TEST(Docs, OpsPageIsUpToDate) {
    const std::string path = CODETTA_SOURCE_DIR "/docs/ops.md";
    std::string want = "# The ops\n\nMade from codetta/ops by `CODETTA_UPDATE=1 ops_test --gtest_filter=Docs.*`; a test keeps it so.\n\n" +
                       print_ops_table(list());
    if (std::getenv("CODETTA_UPDATE")) std::ofstream(path) << want;
    std::ifstream file(path);
    std::stringstream have;
    have << file.rdbuf();
    EXPECT_EQ(have.str(), want) << "run: CODETTA_UPDATE=1 ops_test --gtest_filter=Docs.*";
}

TEST(Ops, EveryOpHasSamplesAndASummary) {
    graph::OpSet ops = list();
    for (const graph::OpDef& op : ops.all()) {
        EXPECT_FALSE(op.samples.empty()) << op.name;
        EXPECT_FALSE(op.summary.empty()) << op.name;
    }
}

TEST(Ops, SamplesBuildPrintAndParseBack) {
    graph::OpSet ops = list();
    for (const Sample& s : samples(ops)) {
        SCOPED_TRACE(s.op + ": " + s.text);
        ASSERT_NO_THROW(graph::verify(s.graph, ops));
        std::string text = graph::to_string(s.graph);
        graph::Graph parsed = graph::parse_graph(text);
        EXPECT_EQ(graph::to_string(parsed), text);
        ASSERT_NO_THROW(graph::verify(parsed, ops));
    }
}

TEST(Ops, SamplesLowerToValidProblems) {
    graph::OpSet ops = list();
    for (const Sample& s : samples(ops)) {
        if (!ops.get(s.op).lower) continue;
        SCOPED_TRACE(s.op + ": " + s.text);
        problem::Problem p = ops.lower(s.graph, s.graph.nodes[0]);
        try {
            problem::verify(p);
        } catch (const std::exception& e) {
            ADD_FAILURE() << e.what() << "\n" << problem::to_string(p);
            continue;
        }
        EXPECT_EQ(problem::parse_problem(problem::to_string(p)), p) << problem::to_string(p);
    }
}

TEST(Ops, RoundedValuesAreNearExactOnes) {
    graph::OpSet ops = list();
    for (const Sample& s : samples(ops)) {
        SCOPED_TRACE(s.op + ": " + s.text);
        std::vector<scalar::HostArray> inputs = sample_inputs(s), again = sample_inputs(s);
        std::vector<scalar::HostArray> got, exact;
        try {
            got = graph::interpret(s.graph, ops, inputs, {});
            exact = graph::interpret(s.graph, ops, again, {}, true);
        } catch (const std::exception& e) {
            ADD_FAILURE() << e.what();
            continue;
        }
        ASSERT_EQ(got.size(), s.graph.outputs.size());
        for (size_t i = 0; i < got.size(); ++i)
            expect_close(got[i], exact[i], s.graph.type(s.graph.outputs[i].value).dtype, "output " + std::to_string(i));
    }
}

} // namespace
} // namespace codetta::ops
