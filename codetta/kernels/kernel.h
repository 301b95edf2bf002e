// What a template makes of a Problem: tile programs and how each is called. Plain data; nothing is compiled yet.
#pragma once

#include <string>
#include <vector>

#include "codetta/problem/problem.h"
#include "codetta/sym/condition.h"
#include "codetta/tile/program.h"

namespace codetta::kernels {

// Memory that lives from the first kernel of a variant to its last; `lasting`: filled by a `once` kernel from frozen operands alone and
// kept between calls.
struct Temporary {
    std::string name;
    sym::Expr bytes; // of the problem's size symbols
    bool lasting = false;
};

// What the program's parameter buffer i is bound to.
struct PointerArgument {
    enum class To : uint8_t { operand, temporary } to = To::operand;
    uint32_t index = 0;
    friend bool operator==(const PointerArgument&, const PointerArgument&) = default;
};

struct Kernel {
    tile::Program program;
    std::vector<PointerArgument> pointers; // per parameter buffer of the program
    std::vector<sym::Expr> integers;       // per integer parameter: its value, of the problem's size symbols
    sym::Expr tasks;                       // how many tasks a launch has, of the problem's size symbols
    int64_t grain = 1;                     // tasks that are worth handing to a thread at once
    sym::Expr scratch_bytes;               // per thread, of the problem's size symbols
    bool once = false;                     // runs at set-up: reads frozen operands, writes lasting temporaries
};

// A Kernel from its program and bindings: tasks and scratch from the program's frame and allocs, and a name that ends in the hash of the
// text, so that equal names mean equal code. Integer parameters that the program does not use are dropped.
Kernel make_kernel(tile::Program program, std::vector<PointerArgument> pointers, std::vector<sym::Expr> integers, int64_t grain = 1);

// The kernels that compute a Problem when `guard` (a conjunction over size symbols) holds, in order.
struct Variant {
    std::vector<sym::Condition> guard;
    std::vector<Kernel> kernels;
    std::vector<Temporary> temporaries;
};

// How a Problem may be computed: tried in order; the last variant has no guard.
struct Candidate {
    std::string template_name;
    std::vector<Variant> variants;
    double estimate_us = 0; // the analytic model's time on the target for the hinted sizes
};

} // namespace codetta::kernels
