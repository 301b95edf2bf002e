// The function around a grid program: parameters, shared memory, the thread's place.
#include "codetta/base/error.h"
#include "codetta/codegen/nvptx/statements.h"

#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetOptions.h>

#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace codetta::codegen::nvptx {

using tile::Space;

namespace {

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
constexpr uint64_t kDescriptorBytes = 128; // of a tensor map

const llvm::Target& nvptx() {
    static std::once_flag once;
    static const llvm::Target* found = nullptr;
    std::call_once(once, [] {
        LLVMInitializeNVPTXTargetInfo();
        LLVMInitializeNVPTXTarget();
        LLVMInitializeNVPTXTargetMC();
        LLVMInitializeNVPTXAsmPrinter();
        std::string why;
        found = llvm::TargetRegistry::lookupTarget(llvm::Triple("nvptx64-nvidia-cuda"), why);
    });
    CODETTA_CHECK(found != nullptr, "this LLVM has no NVPTX back end");
    return *found;
}

// Parameters in the order of the buffers, then the integers as i64, then the status slot when there are checks.
void declare(Kernel& k, const tile::Grid& grid) {
    Ir& ir = k.ir;
    llvm::SmallVector<llvm::Type*, 16> types;
    for (const auto& b : k.program.buffers)
        if (b.parameter) types.push_back(b.space == Space::tensormap ? ir.b.getPtrTy() : ir.b.getPtrTy(kGlobalSpace));
    for (size_t i = 0; i < k.program.integers.size(); ++i) types.push_back(ir.b.getInt64Ty());
    if (!k.program.checks.empty()) types.push_back(ir.b.getPtrTy(kGlobalSpace));
    auto* f = llvm::Function::Create(llvm::FunctionType::get(ir.b.getVoidTy(), types, false), llvm::Function::ExternalLinkage,
                                     k.program.name, ir.module);
    ir.function = f;
    f->setCallingConv(llvm::CallingConv::PTX_Kernel);
    f->addFnAttr(llvm::Attribute::NoUnwind);
    f->addFnAttr("nvvm.reqntid", std::to_string(grid.threads));
    f->addFnAttr("nvvm.minctasm", "1");
    if (grid.cluster > 1) f->addFnAttr("nvvm.cluster_dim", std::to_string(grid.cluster));
    unsigned i = 0;
    for (const auto& b : k.program.buffers) {
        if (!b.parameter) continue;
        f->getArg(i)->setName(b.name);
        if (b.space == Space::tensormap) {
            // Without grid_constant the descriptor would be copied to local memory, where TMA cannot read it.
            f->addParamAttr(i, llvm::Attribute::getWithByValType(ir.context, llvm::ArrayType::get(ir.b.getInt8Ty(), kDescriptorBytes)));
            f->addParamAttr(i, llvm::Attribute::getWithAlignment(ir.context, llvm::Align(64)));
            f->addParamAttr(i, llvm::Attribute::get(ir.context, "nvvm.grid_constant"));
        } else if (b.no_alias) {
            f->addParamAttr(i, llvm::Attribute::NoAlias);
        }
        ++i;
    }
    ir.b.SetInsertPoint(ir.block("entry"));
}

void define_places(NvptxStatements& s, const tile::Grid& grid) {
    Kernel& k = s.kernel;
    Ir& ir = k.ir;
    const auto read = [&](llvm::Intrinsic::ID id) { return ir.call(id, {}, {}); };
    const auto define = [&](const char* name, llvm::Value* value, sym::Range range) {
        k.integers.define(name, ir.b.CreateZExt(value, ir.b.getInt64Ty(), name), range);
    };
    constexpr int64_t kMost = INT32_MAX;
    llvm::Value* thread = read(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
    // The same in all lanes, and known to be so: ptxas then keeps what follows from it in uniform registers.
    const auto uniform = [&](llvm::Value* v) {
        return s.assembly(ir.b.getInt32Ty(), "shfl.sync.idx.b32 $0, $1, 0, 31, 0xffffffff;", "=r,r", {v});
    };
    define("thread", thread, {0, grid.threads - 1});
    define("lane", ir.b.CreateAnd(thread, ir.i32(31)), {0, 31});
    define("warp", uniform(ir.b.CreateLShr(thread, 5)), {0, grid.threads / 32 - 1});
    define("warpgroup", uniform(ir.b.CreateLShr(thread, 7)), {0, (grid.threads - 1) / 128});
    define("cta", read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x), {0, kMost - 1});
    define("ctas", read(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x), {1, kMost});
    if (grid.cluster > 1)
        define("cluster_rank", read(llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank), {0, grid.cluster - 1});
    else
        define("cluster_rank", ir.i32(0), {0, 0});
}

bool roles_are_last(const tile::Block& body) {
    bool role = false;
    for (const auto& s : body) {
        const bool is_role = std::holds_alternative<tile::Role>(s.node);
        if (role && !is_role) return false;
        role = role || is_role;
    }
    return role;
}

} // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(const base::Target& target) {
    llvm::TargetOptions options;
    std::unique_ptr<llvm::TargetMachine> machine(nvptx().createTargetMachine(llvm::Triple("nvptx64-nvidia-cuda"), target.llvm_cpu,
                                                                             target.llvm_features, options, std::nullopt, std::nullopt,
                                                                             llvm::CodeGenOptLevel::Aggressive));
    CODETTA_CHECK(machine != nullptr, "LLVM cannot make a machine for {} with {}", target.llvm_cpu, target.llvm_features);
    return machine;
}

void emit_kernel(llvm::Module& module, const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target) {
    const auto* grid = std::get_if<tile::Grid>(&program.frame);
    CODETTA_CHECK(grid != nullptr, "the program '{}' has a CPU frame", program.name);
    Ir ir(module);
    Integers integers(ir, program.facts, true);
    Kernel kernel{program,
                  atoms,
                  target,
                  ir,
                  integers,
                  std::vector<llvm::Value*>(program.buffers.size()),
                  std::vector<llvm::MDNode*>(program.buffers.size())};
    declare(kernel, *grid);
    NvptxStatements statements(kernel);
    unsigned argument = 0;
    for (size_t i = 0; i < program.buffers.size(); ++i) {
        if (!program.buffers[i].parameter) continue;
        llvm::Value* value = ir.function->getArg(argument++);
        if (program.buffers[i].space == Space::tensormap)
            statements.tensormaps[i] = ir.b.CreatePtrToInt(value, ir.b.getInt64Ty());
        else
            kernel.base[i] = value;
    }
    for (const auto& name : program.integers) {
        const auto symbol = sym::Expr::symbol(name);
        ir.function->getArg(argument)->setName(name);
        integers.define(name, ir.function->getArg(argument++), program.facts.range(symbol),
                        std::max<int64_t>(1, program.facts.divisor(symbol)));
    }
    if (!program.checks.empty()) kernel.status = ir.function->getArg(argument);
    if (tile::smem_bytes(program) > 0) {
        auto* memory =
            new llvm::GlobalVariable(module, llvm::ArrayType::get(ir.b.getInt8Ty(), 0), false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                     "shared_memory", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
        memory->setAlignment(llvm::Align(1024));
        llvm::Value* first = ir.b.CreateTrunc(ir.b.CreatePtrToInt(memory, ir.b.getInt64Ty()), ir.b.getInt32Ty());
        statements.shared = ir.b.CreateAnd(ir.b.CreateAdd(first, ir.i32(1023)), ir.i32(~1023));
    }
    define_places(statements, *grid);
    statements.roles_are_last = roles_are_last(program.body);
    walk(statements, program.body);
    ir.b.CreateRetVoid();
}

} // namespace codetta::codegen::nvptx
