// The one door from tile programs to machine code.
#pragma once

#include "codetta/base/code_image.h"
#include "codetta/base/target.h"
#include "codetta/tile/atom.h"
#include "codetta/tile/program.h"

#include <string>

namespace codetta::codegen {

/// Machine code of one program. x86: an ELF object whose one global function is `program.name`.
/// Thread-safe: every call has its own LLVM context.
/// @pre tile::verify(program, atoms); the target has the features that the program requires (UserError otherwise)
/// @post the image has no undefined symbols (InternalError naming them otherwise)
base::CodeImage compile(const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target);

/// For dumps and goldens: the LLVM IR before (`optimised` false) or after the passes, and the assembly.
std::string llvm_ir(const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target, bool optimised = true);
std::string assembly(const tile::Program& program, const tile::AtomSet& atoms, const base::Target& target);

/// Of the LLVM inside: "22.1.8".
std::string llvm_version();

} // namespace codetta::codegen
