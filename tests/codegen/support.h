// Compiles a tile program, runs it in this process, and compares with the interpreter.
#pragma once

#include "codetta/base/error.h"
#include "codetta/base/kernel_signature.h"
#include "codetta/codegen/compile.h"
#include "codetta/runtime/code_loader.h"
#include "codetta/runtime/detect_machine.h"
#include "codetta/targets/list.h"
#include "codetta/tile/builder.h"
#include "codetta/tile/interpret.h"
#include "codetta/tile/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace codetta::test {

using scalar::DType;
using scalar::HostArray;
using scalar::Prim;
using sym::Expr;
using tile::Builder;
using tile::View;

/// The CPU targets that this machine can run.
inline std::vector<base::Target> runnable_targets() {
    const base::Target machine = runtime::detect_machine();
    std::vector<base::Target> result;
    for (std::string_view name : {"x86_avx2", "x86_avx512", "x86_amx"}) {
        if (!base::can_run(machine, base::make_target(name))) continue;
        result.push_back(base::select_target(machine, name));
        const std::vector<std::string> needed(result.back().features.begin(), result.back().features.end());
        runtime::ensure_features(needed);
    }
    return result;
}

inline int64_t task_count(const tile::Program& p, const std::vector<int64_t>& integers) {
    sym::Bindings values;
    for (size_t i = 0; i < p.integers.size(); ++i) values[p.integers[i]] = integers[i];
    int64_t count = 1;
    for (const auto& t : std::get<std::vector<tile::TaskIndex>>(p.frame)) count *= sym::evaluate(t.extent, values);
    return count;
}

struct Compiled {
    base::CodeImage image;
    runtime::LoadedCode code;
    codetta_kernel entry;
    int64_t scratch_bytes;
    Compiled(const tile::Program& p, const base::Target& target, const std::vector<int64_t>& integers)
        : image(codegen::compile(p, targets::atoms(), target)), code(image.bytes),
          entry(reinterpret_cast<codetta_kernel>(code.find(p.name))) {
        sym::Bindings values;
        for (size_t i = 0; i < p.integers.size(); ++i) values[p.integers[i]] = integers[i];
        scratch_bytes = sym::evaluate(tile::scratch_bytes(p), values);
    }
    int32_t run(const std::vector<void*>& pointers, const std::vector<int64_t>& integers, int64_t begin, int64_t end) {
        std::vector<std::byte> memory(static_cast<size_t>(scratch_bytes) + 64, std::byte{0xee});
        auto at = (reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64;
        int32_t status = 0;
        codetta_kernel_args args{pointers.data(), integers.data(), &status};
        entry(&args, begin, end, reinterpret_cast<void*>(at));
        return status;
    }
};

/// Runs the compiled program on copies of the arrays, in chunks of `chunk` tasks.
inline std::vector<HostArray> run_compiled(const tile::Program& p, const base::Target& target, const std::vector<HostArray>& arrays,
                                           const std::vector<int64_t>& integers, int32_t* status = nullptr, int64_t chunk = 3) {
    std::vector<HostArray> mine;
    std::vector<void*> pointers;
    for (const auto& a : arrays) mine.push_back(a.clone());
    for (const auto& a : mine) pointers.push_back(a.data());
    Compiled compiled(p, target, integers);
    EXPECT_NE(compiled.entry, nullptr) << p.name;
    const int64_t tasks = task_count(p, integers);
    for (int64_t t = 0; t < tasks; t += chunk) {
        const int32_t code = compiled.run(pointers, integers, t, std::min(tasks, t + chunk));
        if (status && code) *status = code;
    }
    return mine;
}

inline double element(const HostArray& a, int64_t i) {
    const int64_t at[] = {i};
    return scalar::as_double(a.load(at));
}

/// Every target gives what the interpreter gives, to `tolerance` relative to the largest value (0: bit for bit in value). Guard elements
/// lie around every array.
inline void expect_same(const tile::Program& p, const std::vector<HostArray>& arrays, const std::vector<int64_t>& integers,
                        double tolerance = 0) {
    tile::verify(p, targets::atoms());
    std::vector<HostArray> wanted;
    for (const auto& a : arrays) wanted.push_back(a.clone());
    const int32_t wanted_status = tile::interpret(p, targets::atoms(), {wanted, integers});
    for (const auto& target : runnable_targets()) {
        bool runs = true;
        for (const auto& feature : p.required) runs = runs && target.has(feature);
        if (!runs) continue;
        SCOPED_TRACE(p.name + " on " + target.name);
        int32_t status = 0;
        const auto got = run_compiled(p, target, arrays, integers, &status);
        EXPECT_EQ(status, wanted_status);
        for (size_t i = 0; i < arrays.size(); ++i) {
            double largest = 0;
            for (int64_t e = 0; e < wanted[i].size(); ++e)
                if (const double v = std::abs(element(wanted[i], e)); std::isfinite(v)) largest = std::max(largest, v);
            int bad = 0;
            for (int64_t e = 0; e < wanted[i].size() && bad < 5; ++e) {
                const double w = element(wanted[i], e), g = element(got[i], e);
                const bool same = (std::isnan(w) && std::isnan(g)) || w == g || std::abs(w - g) <= tolerance * largest;
                if (!same) ++bad;
                EXPECT_TRUE(same) << "array " << i << ", element " << e << ": " << g << " instead of " << w;
            }
        }
    }
}

inline HostArray random_array(DType t, int64_t size, uint32_t seed, double lo = -2, double hi = 2) {
    HostArray a(t, {size});
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> real(lo, hi);
    for (int64_t i = 0; i < size; ++i) {
        const int64_t at[] = {i};
        const double v = real(random);
        a.store(at, scalar::is_float(t) ? scalar::make_float(t, v) : scalar::make_integer(t, static_cast<int64_t>(v)));
    }
    return a;
}

} // namespace codetta::test
