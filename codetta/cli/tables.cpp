#include "codetta/cli/tables.h"

#include "codetta/base/options.h"

namespace codetta::cli {

std::string options_page() {
    return "# The options\n\nMade from the table in `codetta/base/options.cpp` by `codetta options --markdown`; don't edit. "
           "An option's name is the key of `torch.compile(options=...)` and of C++'s `compile(...)`.\n\n" +
           base::print_options_table();
}

} // namespace codetta::cli
