// Parsing of one stage's line, for the parser and for the printer, which makes sure that what it writes reads back. Inside problem/.
#pragma once

#include "codetta/problem/problem.h"
#include "codetta/scalar/lexer.h"

namespace codetta::problem {

// Reads the line of a stage. Operands, axes and earlier stages (those before `stage_count`) are looked up in `p`.
Stage parse_stage(scalar::Lexer& lexer, const Problem& p, size_t stage_count);

// Whether the line gives p.stages[number] again.
bool reads_back(std::string_view line, const Problem& p, size_t number);

} // namespace codetta::problem
