#include "codetta/codegen/compile.h"

#include "codetta/base/error.h"
#include "codetta/codegen/backend.h"
#include "codetta/codegen/nvptx/statements.h"
#include "codetta/codegen/x86/statements.h"

#include <fmt/ranges.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/raw_ostream.h>

namespace codetta::codegen {

namespace {

// A module in its own context; the machine is made for the module and must outlive it.
struct Compiled {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::TargetMachine> machine;
    std::unique_ptr<llvm::Module> module;
};

// LLVM ends the process when it meets vectors that its machine has no registers for, so it is told of none that lack their features.
void check_machine(const base::Target& target) {
    const auto told = [&](std::string_view feature) {
        return (target.llvm_features + ",").find(fmt::format("+{},", feature)) != std::string::npos;
    };
    CODETTA_CHECK(!target.llvm_cpu.empty() && !target.llvm_features.empty(), "the target '{}' does not say what LLVM is told", target.name);
    CODETTA_CHECK(target.vector_bits != 256 || told("avx2"), "the target '{}' has vectors of 256 bits without avx2", target.name);
    CODETTA_CHECK(target.vector_bits != 512 || told("avx512f"), "the target '{}' has vectors of 512 bits without avx512f", target.name);
}

std::unique_ptr<Compiled> make_module(const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target,
                                      bool optimised) {
    for (const auto& feature : program.required)
        if (!target.has(feature))
            throw base::UserError(fmt::format("the kernel '{}' needs {}, which the target {} lacks", program.name, feature, target.name),
                                  {}, "choose another target or let the choice be made by 'auto'");
    check_machine(target);
    auto made = std::make_unique<Compiled>();
    const bool grid = std::holds_alternative<tile::Grid>(program.frame);
    made->machine = grid ? nvptx::make_target_machine(target) : make_target_machine(target);
    made->module = std::make_unique<llvm::Module>(program.name, made->context);
    made->module->setDataLayout(made->machine->createDataLayout());
    if (grid) {
        made->module->setTargetTriple(made->machine->getTargetTriple());
        nvptx::emit_kernel(*made->module, program, atoms, target);
    } else {
        x86::emit_kernel(*made->module, program, atoms, target);
        prepare(*made->module, *made->machine, target);
    }
    verify(*made->module);
    if (optimised) optimise(*made->module, *made->machine);
    return made;
}

base::KernelSignature signature_of(const tile::Program& program) {
    base::KernelSignature signature;
    for (const auto& buffer : program.buffers)
        if (buffer.parameter)
            signature.pointers.push_back({buffer.name, std::string(scalar::to_string(buffer.dtype)),
                                          buffer.written ? base::PointerRole::output : base::PointerRole::input});
    signature.integers = program.integers;
    signature.checks = program.checks;
    return signature;
}

} // namespace

base::CodeImage compile(const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target) {
    auto made = make_module(program, atoms, target, true);
    base::CodeImage image;
    if (std::holds_alternative<tile::Grid>(program.frame)) {
        image.kind = base::CodeKind::ptx;
        const std::string text = emit_assembly(*made->module, *made->machine);
        const auto* first = reinterpret_cast<const std::byte*>(text.data());
        image.bytes.assign(first, first + text.size());
        image.entries.push_back({program.name, signature_of(program)});
        image.required_features = program.required;
        return image;
    }
    image.kind = base::CodeKind::x86_elf;
    image.bytes = emit_object(*made->module, *made->machine);
    if (const auto missing = undefined_symbols(image.bytes); !missing.empty())
        throw base::InternalError(fmt::format("the code of '{}' calls what it does not have: {}", program.name, fmt::join(missing, ", ")));
    image.entries.push_back({program.name, signature_of(program)});
    image.required_features.assign(target.features.begin(), target.features.end());
    return image;
}

std::string llvm_ir(const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target, bool optimised) {
    auto made = make_module(program, atoms, target, optimised);
    std::string text;
    llvm::raw_string_ostream stream(text);
    made->module->print(stream, nullptr);
    return text;
}

std::string assembly(const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target) {
    auto made = make_module(program, atoms, target, true);
    return emit_assembly(*made->module, *made->machine);
}

std::string llvm_version() { return LLVM_VERSION_STRING; }

} // namespace codetta::codegen
