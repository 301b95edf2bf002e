#include "python/bind/bind.h"

NB_MODULE(_codetta, module) {
    using namespace codetta::python;
    module.doc() = "Codetta's compiler and runtime, as used by the package codetta.";
    nanobind::set_leak_warnings(false); // what modules hold lives until the process ends
    bind_base(module);
    bind_aten(module);
    bind_segment(module);
    bind_runtime(module);
}
