// The page docs/options.md, made from the option table.
#pragma once

#include <string>

namespace codetta::cli {

std::string options_page();

} // namespace codetta::cli
