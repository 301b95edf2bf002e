// The written contract of tile programs, checked at the border to codegen and by every kernel's test.
#pragma once

#include "codetta/tile/atom.h"

namespace codetta::tile {

// Names defined once and before use; views inside static buffers; fragment shapes agree; atoms exist, match their operands' spaces, dtypes
// and shapes, and their features are in `required`; parameters not marked written are not written; roles do not overlap. InternalError
// naming the statement's text.
void verify(const Program& p, const AtomSet& atoms);

} // namespace codetta::tile
