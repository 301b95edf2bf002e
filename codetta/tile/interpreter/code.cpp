#include "codetta/tile/interpreter/code.h"

#include "codetta/base/error.h"

namespace codetta::tile::interpreter {

using sym::Expr;
using sym::Kind;

Code::Code(const Expr& e, SlotTable* slots) { compile(e, slots); }

void Code::compile(const Expr& e, SlotTable* slots) {
    if (auto value = e.constant()) {
        steps_.push_back({Op::literal, *value});
        return;
    }
    if (e.kind() == Kind::symbol) {
        uint32_t slot = slots->slot(e.name());
        reads_.push_back(slot);
        steps_.push_back({Op::slot, slot});
        return;
    }
    Op op = Op::add;
    switch (e.kind()) {
    case Kind::mul: op = Op::mul; break;
    case Kind::floor_div: op = Op::floor_div; break;
    case Kind::mod: op = Op::mod; break;
    case Kind::min: op = Op::min; break;
    case Kind::max: op = Op::max; break;
    default: break;
    }
    bool first = true;
    for (const Expr& operand : e.operands()) {
        compile(operand, slots);
        if (!first) steps_.push_back({op, 0});
        first = false;
    }
}

int64_t Code::run(const int64_t* slots) const {
    if (steps_.size() == 1) return steps_[0].op == Op::literal ? steps_[0].value : slots[steps_[0].value];
    int64_t stack[64];
    size_t top = 0;
    for (const Step& step : steps_) {
        if (step.op <= Op::slot) {
            CODETTA_CHECK(top < 64, "an expression is too deep for the interpreter");
            stack[top++] = step.op == Op::literal ? step.value : slots[step.value];
            continue;
        }
        int64_t b = stack[--top], &a = stack[top - 1];
        switch (step.op) {
        case Op::add: CODETTA_CHECK(!__builtin_add_overflow(a, b, &a), "an integer overflows"); break;
        case Op::mul: CODETTA_CHECK(!__builtin_mul_overflow(a, b, &a), "an integer overflows"); break;
        case Op::floor_div:
        case Op::mod: {
            CODETTA_CHECK(b != 0, "a division by zero");
            int64_t quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
            a = step.op == Op::floor_div ? quotient : a - quotient * b;
            break;
        }
        case Op::min: a = std::min(a, b); break;
        case Op::max: a = std::max(a, b); break;
        default: break;
        }
    }
    return stack[0];
}

bool Test::run(const int64_t* slots) const {
    int64_t a = lhs.run(slots), b = rhs.run(slots);
    switch (relation) {
    case sym::Relation::eq: return a == b;
    case sym::Relation::ne: return a != b;
    case sym::Relation::lt: return a < b;
    case sym::Relation::le: return a <= b;
    }
    return false;
}

} // namespace codetta::tile::interpreter
