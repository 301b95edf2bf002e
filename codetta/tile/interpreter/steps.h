// A program made flat for the interpreter: a list of steps with jumps, views with compiled offsets.
#pragma once

#include <memory>
#include <optional>

#include "codetta/scalar/evaluate.h"
#include "codetta/tile/atom.h"
#include "codetta/tile/interpreter/code.h"

namespace codetta::tile::interpreter {

struct CompiledView {
    BufferId buffer;
    Code offset;
    SwizzleBits swizzle;
    std::vector<int64_t> extents;        // of all leaves
    std::vector<int64_t> mode_extents;   // of the top-level modes
    std::vector<Code> strides;           // of all leaves
    std::vector<int64_t> static_offsets; // when all strides are literals
    int64_t size = 1;
    // The offsets of all elements relative to the first one.
    const std::vector<int64_t>& offsets(const int64_t* slots, std::vector<int64_t>& room) const;
};

enum class StepKind : uint8_t {
    assign,
    loop_begin,
    loop_test,
    loop_next,
    if_begin,
    if_else,
    if_end,
    role,
    elect_begin,
    elect_end,
    statement
};

struct Step {
    StepKind kind = StepKind::statement;
    const Statement* statement = nullptr;
    uint32_t slot = 0, slot_hi = 0, slot_step = 0;
    size_t target = 0;       // where a jump goes
    std::vector<Code> codes; // assign: value (var: value, lo, hi); loop: lo, hi, step; others: in the statement's order
    std::vector<Test> tests;
    std::vector<CompiledView> views;                   // in the statement's order
    std::vector<std::pair<CompiledView, Code>> limits; // coordinate layout, limit
    std::shared_ptr<scalar::Evaluator> evaluator;
    std::vector<scalar::DType> parameter_types;
    const Atom* atom = nullptr;
    bool checked = false; // assign: codes[1] <= value < codes[2]
};

struct Steps {
    const Program* program = nullptr;
    std::vector<Step> steps;
    SlotTable slots;
    std::vector<Code> frame; // extents of the tasks, or the number of CTAs
};

Steps prepare(const Program& p, const AtomSet& atoms);

} // namespace codetta::tile::interpreter
