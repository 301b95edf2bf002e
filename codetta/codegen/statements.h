// The machine's half of a statement walk: every kind of statement that is not plain control flow. One class per machine family.
#pragma once

#include "codetta/codegen/kernel.h"

#include <functional>

namespace codetta::codegen {

class Statements {
public:
    explicit Statements(Kernel& kernel) : kernel(kernel) {}
    virtual ~Statements() = default;

    virtual void alloc(const tile::Alloc& s) = 0;
    virtual void release(const tile::Alloc& s) = 0; ///< at the end of the block that holds the alloc
    virtual llvm::Value* load_index(const tile::LoadIndex& s) = 0; ///< i64
    virtual void fail_check(int32_t code) = 0;                     ///< stores the status and leaves

    virtual void emit(const tile::Fill& s) = 0;
    virtual void emit(const tile::Copy& s) = 0;
    virtual void emit(const tile::Map& s) = 0;
    virtual void emit(const tile::Reduce& s) = 0;
    virtual void emit(const tile::Prefetch& s) = 0;
    virtual void emit(const tile::Atomic& s) = 0;
    virtual void emit(const tile::Mma& s) = 0;

    // What only machines with many threads have; the default is an InternalError that names the statement.
    virtual void emit(const tile::Shuffle& s);
    virtual void emit(const tile::Commit& s);
    virtual void emit(const tile::WaitGroup& s);
    virtual void emit(const tile::BarrierInit& s);
    virtual void emit(const tile::BarrierExpect& s);
    virtual void emit(const tile::BarrierArrive& s);
    virtual void emit(const tile::BarrierWait& s);
    virtual void emit(const tile::Fence& s);
    virtual void emit(const tile::Sync& s);
    virtual void emit(const tile::GridDependency& s);
    virtual void emit(const tile::Role& s, const std::function<void()>& body);
    virtual void emit(const tile::Elect& s, const std::function<void()>& body);

    Kernel& kernel;
};

/// Walks a block: control flow and integers here, everything else through `statements`.
void walk(Statements& statements, const tile::Block& block);

} // namespace codetta::codegen
