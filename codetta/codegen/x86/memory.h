// Vectors from and to memory (or promoted registers): contiguous, strided, broadcast; whole or the first `valid` lanes.
#pragma once

#include "codetta/codegen/kernel.h"

#include <functional>

namespace codetta::codegen::x86 {

/// Elements base[offset + stride * lane]. `unit` dtype elements may be moved as one wider element.
struct Access {
    llvm::Value* base = nullptr;
    tile::BufferId buffer; ///< for alias tags; invalid for temporaries
    scalar::DType dtype = scalar::DType::f32;
    Offset offset;
    sym::Expr stride = 1;
    int64_t unit = 1;
};

/// The same access from another first element.
inline Access moved(Access a, const Offset& by) {
    a.offset.constant += by.constant;
    if (!by.symbolic.is(0)) a.offset.symbolic = a.offset.symbolic + by.symbolic;
    return a;
}

/// Lanes begin .. end-1 (i64); a null begin is 0.
struct Span {
    llvm::Value* end;
    llvm::Value* begin = nullptr;
    Span(llvm::Value* e, llvm::Value* b = nullptr) : end(e), begin(b) {} // NOLINT: a count is a span
};

class Memory {
public:
    explicit Memory(Kernel& kernel) : k_(kernel), ir_(kernel.ir) {}

    Access access(const tile::View& v) const; ///< at the view's first element
    llvm::Type* element(const Access& a) const;

    llvm::Value* load(const Access& a, int lanes);
    void store(llvm::Value* value, const Access& a);
    void stream(llvm::Value* value, const Access& a); ///< non-temporal; @pre contiguous, the address is a multiple of the vector
    /// The lanes outside `valid` are not touched in memory; a load gives `fill` there.
    llvm::Value* load(const Access& a, int lanes, const Span& valid, llvm::Constant* fill);
    void store(llvm::Value* value, const Access& a, const Span& valid);

    llvm::Value* address(const Access& a);

private:
    llvm::Value* lane_address(const Access& a, llvm::Value* first, llvm::Value* lane);
    llvm::Value* mask(llvm::Type* element, int lanes, const Span& valid);
    bool is_contiguous(const Access& a) const { return a.stride.is(a.unit); }
    bool has_gather(const Access& a) const;
    bool has_masks(const Access& a) const;
    template <class Instruction>
    Instruction* tag(Instruction* access, const Access& a) {
        return a.buffer.valid() ? k_.tag(access, a.buffer) : access;
    }

    Kernel& k_;
    Ir& ir_;
};

} // namespace codetta::codegen::x86
