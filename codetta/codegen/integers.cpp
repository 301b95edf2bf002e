#include "codetta/codegen/integers.h"

#include "codetta/base/error.h"

#include <algorithm>

namespace codetta::codegen {

using sym::Expr;
using sym::Kind;

Integers::Integers(Ir& ir, sym::Facts facts) : ir_(ir), facts_(std::move(facts)) { scopes_.emplace_back(); }

void Integers::leave() {
    Scope& scope = scopes_.back();
    for (const auto& name : scope.defined) definitions_.erase(name);
    for (const auto& name : scope.fixed) fixed_.erase(name);
    assumptions_.resize(assumptions_.size() - scope.assumed);
    scopes_.pop_back();
}

void Integers::define(const std::string& name, llvm::Value* value, sym::Range range, int64_t multiple) {
    definitions_[name] = {value, static_cast<int>(scopes_.size())};
    scopes_.back().defined.push_back(name);
    facts_.set_range(name, range);
    if (multiple > 1) facts_.set_multiple(name, multiple);
}

void Integers::define_variable(const std::string& name, llvm::Value* slot, sym::Range range) {
    define(name, slot, range);
    definitions_[name].variable = true;
    definitions_[name].depth = 1 << 20;
    ++variables_;
}

llvm::Value* Integers::variable(const std::string& name) const {
    const auto found = definitions_.find(name);
    CODETTA_CHECK(found != definitions_.end() && found->second.variable, "'{}' is not a variable", name);
    return found->second.value;
}

bool Integers::is_changeable(const Expr& e) const {
    if (variables_ == 0 || e.constant()) return false;
    if (e.kind() == Kind::symbol) {
        const auto found = definitions_.find(e.name());
        return found != definitions_.end() && found->second.variable;
    }
    for (const auto& operand : e.operands())
        if (is_changeable(operand)) return true;
    return false;
}

void Integers::fix(const std::string& name, const Expr& value) {
    fixed_.insert_or_assign(name, resolve(value));
    scopes_.back().fixed.push_back(name);
}

void Integers::assume(const sym::Condition& condition) {
    assumptions_.push_back(resolve(condition));
    ++scopes_.back().assumed;
}

Expr Integers::resolve(const Expr& e) const {
    if (fixed_.empty() || e.constant()) return e;
    return sym::substitute(e, fixed_);
}

sym::Condition Integers::resolve(const sym::Condition& c) const { return {c.relation, resolve(c.lhs), resolve(c.rhs)}; }

std::string Integers::fresh_name() { return "$" + std::to_string(fresh_++); }

// Beside the facts: a `lhs <= rhs` that is assumed here proves every `a <= b` with b - a >= rhs - lhs.
bool Integers::proves(const sym::Condition& condition) const {
    const sym::Condition c = resolve(condition);
    if (facts_.proves(c)) return true;
    if (c.relation != sym::Relation::lt && c.relation != sym::Relation::le) return false;
    const Expr wanted = c.rhs - c.lhs - (c.relation == sym::Relation::lt ? 1 : 0); // >= 0 is to be shown
    for (const auto& known : assumptions_) {
        if (known.relation == sym::Relation::ne) continue;
        const Expr given = known.rhs - known.lhs - (known.relation == sym::Relation::lt ? 1 : 0); // >= 0 (eq: == 0)
        if (facts_.range(wanted - given).lo >= 0) return true;
    }
    return false;
}

int Integers::depth(const Expr& e) const {
    if (e.constant()) return 0;
    if (e.kind() == Kind::symbol) {
        const auto found = definitions_.find(e.name());
        return found == definitions_.end() ? 0 : found->second.depth;
    }
    int deepest = 0;
    for (const auto& operand : e.operands()) deepest = std::max(deepest, depth(operand));
    return deepest;
}

// Sums and products start with what is defined farthest out, so that the loop-invariant part is one value that LICM can lift.
std::vector<Expr> Integers::outermost_first(std::span<const Expr> terms) const {
    std::vector<Expr> sorted(terms.begin(), terms.end());
    std::stable_sort(sorted.begin(), sorted.end(), [&](const Expr& a, const Expr& b) {
        const bool constant_a = a.constant().has_value(), constant_b = b.constant().has_value();
        if (constant_a != constant_b) return constant_b; // literals last: they become displacements
        return depth(a) < depth(b);
    });
    return sorted;
}

llvm::Value* Integers::emit(const Expr& e) { return emit_resolved(resolve(e)); }

llvm::Value* Integers::emit_resolved(const Expr& e) {
    if (const auto constant = e.constant()) return ir_.i64(*constant);
    if (e.kind() == Kind::symbol) {
        const auto found = definitions_.find(e.name());
        CODETTA_CHECK(found != definitions_.end(), "the name '{}' is not defined here", e.name());
        return found->second.variable ? ir_.b.CreateLoad(ir_.b.getInt64Ty(), found->second.value, e.name()) : found->second.value;
    }
    if (is_changeable(e)) return emit_new(e);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
        if (const auto found = scope->values.find(e); found != scope->values.end()) return found->second;
    llvm::Value* value = emit_new(e);
    scopes_.back().values.emplace(e, value);
    return value;
}

llvm::Value* Integers::emit_new(const Expr& e) {
    auto& b = ir_.b;
    switch (e.kind()) {
    case Kind::add: {
        // a + -1*b reads better to LLVM as a - b
        llvm::Value* sum = nullptr;
        for (const auto& term : outermost_first(e.operands())) {
            if (sum && term.kind() == Kind::mul && term.operands().back().is(-1)) {
                sum = b.CreateNSWSub(sum, emit_resolved(-term));
                continue;
            }
            llvm::Value* value = emit_resolved(term);
            sum = sum ? b.CreateNSWAdd(sum, value) : value;
        }
        return sum;
    }
    case Kind::mul: {
        llvm::Value* product = nullptr;
        for (const auto& factor : outermost_first(e.operands())) {
            llvm::Value* value = emit_resolved(factor);
            product = product ? b.CreateNSWMul(product, value) : value;
        }
        return product;
    }
    case Kind::floor_div: return emit_quotient(e, false);
    case Kind::mod: return emit_quotient(e, true);
    case Kind::min:
    case Kind::max: {
        const auto id = e.kind() == Kind::min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
        llvm::Value* result = nullptr;
        for (const auto& operand : e.operands()) {
            llvm::Value* value = emit_resolved(operand);
            result = result ? ir_.call(id, {b.getInt64Ty()}, {result, value}) : value;
        }
        return result;
    }
    case Kind::constant:
    case Kind::symbol: break;
    }
    throw base::InternalError("unknown kind of integer expression: " + sym::to_string(e));
}

llvm::Value* Integers::emit_quotient(const Expr& e, bool remainder) {
    auto& b = ir_.b;
    const Expr &numerator = e.operands()[0], &divisor = e.operands()[1];
    llvm::Value* n = emit_resolved(numerator);
    llvm::Value* d = emit_resolved(divisor);
    const auto divisor_range = facts_.range(divisor);
    const bool natural = facts_.range(numerator).lo >= 0 && divisor_range.lo >= 1;
    if (const auto constant = divisor.constant(); constant && *constant > 0 && (*constant & (*constant - 1)) == 0) {
        int shift = 0;
        while ((int64_t{1} << shift) < *constant) ++shift;
        if (remainder) return b.CreateAnd(n, ir_.i64(*constant - 1));
        return natural ? b.CreateLShr(n, static_cast<uint64_t>(shift)) : b.CreateAShr(n, static_cast<uint64_t>(shift));
    }
    if (natural) return remainder ? b.CreateURem(n, d) : b.CreateUDiv(n, d);
    // No trap on a divisor 0: such a value may be computed where it is not used.
    if (divisor_range.lo <= 0 && divisor_range.hi >= 0) d = b.CreateSelect(b.CreateICmpEQ(d, ir_.i64(0)), ir_.i64(1), d);
    llvm::Value* rest = b.CreateSRem(n, d);
    llvm::Value* other_sign = b.CreateICmpSLT(b.CreateXor(rest, d), ir_.i64(0));
    llvm::Value* below = b.CreateAnd(b.CreateICmpNE(rest, ir_.i64(0)), other_sign);
    if (remainder) return b.CreateAdd(rest, b.CreateSelect(below, d, ir_.i64(0)));
    return b.CreateSub(b.CreateSDiv(n, d), b.CreateZExt(below, b.getInt64Ty()));
}

llvm::Value* Integers::emit(const sym::Condition& condition) {
    auto& b = ir_.b;
    const sym::Condition c = resolve(condition);
    if (proves(c)) return b.getTrue();
    if (facts_.refutes(c)) return b.getFalse();
    llvm::Value *lhs = emit_resolved(c.lhs), *rhs = emit_resolved(c.rhs);
    switch (c.relation) {
    case sym::Relation::eq: return b.CreateICmpEQ(lhs, rhs);
    case sym::Relation::ne: return b.CreateICmpNE(lhs, rhs);
    case sym::Relation::lt: return b.CreateICmpSLT(lhs, rhs);
    case sym::Relation::le: return b.CreateICmpSLE(lhs, rhs);
    }
    return nullptr;
}

} // namespace codetta::codegen
