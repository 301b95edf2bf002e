// What the whole process shares: packed weights, and the machine's limits.
#include "codetta/runtime/context.h"
#include "codetta/runtime/machine_peak.h"
#include "python/bind/bind.h"

#include <nanobind/stl/string_view.h>

#include <string_view>

namespace nb = nanobind;

namespace codetta::python {

void bind_runtime(nb::module_& module) {
    module.def(
        "refresh", [] { runtime::Context::shared()->refresh_prepared(); },
        "Frozen weights are packed anew by the next call of each model that uses them.");
    module.def(
        "prepared_bytes", [] { return runtime::Context::shared()->prepared_bytes(); }, "Bytes of packed weights that some model holds.");
    module.def(
        "peak_flops",
        [](std::string_view dtype, int threads) {
            return runtime::peak_flops(runtime::Context::shared()->pool(), scalar::parse_dtype(dtype), threads);
        },
        nb::arg("dtype"), nb::arg("threads"), nb::call_guard<nb::gil_scoped_release>(),
        "Operations per second of multiply-adds in registers, measured now.");
    module.def(
        "read_bandwidth",
        [](int64_t bytes, int threads) { return runtime::read_bandwidth(runtime::Context::shared()->pool(), bytes, threads); },
        nb::arg("bytes"), nb::arg("threads"), nb::call_guard<nb::gil_scoped_release>(),
        "Bytes per second of a loop that only reads, measured now.");
}

} // namespace codetta::python
