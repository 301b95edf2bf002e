#include "codetta/base/kernel_signature.h"

#include <fmt/format.h>

namespace codetta::base {

namespace {

const char* role_name(PointerRole role) {
    switch (role) {
    case PointerRole::input: return "in";
    case PointerRole::output: return "out";
    case PointerRole::input_output: return "inout";
    }
    return "?";
}

} // namespace

std::string to_string(const KernelSignature& signature) {
    std::string text = "(";
    for (size_t i = 0; i < signature.pointers.size(); i++) {
        const KernelPointer& pointer = signature.pointers[i];
        text += fmt::format("{}{} {}: {}", i ? ", " : "", role_name(pointer.role), pointer.name, pointer.dtype);
    }
    for (size_t i = 0; i < signature.integers.size(); i++) text += (i ? ", " : "; ") + signature.integers[i];
    for (size_t i = 0; i < signature.checks.size(); i++) text += fmt::format("{}\"{}\"", i ? ", " : "; checks ", signature.checks[i]);
    return text + ")";
}

} // namespace codetta::base
