// Bringing the axes of a Problem into a shape that templates like. Every function keeps all values.
#pragma once

#include "codetta/problem/problem.h"

namespace codetta::problem {

// Two neighbouring axes (a outside b) that every stage has together become one, where every access stays free of `//` and `%`; operand
// dimensions that lie contiguously are merged along with them (the memory is the same, the operand's rank is not). x: [b, s, k] read by a
// linear layer becomes x: [b*s, k], and its rows one axis.
// @post same values; merge_axes(merge_axes(p)) == merge_axes(p)
Problem merge_axes(Problem p);

// An axis whose accesses speak of a // S and a % S becomes two, (a // S, a % S), where that leaves fewer of them.
// @post same values
Problem split_axes(Problem p);

// Drops axes of extent 1: their index is 0.
Problem drop_unit_axes(Problem p);

// Roundings that nobody asked for go (scalar::drop_narrowing), also between stages: a stage without a write keeps its value unrounded.
Problem drop_narrowing(Problem p);

} // namespace codetta::problem
