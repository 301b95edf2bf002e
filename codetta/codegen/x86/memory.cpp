#include "codetta/codegen/x86/memory.h"

#include "codetta/base/error.h"

namespace codetta::codegen::x86 {

namespace {

llvm::Align natural(llvm::Type* element) { return llvm::Align(std::max(1u, element->getScalarSizeInBits() / 8)); }

} // namespace

Access Memory::access(const tile::View& v) const {
    const auto& buffer = k_.buffer(v);
    llvm::Value* base = k_.base[v.buffer.value];
    CODETTA_CHECK(base != nullptr, "the buffer '{}' is used outside the life of its alloc", buffer.name);
    CODETTA_CHECK(v.swizzle.bits == 0, "the view of '{}' is swizzled: only shared memory is", buffer.name);
    return {base, v.buffer, buffer.dtype, k_.offset(v), 1, 1};
}

llvm::Type* Memory::element(const Access& a) const {
    return a.unit == 1 ? ir_.type(a.dtype) : static_cast<llvm::Type*>(ir_.integer(static_cast<int>(a.unit * scalar::bytes(a.dtype) * 8)));
}

llvm::Value* Memory::address(const Access& a) {
    llvm::Value* pointer = a.base;
    if (!a.offset.symbolic.is(0)) pointer = ir_.b.CreateInBoundsGEP(ir_.type(a.dtype), pointer, k_.integers.emit(a.offset.symbolic));
    if (a.offset.constant != 0) pointer = ir_.b.CreateInBoundsPtrAdd(pointer, ir_.i64(a.offset.constant * scalar::bytes(a.dtype)));
    return pointer;
}

llvm::Value* Memory::lane_address(const Access& a, llvm::Value* first, llvm::Value* lane) {
    return ir_.b.CreateInBoundsGEP(ir_.type(a.dtype), first, ir_.b.CreateNSWMul(lane, k_.integers.emit(a.stride)));
}

bool Memory::has_gather(const Access& a) const {
    const int64_t bytes = a.unit * scalar::bytes(a.dtype);
    const bool in_registers = a.buffer.valid() && k_.program.buffer(a.buffer).space == tile::Space::rmem;
    return k_.target.has("avx512f") && bytes >= 4 && !in_registers;
}

bool Memory::has_masks(const Access& a) const {
    return k_.target.has("avx512bw") || (k_.target.has("avx2") && a.unit * scalar::bytes(a.dtype) >= 4);
}

// begin <= lane < end, compared in the element's own width: the mask has the shape that the masked instruction wants.
llvm::Value* Memory::mask(llvm::Type* element, int lanes, const Span& valid) {
    auto* lane_type = ir_.integer(static_cast<int>(element->getScalarSizeInBits()));
    const auto limit = [&](llvm::Value* v) { return ir_.splat(ir_.b.CreateZExtOrTrunc(v, lane_type), lanes); };
    llvm::Value* below = ir_.b.CreateICmpULT(ir_.iota(lane_type, lanes), limit(valid.end));
    return valid.begin ? ir_.b.CreateAnd(below, ir_.b.CreateICmpUGE(ir_.iota(lane_type, lanes), limit(valid.begin))) : below;
}

llvm::Value* Memory::load(const Access& a, int lanes) {
    llvm::Type* one = element(a);
    llvm::Value* first = address(a);
    if (lanes == 1 || a.stride.is(0)) return ir_.splat(tag(ir_.b.CreateAlignedLoad(one, first, natural(one)), a), lanes);
    if (is_contiguous(a)) return tag(ir_.b.CreateAlignedLoad(ir_.lanes_of(one, lanes), first, natural(one)), a);
    if (has_gather(a) && lanes >= 4) {
        llvm::Value* steps = ir_.b.CreateNSWMul(ir_.splat(k_.integers.emit(a.stride), lanes), ir_.iota(ir_.b.getInt64Ty(), lanes));
        llvm::Value* pointers = ir_.b.CreateInBoundsGEP(ir_.type(a.dtype), first, steps);
        return tag(ir_.b.CreateMaskedGather(ir_.lanes_of(one, lanes), pointers, natural(one)), a);
    }
    llvm::Value* result = llvm::PoisonValue::get(ir_.lanes_of(one, lanes));
    Access lane = a;
    for (int i = 0; i < lanes; ++i) {
        lane.offset = a.offset;
        lane.offset.add(a.stride, i);
        result =
            ir_.b.CreateInsertElement(result, tag(ir_.b.CreateAlignedLoad(one, address(lane), natural(one)), a), static_cast<uint64_t>(i));
    }
    return result;
}

void Memory::stream(llvm::Value* value, const Access& a) {
    const auto bytes = static_cast<uint64_t>(value->getType()->getPrimitiveSizeInBits().getFixedValue() / 8);
    auto* store = tag(ir_.b.CreateAlignedStore(value, address(a), llvm::Align(bytes)), a);
    store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(ir_.context, llvm::ConstantAsMetadata::get(ir_.i32(1))));
}

void Memory::store(llvm::Value* value, const Access& a) {
    llvm::Type* one = element(a);
    const int lanes = Ir::lanes(value);
    CODETTA_CHECK(lanes == 1 || !a.stride.is(0), "a store of several values to one element");
    if (lanes == 1 || is_contiguous(a)) {
        tag(ir_.b.CreateAlignedStore(value, address(a), natural(one)), a);
        return;
    }
    Access lane = a;
    for (int i = 0; i < lanes; ++i) {
        lane.offset = a.offset;
        lane.offset.add(a.stride, i);
        tag(ir_.b.CreateAlignedStore(ir_.b.CreateExtractElement(value, static_cast<uint64_t>(i)), address(lane), natural(one)), a);
    }
}

llvm::Value* Memory::load(const Access& a, int lanes, const Span& valid, llvm::Constant* fill) {
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(valid.end)) {
        if (known->getSExtValue() >= lanes && !valid.begin) return load(a, lanes);
        if (known->isZero()) return fill;
    }
    llvm::Type* one = element(a);
    llvm::Type* many = ir_.lanes_of(one, lanes);
    if (lanes > 1 && is_contiguous(a) && has_masks(a))
        return tag(ir_.b.CreateMaskedLoad(many, address(a), natural(one), mask(one, lanes, valid), fill), a);
    if (lanes > 1 && !a.stride.is(0) && has_gather(a)) {
        llvm::Value* steps = ir_.b.CreateNSWMul(ir_.splat(k_.integers.emit(a.stride), lanes), ir_.iota(ir_.b.getInt64Ty(), lanes));
        llvm::Value* pointers = ir_.b.CreateInBoundsGEP(ir_.type(a.dtype), address(a), steps);
        return tag(ir_.b.CreateMaskedGather(many, pointers, natural(one), mask(one, lanes, valid), fill), a);
    }
    // Element by element through a temporary.
    auto* slot = ir_.slot(one, lanes, 64);
    ir_.b.CreateAlignedStore(fill, slot, llvm::Align(64));
    llvm::Value* first = address(a);
    (void)k_.integers.emit(a.stride); // outside of the loop, which may not be entered: later code finds it again
    ir_.loop(valid.begin ? valid.begin : ir_.i64(0), valid.end, ir_.i64(1), false, [&](llvm::Value* lane) {
        auto* value = tag(ir_.b.CreateAlignedLoad(one, lane_address(a, first, lane), natural(one)), a);
        ir_.b.CreateAlignedStore(value, ir_.b.CreateInBoundsGEP(one, slot, lane), natural(one));
    });
    return ir_.b.CreateAlignedLoad(many, slot, llvm::Align(64));
}

void Memory::store(llvm::Value* value, const Access& a, const Span& valid) {
    const int lanes = Ir::lanes(value);
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(valid.end)) {
        if (known->getSExtValue() >= lanes && !valid.begin) return store(value, a);
        if (known->isZero()) return;
    }
    llvm::Type* one = element(a);
    if (lanes > 1 && is_contiguous(a) && has_masks(a)) {
        tag(ir_.b.CreateMaskedStore(value, address(a), natural(one), mask(one, lanes, valid)), a);
        return;
    }
    auto* slot = ir_.slot(one, lanes, 64);
    ir_.b.CreateAlignedStore(value, slot, llvm::Align(64));
    llvm::Value* first = address(a);
    (void)k_.integers.emit(a.stride); // outside of the loop, which may not be entered: later code finds it again
    ir_.loop(valid.begin ? valid.begin : ir_.i64(0), valid.end, ir_.i64(1), false, [&](llvm::Value* lane) {
        auto* moved = ir_.b.CreateAlignedLoad(one, ir_.b.CreateInBoundsGEP(one, slot, lane), natural(one));
        tag(ir_.b.CreateAlignedStore(moved, lane_address(a, first, lane), natural(one)), a);
    });
}

} // namespace codetta::codegen::x86
