// The NVIDIA half of the statement walk: one thread's code. Collective statements are inline PTX; its spellings follow the PTX ISA 8.3.
#pragma once

#include "codetta/codegen/nvptx/registers.h"
#include "codetta/codegen/scalar_body.h"
#include "codetta/codegen/statements.h"

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <optional>

namespace codetta::codegen::nvptx {

class NvptxStatements final : public Statements {
public:
    explicit NvptxStatements(Kernel& kernel);

    // data.cpp
    void alloc(const tile::Alloc& s) override;
    void release(const tile::Alloc&) override {}
    llvm::Value* load_index(const tile::LoadIndex& s) override;
    void fail_check(int32_t code) override;
    void emit(const tile::Fill& s) override;
    void emit(const tile::Prefetch& s) override;
    void emit(const tile::Atomic& s) override;
    void emit(const tile::Shuffle& s) override;

    void emit(const tile::Copy& s) override;   // copy.cpp
    void emit(const tile::Map& s) override;    // map.cpp
    void emit(const tile::Reduce& s) override; // map.cpp

    // wgmma.cpp
    void emit(const tile::Mma& s) override;
    void emit(const tile::Commit& s) override;
    void emit(const tile::WaitGroup& s) override;

    // synchronise.cpp
    void emit(const tile::BarrierInit& s) override;
    void emit(const tile::BarrierExpect& s) override;
    void emit(const tile::BarrierArrive& s) override;
    void emit(const tile::BarrierWait& s) override;
    void emit(const tile::Fence& s) override;
    void emit(const tile::Sync& s) override;
    void emit(const tile::GridDependency& s) override;
    void emit(const tile::Role& s, const std::function<void()>& body) override;
    void emit(const tile::Elect& s, const std::function<void()>& body) override;

    /// Inline PTX. `side_effect`: it also orders memory and must not be duplicated into divergent code.
    llvm::CallInst* assembly(llvm::Type* result, const std::string& text, const std::string& constraints,
                             llvm::ArrayRef<llvm::Value*> arguments, bool side_effect = true);
    llvm::CallInst* command(const std::string& text, const std::string& constraints = "", llvm::ArrayRef<llvm::Value*> arguments = {});

    llvm::Value* shared = nullptr;        ///< i32: the first byte of shared memory, at a multiple of 1024
    std::vector<llvm::Value*> tensormaps; ///< per buffer: i64 address of the descriptor
    bool roles_are_last = false;          ///< nothing follows the roles of the program: each may return

private:
    struct PendingMma {
        std::string instruction;
        std::vector<llvm::AllocaInst*> accumulators;
        llvm::Value *a = nullptr, *b = nullptr, *accumulate = nullptr; ///< descriptors; i32, or null for a constant
        bool accumulates = true;
    };

    // address.cpp
    Offset bytes_in_shared(const tile::View& v) const; ///< of its first element, without the swizzle, from `shared`
    llvm::Value* shared_address(const Offset& bytes);  ///< i32
    llvm::Value* shared_address(const tile::View& v) { return shared_address(bytes_in_shared(v)); }
    llvm::Value* swizzled(llvm::Value* address, const tile::SwizzleBits& s);
    std::vector<sym::Expr> places(const tile::View& v) const; ///< of all elements, in the buffer
    llvm::Value* pointer(const tile::View& v, const sym::Expr& place);
    int64_t alignment(const tile::View& v, const sym::Expr& place) const; ///< in bytes, as far as known
    llvm::Value* load(const tile::View& v, const sym::Expr& place, int lanes);
    llvm::Value* load_element(const tile::View& v, const sym::Expr& place); ///< from any space
    void store_element(const tile::View& v, const sym::Expr& place, llvm::Value* value);
    bool in_registers(const tile::View& v) const { return kernel.buffer(v).space == tile::Space::rmem; }

    // copy.cpp
    void copy_plain(const tile::Copy& s);
    void copy_matrix(const tile::Copy& s);
    void load_box(const tile::Copy& s);
    void store_box(const tile::Copy& s);

    // math.cpp
    llvm::Value* round_to_small(llvm::Value* v, scalar::DType t); ///< f32 to f16 or bf16, one instruction for a pair
    std::optional<Value> approximate(const scalar::Op& op, std::span<const Value> in, std::span<const scalar::DType> types);

    llvm::Value* all_hold(const std::vector<sym::Condition>& conditions); ///< i1
    llvm::Value* descriptor(const tile::View& v, int64_t rows);
    int warp_count() const;

    Ir& ir;
    Registers registers_;
    ScalarBody body_;
    std::vector<PendingMma> pending_;
    bool coarse_ = false; ///< all results of the map at hand are 16-bit floats: the machine's approximations are exact enough
};

/// Grid programs to PTX.
void emit_kernel(llvm::Module& module, const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target);
std::unique_ptr<llvm::TargetMachine> make_target_machine(const base::Target& target);

} // namespace codetta::codegen::nvptx
