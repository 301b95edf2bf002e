// The generated pages of the documentation.
#pragma once

#include <string>

#include "codetta/graph/op_def.h"

namespace codetta::cli {

std::string ops_page(const graph::OpSet& ops); ///< docs/ops.md
std::string options_page();                    ///< docs/options.md

} // namespace codetta::cli
