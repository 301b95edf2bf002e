#include "codetta/providers/generated.h"
#include "codetta/providers/provider.h"

namespace codetta::providers {

std::vector<Provider> list() { return {generated()}; }

} // namespace codetta::providers
