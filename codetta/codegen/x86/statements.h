// The x86 half of the statement walk. One source file per group of statements.
#pragma once

#include "codetta/codegen/statements.h"
#include "codetta/codegen/x86/memory.h"
#include "codetta/codegen/x86/nest.h"

#include <array>

namespace codetta::codegen::x86 {

class X86Statements final : public Statements {
public:
    explicit X86Statements(Kernel& kernel) : Statements(kernel), ir(kernel.ir), memory(kernel) {}

    // buffers.cpp
    void alloc(const tile::Alloc& s) override;
    void release(const tile::Alloc& s) override;
    llvm::Value* load_index(const tile::LoadIndex& s) override;
    void fail_check(int32_t code) override;
    void emit(const tile::Prefetch& s) override;
    void emit(const tile::Atomic& s) override;

    void emit(const tile::Fill& s) override;   // copy.cpp
    void emit(const tile::Copy& s) override;   // copy.cpp
    void emit(const tile::Map& s) override;    // map.cpp
    void emit(const tile::Reduce& s) override; // reduce.cpp
    void emit(const tile::Mma& s) override;    // mma.cpp

    llvm::Value* scratch = nullptr; ///< the thread's scratch memory
    bool streams = false;           ///< a non-temporal store was emitted: the kernel must end in a fence

private:
    // copy.cpp
    struct Move;
    Plan plan_copy(const tile::Copy& s, const Move& move);
    void copy_all(const tile::Copy& s, Move& move, bool streaming);
    void copy_limited(const tile::Copy& s, Move& move);
    bool copy_transposed(const tile::Copy& s, Move& move, bool limited);
    llvm::Value* steps_inside(const tile::Copy& s, const std::vector<Offset>& offsets, const Dim& dim, int64_t count, const Dim& other,
                              int64_t first, int64_t also);
    bool copy_interleaved(const tile::Copy& s, Move& move, bool limited);

    // tiles.cpp: AMX
    bool is_tile(const tile::View& v) const { return kernel.buffer(v).space == tile::Space::tmm; }
    int tile_number(const tile::View& v, int64_t element_offset);
    void copy_tiles(const tile::Copy& s);
    void fill_tiles(const tile::Fill& s);
    void multiply_tiles(const tile::Mma& s, const tile::Atom& atom);

    void multiply_vectors(const tile::Mma& s, const tile::Atom& atom);

    Ir& ir;
    Memory memory;
    std::array<bool, 8> tile_taken_{};
    std::vector<int> first_tile_; ///< per buffer
};

/// The function around the body: arguments, task loop, tile configuration. Returns the LLVM function, named program.name.
llvm::Function* emit_kernel(llvm::Module& module, const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target);

} // namespace codetta::codegen::x86
