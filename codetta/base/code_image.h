// CodeImage: machine code as plain bytes, with the list of kernels in it. Made by codegen, loaded by runtime; may lie in a file meanwhile.
#pragma once

#include "codetta/base/kernel_signature.h"

#include <cstddef>
#include <string>
#include <vector>

namespace codetta::base {

enum class CodeKind {
    x86_elf, ///< one x86-64 ELF relocatable object: small code model, position independent, no undefined symbols
    ptx,     ///< text, not zero-terminated
    cubin,
};

struct CodeEntry {
    std::string symbol;
    KernelSignature signature;

    friend bool operator==(const CodeEntry&, const CodeEntry&) = default;
};

struct CodeImage {
    CodeKind kind = CodeKind::x86_elf;
    std::vector<std::byte> bytes;
    std::vector<CodeEntry> entries;
    std::vector<std::string> required_features; ///< features (base/target.h) that the machine must have, e.g. "avx512f", "amx_bf16"

    friend bool operator==(const CodeImage&, const CodeImage&) = default;
};

} // namespace codetta::base
