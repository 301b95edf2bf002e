#include "codetta/codegen/ir.h"

#include <llvm/IR/Intrinsics.h>

namespace codetta::codegen {

using scalar::DType;

Ir::Ir(llvm::Module& m) : module(m), context(m.getContext()), b(m.getContext()) {}

llvm::Type* Ir::type(DType t) {
    switch (t) {
    case DType::boolean:
    case DType::u8:
    case DType::i8: return b.getInt8Ty();
    case DType::i16: return b.getInt16Ty();
    case DType::i32: return b.getInt32Ty();
    case DType::i64: return b.getInt64Ty();
    case DType::f16: // moved as bits: LLVM takes vectors of half apart where the machine has no arithmetic on them
    case DType::bf16: return b.getInt16Ty();
    case DType::f32: return b.getFloatTy();
    case DType::f64: return b.getDoubleTy();
    }
    return nullptr;
}

llvm::Type* Ir::value_type(DType t) { return t == DType::boolean ? static_cast<llvm::Type*>(b.getInt1Ty()) : type(t); }

llvm::Type* Ir::lanes_of(llvm::Type* element, int lanes) { return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes); }

llvm::IntegerType* Ir::integer(int bits) { return b.getIntNTy(bits); }

llvm::ConstantInt* Ir::i64(int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); }
llvm::ConstantInt* Ir::i32(int64_t value) { return b.getInt32(static_cast<uint32_t>(value)); }

llvm::Constant* Ir::constant(llvm::Type* like, double value) { return llvm::ConstantFP::get(like, value); }
llvm::Constant* Ir::constant_integer(llvm::Type* like, int64_t value) {
    const unsigned bits = like->getScalarSizeInBits();
    return llvm::Constant::getIntegerValue(like, llvm::APInt(64, static_cast<uint64_t>(value)).sextOrTrunc(bits));
}

llvm::Constant* Ir::element(DType t, double value) {
    if (!scalar::is_float(t)) return constant_integer(type(t), static_cast<int64_t>(value));
    if (t == DType::f32 || t == DType::f64) return constant(type(t), value);
    bool inexact = false;
    llvm::APFloat rounded(value);
    rounded.convert(t == DType::f16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return llvm::ConstantInt::get(context, rounded.bitcastToAPInt());
}

llvm::Constant* Ir::repeat(llvm::Constant* c, int lanes) {
    return lanes == 1 ? c : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)), c);
}

llvm::Value* Ir::splat(llvm::Value* scalar, int lanes) { return lanes == 1 ? scalar : b.CreateVectorSplat(lanes, scalar); }

llvm::Constant* Ir::iota(llvm::IntegerType* element, int lanes, int64_t step) {
    if (lanes == 1) return llvm::ConstantInt::get(element, 0);
    llvm::SmallVector<llvm::Constant*, 64> values;
    for (int i = 0; i < lanes; ++i) values.push_back(constant_integer(element, i * step));
    return llvm::ConstantVector::get(values);
}

llvm::Value* Ir::shuffle(llvm::Value* a, llvm::Value* c, int lanes, const std::function<int(int)>& source) {
    llvm::SmallVector<int, 64> mask;
    for (int i = 0; i < lanes; ++i) mask.push_back(source(i));
    return b.CreateShuffleVector(a, c, mask);
}

llvm::Value* Ir::call(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types, llvm::ArrayRef<llvm::Value*> arguments) {
    return b.CreateIntrinsic(id, types, arguments);
}

llvm::Value* Ir::unary(llvm::Intrinsic::ID id, llvm::Value* x) { return call(id, {x->getType()}, {x}); }

llvm::Value* Ir::fma(llvm::Value* a, llvm::Value* x, llvm::Value* c) { return call(llvm::Intrinsic::fma, {a->getType()}, {a, x, c}); }

llvm::AllocaInst* Ir::slot(llvm::Type* element, int64_t count, int64_t align_bytes) {
    llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
    auto* made = entry.CreateAlloca(llvm::ArrayType::get(element, static_cast<uint64_t>(count)));
    made->setAlignment(llvm::Align(static_cast<uint64_t>(align_bytes)));
    return made;
}

int Ir::lanes(llvm::Type* t) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(t);
    return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::BasicBlock* Ir::block(const char* name) { return llvm::BasicBlock::Create(context, name, function); }

// LLVM's own unroller is not in our pass list, but codegen also asks; what a kernel wants unrolled it says itself.
llvm::MDNode* Ir::keep_rolled() {
    auto* disable = llvm::MDNode::get(context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
    auto* node = llvm::MDNode::getDistinct(context, {nullptr, disable});
    node->replaceOperandWith(0, node);
    return node;
}

void Ir::loop(llvm::Value* lo, llvm::Value* hi, llvm::Value* step, bool entered, const std::function<void(llvm::Value*)>& body) {
    auto* before = b.GetInsertBlock();
    auto *inside = block("loop"), *after = llvm::BasicBlock::Create(context, "done");
    if (entered)
        b.CreateBr(inside);
    else
        b.CreateCondBr(b.CreateICmpSLT(lo, hi), inside, after);
    b.SetInsertPoint(inside);
    auto* index = b.CreatePHI(lo->getType(), 2, "i");
    index->addIncoming(lo, before);
    body(index);
    auto* next = b.CreateNSWAdd(index, step);
    index->addIncoming(next, b.GetInsertBlock());
    b.CreateCondBr(b.CreateICmpSLT(next, hi), inside, after)->setMetadata(llvm::LLVMContext::MD_loop, keep_rolled());
    after->insertInto(function);
    b.SetInsertPoint(after);
}

void Ir::branch(llvm::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
        if (!known->isZero())
            then();
        else if (otherwise)
            otherwise();
        return;
    }
    auto* yes = block("then");
    auto* no = otherwise ? llvm::BasicBlock::Create(context, "else") : nullptr;
    auto* join = llvm::BasicBlock::Create(context, "join");
    b.CreateCondBr(condition, yes, no ? no : join);
    b.SetInsertPoint(yes);
    then();
    b.CreateBr(join);
    if (no) {
        no->insertInto(function);
        b.SetInsertPoint(no);
        otherwise();
        b.CreateBr(join);
    }
    join->insertInto(function);
    b.SetInsertPoint(join);
}

} // namespace codetta::codegen
