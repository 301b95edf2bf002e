#include "codetta/cli/tables.h"

#include <fmt/format.h>

#include <map>

#include "codetta/base/options.h"

namespace codetta::cli {

namespace {

std::string cell(std::string_view text) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
    return escaped;
}

} // namespace

std::string ops_page(const graph::OpSet& ops) {
    std::string page = "# The ops\n\nMade from the entries in `codetta/ops` by `codetta ops --markdown`; don't edit. "
                       "How a signature reads is told in `codetta/graph/signature.h`.\n";
    std::map<graph::OpKind, std::string> by_kind;
    for (const graph::OpDef& op : ops.all())
        by_kind[op.kind] += fmt::format("| `{}` | `{}` | {}{} |\n", op.name, cell(op.signature), cell(op.summary), op.decompose ? " *In terms of others.*" : "");
    for (const auto& [kind, rows] : by_kind) page += fmt::format("\n## {}\n\n| op | signature | what it is |\n|---|---|---|\n{}", graph::to_string(kind), rows);
    return page;
}

std::string options_page() {
    return "# The options\n\nMade from the table in `codetta/base/options.cpp` by `codetta options --markdown`; don't edit. "
           "An option's name is the key of `torch.compile(options=...)` and of C++'s `compile(...)`.\n\n" +
           base::print_options_table();
}

} // namespace codetta::cli
