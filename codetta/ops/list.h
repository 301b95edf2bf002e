// The op vocabulary: one entry per op, one file per family; this list is the whole of it.
#pragma once

#include "codetta/graph/op_def.h"

namespace codetta::ops {

graph::OpSet list();

} // namespace codetta::ops
