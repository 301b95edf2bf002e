// Machine-free facts of a Problem: work and traffic, as expressions of its sizes.
#pragma once

#include "codetta/problem/problem.h"

namespace codetta::problem {

struct Cost {
    sym::Expr flops;                     // primitive float operations, fma = 2
    sym::Expr bytes_read, bytes_written; // each operand element that is touched once
};
Cost cost(const Problem& p);

} // namespace codetta::problem
