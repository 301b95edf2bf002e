// The statement walk that all machines share: control flow and integers.
#include "codetta/base/error.h"
#include "codetta/codegen/statements.h"

#include <algorithm>

namespace codetta::codegen {

using namespace tile;

namespace {

[[noreturn]] void refuse(const Kernel& k, const char* statement) {
    throw base::InternalError(fmt::format("the statement '{}' has no meaning on target {}", statement, k.target.name), k.program.name);
}

class Walk {
public:
    explicit Walk(Statements& s) : s_(s), k_(s.kernel), ir_(k_.ir), integers_(k_.integers) {}

    void block(const Block& statements) {
        std::vector<const Alloc*> allocs;
        for (const Statement& statement : statements) {
            std::visit([&](const auto& node) { visit(node); }, statement.node);
            if (const auto* alloc = std::get_if<Alloc>(&statement.node)) allocs.push_back(alloc);
        }
        for (auto alloc = allocs.rbegin(); alloc != allocs.rend(); ++alloc) s_.release(**alloc);
    }

private:
    void visit(const For& s) { s.unroll ? unrolled(s) : rolled(s); }

    void unrolled(const For& s) {
        const auto lo = integers_.resolve(s.lo).constant(), hi = integers_.resolve(s.hi).constant(),
                   step = integers_.resolve(s.step).constant();
        CODETTA_CHECK(lo && hi && step && *step > 0, "the bounds of the unrolled loop '{}' are not static", s.index);
        for (int64_t i = *lo; i < *hi; i += *step)
            integers_.scope([&] {
                integers_.fix(s.index, i);
                block(s.body);
            });
    }

    void rolled(const For& s) {
        const sym::Expr lo = integers_.resolve(s.lo), hi = integers_.resolve(s.hi), step = integers_.resolve(s.step);
        CODETTA_CHECK(integers_.range(step).lo >= 1, "the step of the loop '{}' may not be positive: {}", s.index, sym::to_string(step));
        if (integers_.proves(sym::le(hi, lo))) return;
        const bool entered = integers_.proves(sym::lt(lo, hi));
        if (entered && integers_.proves(sym::le(hi, lo + step))) { // exactly one round
            integers_.scope([&] {
                integers_.fix(s.index, lo);
                block(s.body);
            });
            return;
        }
        // The index reaches hi + step - 1 behind the last round.
        auto* type = integers_.type_for({integers_.range(lo).lo, std::max(integers_.range(lo).hi, integers_.range(hi + step).hi)});
        const auto value = [&](const sym::Expr& e) { return type->getBitWidth() == 32 ? integers_.emit_i32(e) : integers_.emit(e); };
        llvm::Value *low = value(lo), *high = value(hi), *stride = value(step);
        ir_.loop(low, high, stride, entered, [&](llvm::Value* index) {
            integers_.scope([&] {
                index = ir_.b.CreateSExt(index, ir_.b.getInt64Ty());
                const auto from = integers_.range(lo), to = integers_.range(hi);
                int64_t multiple = 1;
                if (const auto constant = step.constant(); constant && integers_.facts().divisor(lo) % *constant == 0) multiple = *constant;
                integers_.define(s.index, index, {from.lo, std::max(from.lo, to.hi - 1)}, multiple);
                integers_.assume(sym::lt(sym::Expr::symbol(s.index), hi));
                integers_.assume(sym::le(lo, sym::Expr::symbol(s.index)));
                block(s.body);
            });
        });
    }

    void visit(const If& s) {
        llvm::Value* all = ir_.b.getTrue();
        for (const auto& c : s.condition) {
            llvm::Value* one = integers_.emit(c);
            all = all == ir_.b.getTrue() ? one : ir_.b.CreateAnd(all, one);
        }
        const auto then = [&] {
            integers_.scope([&] {
                for (const auto& c : s.condition) integers_.assume(c);
                block(s.then);
            });
        };
        const auto otherwise = [&] {
            integers_.scope([&] {
                if (s.condition.size() == 1) assume_not(s.condition[0]);
                block(s.otherwise);
            });
        };
        ir_.branch(all, then, s.otherwise.empty() ? std::function<void()>() : otherwise);
    }

    void assume_not(const sym::Condition& c) {
        if (c.relation == sym::Relation::lt) integers_.assume(sym::le(c.rhs, c.lhs));
        if (c.relation == sym::Relation::le) integers_.assume(sym::lt(c.rhs, c.lhs));
        if (c.relation == sym::Relation::ne) integers_.assume(sym::eq(c.lhs, c.rhs));
    }

    void visit(const Let& s) {
        const sym::Expr value = integers_.resolve(s.value);
        if (value.constant() || value.kind() == sym::Kind::symbol) return integers_.fix(s.name, value);
        integers_.define(s.name, integers_.emit(value), integers_.range(value), std::max<int64_t>(1, integers_.facts().divisor(value)));
        integers_.assume(sym::eq(sym::Expr::symbol(s.name), value));
    }

    void visit(const Var& s) {
        const sym::Range range{integers_.range(s.lo).lo, integers_.range(s.hi).hi - 1};
        auto* type = integers_.type_for(range);
        llvm::Value* slot = ir_.slot(type, 1, 8);
        ir_.b.CreateStore(ir_.b.CreateTrunc(integers_.emit(s.init), type), slot);
        integers_.define_variable(s.name, slot, range);
    }

    void visit(const Set& s) {
        auto* slot = llvm::cast<llvm::AllocaInst>(integers_.variable(s.name));
        auto* type = llvm::cast<llvm::ArrayType>(slot->getAllocatedType())->getElementType();
        ir_.b.CreateStore(ir_.b.CreateTrunc(integers_.emit(s.value), type), slot);
    }

    void visit(const LoadIndex& s) { integers_.define(s.name, s_.load_index(s)); }

    void visit(const CheckIndex& s) {
        if (integers_.proves(sym::le(s.lo, s.value)) && integers_.proves(sym::lt(s.value, s.hi))) return;
        llvm::Value* value = integers_.emit(s.value);
        llvm::Value* inside =
            ir_.b.CreateAnd(ir_.b.CreateICmpSLE(integers_.emit(s.lo), value), ir_.b.CreateICmpSLT(value, integers_.emit(s.hi)));
        auto *good = ir_.block("good"), *bad = ir_.block("bad");
        ir_.b.CreateCondBr(inside, good, bad);
        ir_.b.SetInsertPoint(bad);
        s_.fail_check(s.code);
        ir_.b.SetInsertPoint(good);
        integers_.assume(sym::le(s.lo, s.value));
        integers_.assume(sym::lt(s.value, s.hi));
    }

    void visit(const Alloc& s) { s_.alloc(s); }
    void visit(const Role& s) {
        s_.emit(s, [&] { integers_.scope([&] { block(s.body); }); });
    }
    void visit(const Elect& s) {
        s_.emit(s, [&] { integers_.scope([&] { block(s.body); }); });
    }
    template <class Node>
    void visit(const Node& s) {
        s_.emit(s);
    }

    Statements& s_;
    Kernel& k_;
    Ir& ir_;
    Integers& integers_;
};

} // namespace

void walk(Statements& statements, const Block& block) { Walk(statements).block(block); }

void Statements::emit(const Shuffle&) { refuse(kernel, "shuffle"); }
void Statements::emit(const Commit&) { refuse(kernel, "commit"); }
void Statements::emit(const WaitGroup&) { refuse(kernel, "wait group"); }
void Statements::emit(const BarrierInit&) { refuse(kernel, "init barrier"); }
void Statements::emit(const BarrierExpect&) { refuse(kernel, "expect"); }
void Statements::emit(const BarrierArrive&) { refuse(kernel, "arrive"); }
void Statements::emit(const BarrierWait&) { refuse(kernel, "wait"); }
void Statements::emit(const Fence&) { refuse(kernel, "fence"); }
void Statements::emit(const Sync&) { refuse(kernel, "sync"); }
void Statements::emit(const GridDependency&) { refuse(kernel, "griddep"); }
void Statements::emit(const Role&, const std::function<void()>&) { refuse(kernel, "role"); }
void Statements::emit(const Elect&, const std::function<void()>&) { refuse(kernel, "elect"); }

} // namespace codetta::codegen
