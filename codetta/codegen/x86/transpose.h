// A block of 32-bit elements turned in registers.
#pragma once

#include "codetta/codegen/ir.h"

#include <functional>
#include <vector>

namespace codetta::codegen::x86 {

/// `chunk(r, q)` gives the four elements 4q .. 4q+3 of row r, for `rows` (8 or 16) rows; the result is `columns` (a multiple of 4) vectors of `rows` lanes.
/// Loads of 128 bits put row r, r+4, ... into the lanes of one vector, so that two shuffle stages inside lanes finish the work.
/// @post result[c] lane r == element c of row r
std::vector<llvm::Value*> transpose(Ir& ir, int rows, int columns, const std::function<llvm::Value*(int row, int quarter)>& chunk);

} // namespace codetta::codegen::x86
