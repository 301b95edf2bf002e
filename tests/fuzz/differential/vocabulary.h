// What the generator and the judge know of single ops beyond their entries.
#pragma once

#include <string_view>

#include "codetta/graph/op_def.h"

namespace codetta::test {

// Results jump where these meet rounded operands, so their float operands are values that nothing has rounded.
bool is_jumping(std::string_view op);
// Results are elements of the operands, bit by bit.
bool is_copying(std::string_view op);
// Their operands' sizes hang together in ways that their rules do not check: only dtypes and values vary.
bool sizes_belong_together(std::string_view op);
// A relative error of its operands may come out many times larger: centred rows are divided by their deviation, exponentials differ.
bool is_sensitive(const graph::OpDef& op);

} // namespace codetta::test
