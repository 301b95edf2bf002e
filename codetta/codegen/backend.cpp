#include "codetta/codegen/backend.h"

#include "codetta/base/error.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

extern "C" {
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace codetta::codegen {

namespace {

const llvm::Target& x86() {
    static std::once_flag once;
    static const llvm::Target* found = nullptr;
    std::call_once(once, [] {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        std::string why;
        found = llvm::TargetRegistry::lookupTarget(llvm::Triple("x86_64-unknown-linux-gnu"), why);
    });
    CODETTA_CHECK(found != nullptr, "this LLVM has no x86-64 back end");
    return *found;
}

} // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(const base::Target& target) {
    llvm::TargetOptions options;
    options.MCOptions.AsmVerbose = false;
    std::unique_ptr<llvm::TargetMachine> machine(x86().createTargetMachine(llvm::Triple("x86_64-unknown-linux-gnu"), target.llvm_cpu,
                                                                           target.llvm_features, options, llvm::Reloc::PIC_,
                                                                           llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
    CODETTA_CHECK(machine != nullptr, "LLVM cannot make a machine for {} with {}", target.llvm_cpu, target.llvm_features);
    return machine;
}

void prepare(llvm::Module& module, llvm::TargetMachine& machine, const base::Target& target) {
    module.setTargetTriple(machine.getTargetTriple());
    module.setDataLayout(machine.createDataLayout());
    for (llvm::Function& f : module) {
        if (f.isDeclaration()) continue;
        f.addFnAttr(llvm::Attribute::NoUnwind);
        f.addFnAttr("target-cpu", target.llvm_cpu);
        f.addFnAttr("tune-cpu", target.llvm_tune); // the scheduling model
        f.addFnAttr("target-features", target.llvm_features);
        f.addFnAttr("prefer-vector-width", std::to_string(target.vector_bits));
        f.addFnAttr("min-legal-vector-width", std::to_string(target.vector_bits));
        f.addFnAttr("no-builtins");
    }
}

void verify(const llvm::Module& module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (llvm::verifyModule(module, &stream)) throw base::InternalError("codegen made malformed LLVM IR: " + text);
}

// The IR comes unrolled and vectorised; what is left is to lift buffers into registers, share addresses and leave loops with what they
// need.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager calls;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder(&machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(calls);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, calls, modules);
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::InstCombinePass());
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
    passes.addPass(llvm::SimplifyCFGPass());
    llvm::ModulePassManager all;
    all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
    all.run(module, modules);
}

std::vector<std::byte> emit_object(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::SmallVector<char, 0> buffer;
    llvm::raw_svector_ostream stream(buffer);
    llvm::legacy::PassManager passes;
    llvm::MCContext* context = nullptr;
    CODETTA_CHECK(!machine.addPassesToEmitMC(passes, context, stream), "LLVM cannot emit objects for this machine");
    passes.run(module);
    const auto* first = reinterpret_cast<const std::byte*>(buffer.data());
    return {first, first + buffer.size()};
}

std::string emit_assembly(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::SmallVector<char, 0> buffer;
    llvm::raw_svector_ostream stream(buffer);
    llvm::legacy::PassManager passes;
    CODETTA_CHECK(!machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile),
                  "LLVM cannot emit assembly for this machine");
    passes.run(module);
    return {buffer.data(), buffer.size()};
}

std::vector<std::string> undefined_symbols(const std::vector<std::byte>& object) {
    const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
    auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "kernel"));
    if (!file) throw base::InternalError("LLVM made an unreadable object: " + llvm::toString(file.takeError()));
    std::vector<std::string> names;
    for (const auto& symbol : (*file)->symbols()) {
        auto flags = symbol.getFlags();
        auto name = symbol.getName();
        if (!flags || !name) {
            llvm::consumeError(flags.takeError());
            llvm::consumeError(name.takeError());
            continue;
        }
        if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty()) names.push_back(name->str());
    }
    return names;
}

} // namespace codetta::codegen
