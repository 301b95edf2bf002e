// Many expressions compiled to one straight program over an array of int64, for the run time's hot path: no maps, no strings, no
// allocation.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "codetta/sym/condition.h"

namespace codetta::sym {

// A frame is an array of frame_size() values that the caller owns and may reuse: the inputs first, in the order given at construction, then
// the program's own.
//   FlatProgram program({"s0", "s1"}, exprs);
//   frame[0] = 3; frame[1] = 5; program.evaluate(frame); ... frame[program.output(i)]
// @post after evaluate(frame): frame[output(i)] == evaluate(exprs[i], inputs); a condition gives 0 or 1
class FlatProgram {
public:
    FlatProgram() = default;
    // An expression with a symbol that is not among the inputs is an InternalError.
    FlatProgram(std::vector<std::string> inputs, std::span<const Expr> exprs, std::span<const Condition> conditions = {});

    const std::vector<std::string>& inputs() const { return inputs_; }
    size_t output_count() const { return outputs_.size(); } // exprs, then conditions
    size_t frame_size() const { return frame_size_; }
    uint32_t output(size_t i) const { return outputs_[i]; } // its place in the frame

    // Division by zero and overflow: InternalError. Writes every place of the frame behind the inputs.
    void evaluate(std::span<int64_t> frame) const;
    // Convenience off the hot path: input values in, output values out.
    std::vector<int64_t> evaluate(const std::vector<int64_t>& input_values) const;

private:
    enum class Op : uint8_t { literal, add, mul, floor_div, mod, min, max, eq, ne, lt, le };
    struct Instruction {
        Op op;
        uint32_t dst, lhs, rhs; // places; literal: lhs indexes literals_
    };
    struct Builder;

    std::vector<std::string> inputs_;
    std::vector<Instruction> instructions_;
    std::vector<int64_t> literals_;
    std::vector<uint32_t> outputs_;
    size_t frame_size_ = 0;
};

} // namespace codetta::sym
