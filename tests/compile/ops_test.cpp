// Every op of the vocabulary, compiled for every target that this machine runs, against the interpreter in double.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "codetta/base/error.h"
#include "codetta/ops/list.h"
#include "codetta/ops/samples.h"
#include "tests/support/run_graph.h"

namespace codetta {
namespace {

using scalar::DType;
using scalar::HostArray;

void expect_close(const HostArray& got, const HostArray& exact, const std::string& what) {
    ASSERT_EQ(got.extents(), exact.extents()) << what;
    const DType t = got.dtype();
    const double unit = t == DType::bf16 ? 0x1p-8 : t == DType::f16 ? 0x1p-11 : t == DType::f32 ? 0x1p-24 : 0x1p-53;
    scalar::for_each_coordinate(got.extents(), [&](std::span<const int64_t> at) {
        const scalar::Scalar a = got.load(at), b = exact.load(at);
        if (!scalar::is_float(t))
            EXPECT_EQ(a.i, scalar::as_integer(b)) << what;
        else if (std::isnan(b.f) || std::isinf(b.f))
            EXPECT_TRUE(std::isnan(a.f) == std::isnan(b.f) && (std::isnan(b.f) || a.f == b.f)) << what << ": " << a.f << " against " << b.f;
        else
            EXPECT_NEAR(a.f, b.f, 32 * unit * (1 + std::fabs(b.f))) << what;
    });
}

TEST(CompiledOps, EverySampleOnEveryTarget) {
    const graph::OpSet ops = ops::list();
    std::set<std::string> on_reference;
    for (const base::Target& target : test::runnable_targets())
        for (const ops::Sample& s : ops::samples(ops)) {
            SCOPED_TRACE(target.name + " " + s.op + ": " + s.text);
            try {
                const std::vector<HostArray> inputs = ops::sample_inputs(s), again = ops::sample_inputs(s);
                const std::vector<HostArray> exact = graph::interpret(s.graph, ops, again, {}, true);
                compile::Report report;
                const runtime::Executable executable = compile::compile(s.graph, target, {}, {}, &report);
                if (report.on_reference) on_reference.insert(s.op);
                test::HostOutputs memory;
                const std::vector<HostArray> got = test::call(executable, inputs, {}, memory);
                ASSERT_EQ(got.size(), exact.size());
                for (size_t i = 0; i < got.size(); ++i) expect_close(got[i], exact[i], "output " + std::to_string(i));
            } catch (const std::exception& e) {
                ADD_FAILURE() << e.what();
            }
        }
    std::string names;
    for (const std::string& op : on_reference) names += op + " ";
    std::printf("on the reference kernel: %s\n", names.c_str());
}

} // namespace
} // namespace codetta
