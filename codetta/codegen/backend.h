// LLVM's half: a target machine for a Target, our short pass list, object code, and the check that nothing is left undefined.
#pragma once

#include "codetta/base/target.h"

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <vector>

namespace codetta::codegen {

std::unique_ptr<llvm::TargetMachine> make_target_machine(const base::Target& target);

/// Triple, data layout and function attributes of the machine.
void prepare(llvm::Module& module, llvm::TargetMachine& machine, const base::Target& target);

/// InternalError with LLVM's words when the module is malformed.
void verify(const llvm::Module& module);

void optimise(llvm::Module& module, llvm::TargetMachine& machine);

std::vector<std::byte> emit_object(llvm::Module& module, llvm::TargetMachine& machine);
std::string emit_assembly(llvm::Module& module, llvm::TargetMachine& machine);

/// The names of the undefined symbols of an ELF object.
std::vector<std::string> undefined_symbols(const std::vector<std::byte>& object);

} // namespace codetta::codegen
