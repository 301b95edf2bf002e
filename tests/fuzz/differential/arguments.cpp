#include <cmath>
#include <random>

#include "codetta/base/hash.h"
#include "tests/fuzz/differential/random_graph.h"

namespace codetta::test {

using scalar::DType;
using scalar::HostArray;

double rounding_unit(DType t) {
    switch (t) {
    case DType::bf16: return 0x1p-8;
    case DType::f16: return 0x1p-11;
    case DType::f32: return 0x1p-24;
    case DType::f64: return 0x1p-53;
    default: return 0;
    }
}

std::vector<HostArray> make_arguments(const RandomGraph& g, const sym::Bindings& sizes, uint64_t seed) {
    std::vector<HostArray> arrays;
    std::map<std::string, HostArray> by_name;
    for (const graph::Input& input : g.graph.inputs) {
        if (input.data) continue;
        const graph::Value& v = g.graph.value(input.value);
        const auto it = g.plans.find(v.name);
        const InputPlan plan = it == g.plans.end() ? InputPlan{} : it->second;
        if (!plan.overlaps.empty() && by_name.contains(plan.overlaps[0])) {
            arrays.push_back(by_name[plan.overlaps[0]]);
            continue;
        }
        std::vector<int64_t> extents, strides;
        int64_t elements = 1;
        for (size_t d = 0; d < v.type.rank(); ++d) {
            extents.push_back(sym::evaluate(v.type.shape[d], sizes));
            strides.push_back(sym::evaluate(v.type.strides[d], sizes));
            elements = extents[d] == 0 || elements == 0 ? 0 : elements + (extents[d] - 1) * strides[d];
        }
        HostArray flat(v.type.dtype, {elements});
        std::mt19937_64 random(base::hash_combine(seed, base::hash_bytes(v.name.data(), v.name.size())));
        for (int64_t e = 0; e < elements; ++e) {
            double value = plan.lo + (plan.hi - plan.lo) * static_cast<double>(random() >> 11) * 0x1p-53;
            if (plan.special && random() % 12 == 0) value = std::vector{std::nan(""), HUGE_VAL, -HUGE_VAL, 0.0, -0.0}[random() % 5];
            const bool whole = !scalar::is_float(v.type.dtype);
            flat.store(std::vector<int64_t>{e}, whole ? scalar::make_integer(v.type.dtype, static_cast<int64_t>(std::floor(value)))
                                                      : scalar::make_float(v.type.dtype, value));
        }
        arrays.push_back(by_name[v.name] = flat.view(extents, strides, 0));
    }
    return arrays;
}

} // namespace codetta::test
