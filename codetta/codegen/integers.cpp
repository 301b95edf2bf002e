#include "codetta/codegen/integers.h"

#include "codetta/base/error.h"

#include <algorithm>
#include <climits>

namespace codetta::codegen {

using sym::Expr;
using sym::Kind;

namespace {

bool in_32_bits(sym::Range r) { return r.lo >= INT32_MIN && r.hi <= INT32_MAX; }

} // namespace

Integers::Integers(Ir& ir, sym::Facts facts, bool prefers_32_bits) : ir_(ir), facts_(std::move(facts)), prefers_32_bits_(prefers_32_bits) {
    scopes_.emplace_back();
}

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
    const auto key = [&](const Expr& e) { return e.constant() ? INT_MAX : depth(e); }; // literals last: they become displacements
    std::vector<Expr> sorted;
    for (const Expr& term : terms)
        sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), key(term), [&](int k, const Expr& e) { return k < key(e); }), term);
    return sorted;
}

llvm::Value* Integers::emit(const Expr& e) { return emit_resolved(resolve(e)); }

llvm::Value* Integers::emit_i32(const Expr& e) { return emit_narrow(resolve(e)); }

llvm::IntegerType* Integers::type_for(sym::Range range) const {
    return prefers_32_bits_ && in_32_bits(range) ? ir_.b.getInt32Ty() : ir_.b.getInt64Ty();
}

bool Integers::fits_32_bits(const Expr& e) const { return in_32_bits(facts_.range(e)); }

llvm::Value* Integers::load_variable(const std::string& name, llvm::Value* slot) {
    auto* type = llvm::cast<llvm::ArrayType>(llvm::cast<llvm::AllocaInst>(slot)->getAllocatedType())->getElementType();
    llvm::Value* value = ir_.b.CreateLoad(type, slot, name);
    return ir_.b.CreateSExt(value, ir_.b.getInt64Ty());
}

llvm::Value* Integers::lookup(const Expr& e, bool narrow) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        const auto& values = narrow ? scope->narrow : scope->values;
        if (const auto found = values.find(e); found != values.end()) return found->second;
    }
    return nullptr;
}

llvm::Value* Integers::emit_resolved(const Expr& e) {
    if (const auto constant = e.constant()) return ir_.i64(*constant);
    if (e.kind() == Kind::symbol) {
        const auto found = definitions_.find(e.name());
        CODETTA_CHECK(found != definitions_.end(), "the name '{}' is not defined here", e.name());
        return found->second.variable ? load_variable(e.name(), found->second.value) : found->second.value;
    }
    const bool changeable = is_changeable(e);
    if (!changeable)
        if (llvm::Value* known = lookup(e, false)) return known;
    llvm::Value* value = nullptr;
    if (prefers_32_bits_ && fits_32_bits(e)) {
        value = emit_narrow(e);
        value =
            facts_.range(e).lo >= 0 ? ir_.b.CreateZExt(value, ir_.b.getInt64Ty(), "", true) : ir_.b.CreateSExt(value, ir_.b.getInt64Ty());
    } else {
        value = emit_new(e, false);
    }
    if (!changeable) scopes_.back().values.emplace(e, value);
    return value;
}

// The lower 32 bits of e: sums and products from those of their operands; the others in 32 bits only when operands and result fit.
llvm::Value* Integers::emit_narrow(const Expr& e) {
    if (const auto constant = e.constant()) return ir_.i32(*constant);
    auto* i32 = ir_.b.getInt32Ty();
    if (e.kind() == Kind::symbol || !prefers_32_bits_) return ir_.b.CreateTrunc(emit_resolved(e), i32);
    const bool changeable = is_changeable(e);
    if (!changeable)
        if (llvm::Value* known = lookup(e, true)) return known;
    bool direct = e.kind() == Kind::add || e.kind() == Kind::mul;
    if (!direct) {
        direct = fits_32_bits(e);
        for (const auto& operand : e.operands()) direct = direct && fits_32_bits(operand);
    }
    llvm::Value* value = direct ? emit_new(e, true) : ir_.b.CreateTrunc(emit_new(e, false), i32);
    if (!changeable) scopes_.back().narrow.emplace(e, value);
    return value;
}

llvm::Value* Integers::emit_new(const Expr& e, bool narrow) {
    auto& b = ir_.b;
    const auto operand_value = [&](const Expr& operand) { return narrow ? emit_narrow(operand) : emit_resolved(operand); };
    // Signed overflow is excluded in 64 bits alone.
    switch (e.kind()) {
    case Kind::add: {
        // a + -1*b reads better to LLVM as a - b
        llvm::Value* sum = nullptr;
        for (const auto& term : outermost_first(e.operands())) {
            if (sum && term.kind() == Kind::mul && term.operands().back().is(-1)) {
                sum = b.CreateSub(sum, operand_value(-term), "", false, !narrow);
                continue;
            }
            llvm::Value* value = operand_value(term);
            sum = sum ? b.CreateAdd(sum, value, "", false, !narrow) : value;
        }
        return sum;
    }
    case Kind::mul: {
        llvm::Value* product = nullptr;
        for (const auto& factor : outermost_first(e.operands())) {
            llvm::Value* value = operand_value(factor);
            product = product ? b.CreateMul(product, value, "", false, !narrow) : value;
        }
        return product;
    }
    case Kind::floor_div: return emit_quotient(e, false, narrow);
    case Kind::mod: return emit_quotient(e, true, narrow);
    case Kind::min:
    case Kind::max: {
        const auto id = e.kind() == Kind::min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
        llvm::Value* result = nullptr;
        for (const auto& operand : e.operands()) {
            llvm::Value* value = operand_value(operand);
            result = result ? ir_.call(id, {value->getType()}, {result, value}) : value;
        }
        return result;
    }
    case Kind::constant:
    case Kind::symbol: break;
    }
    throw base::InternalError("unknown kind of integer expression: " + sym::to_string(e));
}

llvm::Value* Integers::emit_quotient(const Expr& e, bool remainder, bool narrow) {
    auto& b = ir_.b;
    const Expr &numerator = e.operands()[0], &divisor = e.operands()[1];
    llvm::Value* n = narrow ? emit_narrow(numerator) : emit_resolved(numerator);
    llvm::Value* d = narrow ? emit_narrow(divisor) : emit_resolved(divisor);
    const auto number = [&](int64_t value) { return llvm::ConstantInt::get(n->getType(), static_cast<uint64_t>(value), true); };
    const auto divisor_range = facts_.range(divisor);
    const bool natural = facts_.range(numerator).lo >= 0 && divisor_range.lo >= 1;
    if (const auto constant = divisor.constant(); constant && *constant > 0 && (*constant & (*constant - 1)) == 0) {
        int shift = 0;
        while ((int64_t{1} << shift) < *constant) ++shift;
        if (remainder) return b.CreateAnd(n, number(*constant - 1));
        return natural ? b.CreateLShr(n, static_cast<uint64_t>(shift)) : b.CreateAShr(n, static_cast<uint64_t>(shift));
    }
    if (natural) return remainder ? b.CreateURem(n, d) : b.CreateUDiv(n, d);
    // No trap on a divisor 0: such a value may be computed where it is not used.
    if (divisor_range.lo <= 0 && divisor_range.hi >= 0) d = b.CreateSelect(b.CreateICmpEQ(d, number(0)), number(1), d);
    llvm::Value* rest = b.CreateSRem(n, d);
    llvm::Value* other_sign = b.CreateICmpSLT(b.CreateXor(rest, d), number(0));
    llvm::Value* below = b.CreateAnd(b.CreateICmpNE(rest, number(0)), other_sign);
    if (remainder) return b.CreateAdd(rest, b.CreateSelect(below, d, number(0)));
    return b.CreateSub(b.CreateSDiv(n, d), b.CreateZExt(below, n->getType()));
}

llvm::Value* Integers::emit(const sym::Condition& condition) {
    auto& b = ir_.b;
    const sym::Condition c = resolve(condition);
    if (proves(c)) return b.getTrue();
    if (facts_.refutes(c)) return b.getFalse();
    const bool narrow = prefers_32_bits_ && fits_32_bits(c.lhs) && fits_32_bits(c.rhs);
    llvm::Value* lhs = narrow ? emit_narrow(c.lhs) : emit_resolved(c.lhs);
    llvm::Value* rhs = narrow ? emit_narrow(c.rhs) : emit_resolved(c.rhs);
    switch (c.relation) {
    case sym::Relation::eq: return b.CreateICmpEQ(lhs, rhs);
    case sym::Relation::ne: return b.CreateICmpNE(lhs, rhs);
    case sym::Relation::lt: return b.CreateICmpSLT(lhs, rhs);
    case sym::Relation::le: return b.CreateICmpSLE(lhs, rhs);
    }
    return nullptr;
}

} // namespace codetta::codegen
