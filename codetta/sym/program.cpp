#include "codetta/sym/program.h"

#include <algorithm>
#include <unordered_map>

#include "codetta/base/error.h"
#include "codetta/sym/node.h"

namespace codetta::sym {

// Gives each distinct subexpression one place in the frame.
struct FlatProgram::Builder {
    FlatProgram& program;
    std::unordered_map<Expr, uint32_t> places;

    uint32_t emit(Op op, uint32_t lhs, uint32_t rhs) {
        uint32_t dst = static_cast<uint32_t>(program.frame_size_++);
        program.instructions_.push_back({op, dst, lhs, rhs});
        return dst;
    }

    uint32_t place(const Expr& e) {
        if (auto found = places.find(e); found != places.end()) return found->second;
        uint32_t result = 0;
        if (auto value = e.constant()) {
            program.literals_.push_back(*value);
            result = emit(Op::literal, static_cast<uint32_t>(program.literals_.size() - 1), 0);
        } else {
            CODETTA_CHECK(e.kind() != Kind::symbol, "symbol {} is not an input of the program", e.name());
            std::span<const Expr> operands = e.operands();
            result = place(operands[0]);
            for (const Expr& operand : operands.subspan(1)) {
                uint32_t rhs = place(operand);
                result = emit(op_of(e.kind()), result, rhs);
            }
        }
        places.emplace(e, result);
        return result;
    }

    static Op op_of(Kind kind) {
        switch (kind) {
        case Kind::add: return Op::add;
        case Kind::mul: return Op::mul;
        case Kind::floor_div: return Op::floor_div;
        case Kind::mod: return Op::mod;
        case Kind::min: return Op::min;
        case Kind::max: return Op::max;
        case Kind::constant:
        case Kind::symbol: break;
        }
        CODETTA_CHECK(false, "not an operation");
    }

    static Op op_of(Relation relation) {
        switch (relation) {
        case Relation::eq: return Op::eq;
        case Relation::ne: return Op::ne;
        case Relation::lt: return Op::lt;
        case Relation::le: return Op::le;
        }
        CODETTA_CHECK(false, "not a relation");
    }
};

FlatProgram::FlatProgram(std::vector<std::string> inputs, std::span<const Expr> exprs, std::span<const Condition> conditions)
    : inputs_(std::move(inputs)), frame_size_(inputs_.size()) {
    Builder builder{*this, {}};
    for (size_t i = 0; i < inputs_.size(); ++i) builder.places.emplace(Expr::symbol(inputs_[i]), static_cast<uint32_t>(i));
    for (const Expr& e : exprs) outputs_.push_back(builder.place(e));
    for (const Condition& c : conditions) {
        uint32_t lhs = builder.place(c.lhs), rhs = builder.place(c.rhs);
        outputs_.push_back(builder.emit(Builder::op_of(c.relation), lhs, rhs));
    }
}

void FlatProgram::evaluate(std::span<int64_t> frame) const {
    CODETTA_CHECK(frame.size() >= frame_size_, "a frame of {} places where {} are needed", frame.size(), frame_size_);
    int64_t* at = frame.data();
    for (const Instruction& i : instructions_) {
        switch (i.op) {
        case Op::literal: at[i.dst] = literals_[i.lhs]; break;
        case Op::add: at[i.dst] = checked_add(at[i.lhs], at[i.rhs]); break;
        case Op::mul: at[i.dst] = checked_mul(at[i.lhs], at[i.rhs]); break;
        case Op::floor_div: at[i.dst] = floor_div_int(at[i.lhs], at[i.rhs]); break;
        case Op::mod: at[i.dst] = mod_int(at[i.lhs], at[i.rhs]); break;
        case Op::min: at[i.dst] = std::min(at[i.lhs], at[i.rhs]); break;
        case Op::max: at[i.dst] = std::max(at[i.lhs], at[i.rhs]); break;
        case Op::eq: at[i.dst] = at[i.lhs] == at[i.rhs]; break;
        case Op::ne: at[i.dst] = at[i.lhs] != at[i.rhs]; break;
        case Op::lt: at[i.dst] = at[i.lhs] < at[i.rhs]; break;
        case Op::le: at[i.dst] = at[i.lhs] <= at[i.rhs]; break;
        }
    }
}

std::vector<int64_t> FlatProgram::evaluate(const std::vector<int64_t>& input_values) const {
    CODETTA_CHECK(input_values.size() == inputs_.size(), "{} values for {} inputs", input_values.size(), inputs_.size());
    std::vector<int64_t> frame(frame_size_);
    std::copy(input_values.begin(), input_values.end(), frame.begin());
    evaluate(std::span(frame));
    std::vector<int64_t> result;
    for (uint32_t place : outputs_) result.push_back(frame[place]);
    return result;
}

} // namespace codetta::sym
