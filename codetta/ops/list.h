// The op vocabulary: one entry per op, one file per family; this list is the whole of it.
#pragma once

#include <string>

#include "codetta/graph/op_def.h"

namespace codetta::ops {

graph::OpSet list();

// The rows of docs/ops.md: name, signature, kind, summary. `ops_test --gtest_filter=Docs.*` says when the page is old; CODETTA_UPDATE=1
// writes it.
std::string print_ops_table(const graph::OpSet& ops);

} // namespace codetta::ops
