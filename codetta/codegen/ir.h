// Ir: LLVM's builder with the few shapes of code that all emitters share: counted loops, branches, vectors of a dtype. One lane is a plain scalar.
#pragma once

#include "codetta/scalar/dtype.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <span>

namespace codetta::codegen {

class Ir {
public:
    explicit Ir(llvm::Module& module);

    llvm::Module& module;
    llvm::LLVMContext& context;
    llvm::IRBuilder<> b;
    llvm::Function* function = nullptr;

    // --- types -------------------------------------------------------------------------------------------------------------------------
    llvm::Type* type(scalar::DType t);                 ///< as it lies in memory: bool is i8, 16-bit floats are i16
    llvm::Type* value_type(scalar::DType t);           ///< as it lies in a register: bool is i1
    llvm::Type* lanes_of(llvm::Type* element, int lanes); ///< the element itself for one lane
    llvm::IntegerType* integer(int bits);

    // --- values ------------------------------------------------------------------------------------------------------------------------
    llvm::ConstantInt* i64(int64_t value);
    llvm::ConstantInt* i32(int64_t value);
    llvm::Constant* constant(llvm::Type* like, double value);         ///< float scalar or vector type
    llvm::Constant* constant_integer(llvm::Type* like, int64_t value);
    llvm::Constant* element(scalar::DType t, double value);           ///< of the type in memory
    llvm::Constant* repeat(llvm::Constant* c, int lanes);
    llvm::Value* splat(llvm::Value* scalar, int lanes);
    llvm::Constant* iota(llvm::IntegerType* element, int lanes, int64_t step = 1);
    llvm::Value* shuffle(llvm::Value* a, llvm::Value* b, int lanes, const std::function<int(int)>& source);
    llvm::Value* call(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types, llvm::ArrayRef<llvm::Value*> arguments);
    llvm::Value* unary(llvm::Intrinsic::ID id, llvm::Value* x);
    llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);
    llvm::AllocaInst* slot(llvm::Type* element, int64_t count, int64_t align_bytes); ///< in the entry block

    static int lanes(llvm::Type* t);
    static int lanes(llvm::Value* v) { return lanes(v->getType()); }

    // --- control -----------------------------------------------------------------------------------------------------------------------
    /// for (index = lo; index < hi; index += step). `entered`: at least one round is known to happen.
    void loop(llvm::Value* lo, llvm::Value* hi, llvm::Value* step, bool entered, const std::function<void(llvm::Value*)>& body);
    void branch(llvm::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise = nullptr);
    llvm::BasicBlock* block(const char* name);

private:
    llvm::MDNode* keep_rolled();
};

} // namespace codetta::codegen
