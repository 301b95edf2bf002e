// Integer expressions compiled for the interpreter: names become slots, an expression a short postfix program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codetta/sym/condition.h"

namespace codetta::tile::interpreter {

class SlotTable {
public:
    uint32_t slot(const std::string& name) { return slots_.emplace(name, static_cast<uint32_t>(slots_.size())).first->second; }
    uint32_t hidden() { return slot("$" + std::to_string(slots_.size())); }
    size_t size() const { return slots_.size(); }
    const std::map<std::string, uint32_t, std::less<>>& all() const { return slots_; }

private:
    std::map<std::string, uint32_t, std::less<>> slots_;
};

class Code {
public:
    Code() : Code(sym::Expr(0), nullptr) {}
    Code(const sym::Expr& e, SlotTable* slots);
    int64_t run(const int64_t* slots) const;
    const std::vector<uint32_t>& reads() const { return reads_; } // slots

private:
    enum class Op : uint8_t { literal, slot, add, mul, floor_div, mod, min, max };
    struct Step {
        Op op;
        int64_t value;
    };
    void compile(const sym::Expr& e, SlotTable* slots);
    std::vector<Step> steps_;
    std::vector<uint32_t> reads_;
};

struct Test {
    sym::Relation relation = sym::Relation::eq;
    Code lhs, rhs;
    bool run(const int64_t* slots) const;
};

} // namespace codetta::tile::interpreter
