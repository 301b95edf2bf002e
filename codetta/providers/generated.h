// The provider of Codetta's own templates (kernels/list.cpp).
#pragma once

#include "codetta/providers/provider.h"

namespace codetta::providers {

Provider generated();

} // namespace codetta::providers
