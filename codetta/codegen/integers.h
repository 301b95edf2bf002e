// Integers: sym::Expr -> i64 code, with what is known of the symbols at this place of the program.
#pragma once

#include "codetta/codegen/ir.h"
#include "codetta/sym/facts.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace codetta::codegen {

class Integers {
public:
    /// `prefers_32_bits`: what is known to fit is computed in 32 bits (a GPU's registers); results are i64 all the same.
    Integers(Ir& ir, sym::Facts facts, bool prefers_32_bits = false);

    /// A scope is a piece of code that is dominated by what came before and dominates nothing after it: a loop body, a branch.
    template <class Body>
    void scope(Body&& body) {
        scopes_.emplace_back();
        body();
        leave();
    }

    /// From here to the end of the scope `name` is `value`. A name of an unrolled loop is defined once per round.
    void define(const std::string& name, llvm::Value* value, sym::Range range = {}, int64_t multiple = 1);
    void fix(const std::string& name, const sym::Expr& value); ///< `name` is another expression (a constant of an unrolled loop, a Let)
    void define_variable(const std::string& name, llvm::Value* slot, sym::Range range); ///< its value lies in memory (mem2reg lifts it) and may change
    llvm::Value* variable(const std::string& name) const;                               ///< the slot
    void assume(const sym::Condition& condition);              ///< holds to the end of the scope

    /// @post symbols() of the result are defined by `define`
    sym::Expr resolve(const sym::Expr& e) const;
    sym::Condition resolve(const sym::Condition& c) const;
    llvm::Value* emit(const sym::Expr& e);
    llvm::Value* emit(const sym::Condition& c);
    llvm::Value* emit_i32(const sym::Expr& e); ///< its lower half
    /// The type for a variable or loop index of this range.
    llvm::IntegerType* type_for(sym::Range range) const;

    bool proves(const sym::Condition& c) const;
    sym::Range range(const sym::Expr& e) const { return facts_.range(resolve(e)); }
    const sym::Facts& facts() const { return facts_; }

    std::string fresh_name(); ///< for loops that codegen adds

private:
    struct Scope {
        std::unordered_map<sym::Expr, llvm::Value*> values, narrow; ///< as i64, as i32
        std::vector<std::string> defined, fixed;
        size_t assumed = 0;
    };
    struct Definition {
        llvm::Value* value = nullptr;
        int depth = 0;
        bool variable = false;
    };

    void leave();
    llvm::Value* emit_resolved(const sym::Expr& e);
    llvm::Value* emit_narrow(const sym::Expr& e);
    llvm::Value* emit_new(const sym::Expr& e, bool narrow);
    llvm::Value* emit_quotient(const sym::Expr& e, bool remainder, bool narrow);
    bool fits_32_bits(const sym::Expr& e) const;
    llvm::Value* load_variable(const std::string& name, llvm::Value* slot);
    llvm::Value* lookup(const sym::Expr& e, bool narrow) const;
    std::vector<sym::Expr> outermost_first(std::span<const sym::Expr> terms) const;
    int depth(const sym::Expr& e) const;
    bool is_changeable(const sym::Expr& e) const;

    Ir& ir_;
    sym::Facts facts_;
    std::map<std::string, Definition, std::less<>> definitions_;
    sym::Substitution fixed_;
    std::vector<sym::Condition> assumptions_;
    std::vector<Scope> scopes_;
    int fresh_ = 0, variables_ = 0;
    bool prefers_32_bits_;
};

} // namespace codetta::codegen
