// What the emitters of one kernel share: the program, the machine, the code so far, and where every buffer lies.
#pragma once

#include "codetta/base/target.h"
#include "codetta/codegen/integers.h"
#include "codetta/codegen/iteration.h"
#include "codetta/tile/atom.h"

namespace codetta::codegen {

struct Kernel {
    const tile::Program& program;
    const tile::AtomSet& atoms;
    const base::Target& target;
    Ir& ir;
    Integers& integers;
    std::vector<llvm::Value*> base;    ///< per buffer: the address of element 0; null for what has no address
    std::vector<llvm::MDNode*> scope;  ///< per buffer: its alias scope, or null
    llvm::Value* status = nullptr;       ///< the status slot's address
    llvm::BasicBlock* leave = nullptr;   ///< where a failed check jumps to: the end of the task

    const tile::Buffer& buffer(const tile::View& v) const { return program.buffer(v.buffer); }
    bool is_register(const tile::View& v) const { return buffer(v).space == tile::Space::rmem; }
    int lanes_for(int64_t element_bytes) const { return std::max<int>(1, static_cast<int>(target.vector_bits / 8 / element_bytes)); }

    llvm::Value* address(tile::BufferId buffer, const Offset& offset);
    llvm::Value* address(const tile::View& v) { return address(v.buffer, offset(v)); }
    Offset offset(const tile::View& v) const;
    /// Says which buffer a load or store touches, so that it may move across accesses of others.
    template <class Instruction>
    Instruction* tag(Instruction* access, tile::BufferId buffer) {
        tag_access(access, buffer);
        return access;
    }

private:
    void tag_access(llvm::Instruction* access, tile::BufferId buffer);
};

} // namespace codetta::codegen
