// The plain loop nest of any Problem: scalar code, stage by stage. What every other kernel is checked against, and the last resort.
#pragma once

#include "codetta/kernels/template.h"

namespace codetta::kernels::reference {

Template make();

} // namespace codetta::kernels::reference
