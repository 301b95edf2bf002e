// The Python module _codetta, one small file per room. Each file defines one bind_<room>, declared here and called in module.cpp.
#pragma once

#include <nanobind/nanobind.h>

namespace codetta::python {

void bind_base(nanobind::module_& module);
void bind_aten(nanobind::module_& module);
void bind_segment(nanobind::module_& module);
void bind_runtime(nanobind::module_& module);

} // namespace codetta::python
