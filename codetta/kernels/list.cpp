#include "codetta/kernels/nest/template.h"
#include "codetta/kernels/reference/template.h"
#include "codetta/kernels/template.h"

namespace codetta::kernels {

std::vector<Template> list() { return {nest::make(), reference::make()}; }

} // namespace codetta::kernels
