// Every template on a list of Problems: the tile interpreter's result against the Problem interpreter's in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "codetta/base/target.h"
#include "codetta/kernels/template.h"
#include "codetta/kernels/test_cases.h"
#include "codetta/problem/interpret.h"
#include "codetta/problem/test_data.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/evaluate.h"
#include "codetta/scalar/host_array.h"
#include "codetta/targets/list.h"
#include "codetta/tile/interpret.h"
#include "codetta/tile/verify.h"

namespace codetta::kernels {
namespace {

using scalar::DType;
using scalar::HostArray;

HostArray flat(const HostArray& a) {
    int64_t elements = a.size() == 0 ? 0 : 1;
    for (size_t d = 0; d < a.extents().size() && elements; ++d) elements += (a.extents()[d] - 1) * a.strides()[d];
    return HostArray::borrow(a.dtype(), {elements}, {1}, a.data());
}

void run(const problem::Problem& p, const Candidate& c, const std::vector<HostArray>& arrays, const sym::Bindings& sizes) {
    const tile::AtomSet atoms = targets::atoms();
    for (const Variant& v : c.variants) {
        if (!std::all_of(v.guard.begin(), v.guard.end(), [&](const sym::Condition& g) { return sym::evaluate(g, sizes); })) continue;
        std::vector<std::vector<int64_t>> memory;
        for (const Temporary& t : v.temporaries) // as left by whoever had the memory before: NaN
            memory.emplace_back(static_cast<size_t>(sym::evaluate(t.bytes, sizes) / 8 + 1), -1);
        for (const Kernel& k : v.kernels) {
            tile::verify(k.program, atoms);
            EXPECT_EQ(tile::to_string(tile::parse_program(tile::to_string(k.program))), tile::to_string(k.program));
            tile::Arguments arguments;
            for (size_t i = 0; i < k.pointers.size(); ++i) {
                const PointerArgument& a = k.pointers[i];
                if (a.to == PointerArgument::To::operand)
                    arguments.pointers.push_back(flat(arrays[a.index]));
                else {
                    const DType t = k.program.buffers[i].dtype;
                    arguments.pointers.push_back(HostArray::borrow(t, {static_cast<int64_t>(memory[a.index].size()) * 8 / scalar::bytes(t)},
                                                                   {1}, memory[a.index].data()));
                }
            }
            for (const sym::Expr& e : k.integers) arguments.integers.push_back(sym::evaluate(e, sizes));
            ASSERT_EQ(tile::interpret(k.program, atoms, arguments), 0) << p.name;
        }
        return;
    }
    FAIL() << "no variant holds";
}

void check(const Case& c, const Template& t, const BuildContext& context) {
    const problem::Problem p = problem::parse_problem(c.text);
    problem::verify(p);
    const base::Verdict matches = t.match(p, context);
    if (!matches) return;
    SCOPED_TRACE(std::string(c.name) + " by " + t.name + " on " + context.target->name);
    const Candidate candidate = t.build(p, context);
    for (const sym::Bindings& sizes : c.sizes) {
        std::vector<HostArray> wanted, got = problem::test_data(p, sizes);
        for (size_t i = 0; i < got.size(); ++i) wanted.push_back(p.operands[i].role == problem::Role::in ? got[i] : got[i].clone());
        problem::interpret(p, wanted, sizes);
        run(p, candidate, got, sizes);
        for (size_t i = 0; i < got.size(); ++i) {
            if (p.operands[i].role == problem::Role::in) continue;
            const double tolerance = p.operands[i].dtype == DType::bf16 ? 1e-2 : 2e-5;
            scalar::for_each_coordinate(got[i].extents(), [&](std::span<const int64_t> at) {
                const double g = scalar::as_double(got[i].load(at)), w = scalar::as_double(wanted[i].load(at));
                if (std::isinf(w))
                    EXPECT_EQ(g, w);
                else
                    EXPECT_NEAR(g, w, tolerance * (1 + std::abs(w))) << p.operands[i].name << " at " << at[0];
            });
        }
    }
}

TEST(Kernels, EveryTemplateComputesEveryProblemItMatches) {
    for (const char* target : {"x86_avx2", "x86_avx512", "x86_amx"}) {
        base::Target machine = base::make_target(target);
        if (machine.vector_bits == 512) machine.features.insert("avx512_bf16");
        const BuildContext context{&machine, {}, 1};
        for (const Case& c : test_cases())
            for (const Template& t : list()) check(c, t, context);
    }
}

void expect_first(const char* target, const std::map<std::string, std::string, std::less<>>& meant) {
    SCOPED_TRACE(target);
    const base::Target machine = base::make_target(target);
    const BuildContext context{&machine, {}, 1};
    for (const Case& c : test_cases()) {
        const problem::Problem p = problem::parse_problem(c.text);
        std::string first, reasons;
        for (const Template& t : list()) {
            const base::Verdict matches = t.match(p, context);
            if (!matches)
                reasons += t.name + ": " + matches.reason() + "; ";
            else if (first.empty())
                first = t.name;
        }
        const auto wanted = meant.find(c.name);
        EXPECT_EQ(first, wanted == meant.end() ? "nest" : wanted->second) << c.name << " " << reasons;
    }
}

TEST(Kernels, TheFirstTemplateThatMatchesIsTheOneMeant) {
    std::map<std::string, std::string, std::less<>> meant = {{"attention", "attention"}, {"attention_bf16", "attention"}};
    for (const char* name : {"product", "linear_gelu_frozen", "few_rows", "few_rows_bf16", "dots_bf16", "long_sum_in_parts", "product_bf16",
                             "product_bf16_frozen", "long_sum", "batched_nn", "tiles_frozen", "tiles_whole", "tiles_deep",
                             "tiles_as_they_lie", "tiles_of_columns", "tiles_turned", "tiles_batched"})
        meant[name] = "gemm";
    expect_first("x86_avx512", meant);
    for (const char* name : {"few_rows_bf16", "product_bf16", "product_bf16_frozen", "tiles_frozen", "tiles_whole", "tiles_deep",
                             "tiles_as_they_lie", "tiles_of_columns", "tiles_turned", "tiles_batched"})
        meant[name] = "gemm_amx";
    expect_first("x86_amx", meant);
}

} // namespace
} // namespace codetta::kernels
