// rmem buffers of a GPU thread: every element (a pair of 16-bit elements) is a variable of its own, which mem2reg lifts into a register.
#pragma once

#include "codetta/codegen/kernel.h"

namespace codetta::codegen::nvptx {

class Registers {
public:
    explicit Registers(Kernel& kernel) : kernel_(kernel), buffers_(kernel.program.buffers.size()) {}

    void alloc(tile::BufferId id);
    /// Where a view's elements lie in its buffer, in order. InternalError when a place is not known now: registers have no addresses.
    std::vector<int64_t> places(const tile::View& v) const;

    llvm::Value* load(tile::BufferId id, int64_t place);
    void store(tile::BufferId id, int64_t place, llvm::Value* value);
    bool has_pairs(tile::BufferId id) const { return buffers_[id.value].pairs; }
    llvm::Value* load_pair(tile::BufferId id, int64_t place); ///< elements place, place + 1 as a vector. @pre place is even
    void store_pair(tile::BufferId id, int64_t place, llvm::Value* value);
    llvm::AllocaInst* variable(tile::BufferId id, int64_t place); ///< of a buffer without pairs

private:
    struct Buffer {
        std::vector<llvm::AllocaInst*> variables;
        llvm::Type* type = nullptr;
        bool pairs = false;
    };
    Kernel& kernel_;
    std::vector<Buffer> buffers_;
};

} // namespace codetta::codegen::nvptx
