#include "codetta/kernels/attention/template.h"
#include "codetta/kernels/gemm/amx.h"
#include "codetta/kernels/gemm/x86.h"
#include "codetta/kernels/nest/template.h"
#include "codetta/kernels/reference/template.h"
#include "codetta/kernels/template.h"

namespace codetta::kernels {

std::vector<Template> list() { return {gemm::x86_amx(), gemm::x86(), attention::x86(), nest::make(), reference::make()}; }

} // namespace codetta::kernels
