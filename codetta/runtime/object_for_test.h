// For tests only: makes relocatable objects with the system's C compiler, so that loader and executable are tested without LLVM.
#pragma once

#include "codetta/base/atomic_file.h"
#include "codetta/base/code_image.h"
#include "codetta/base/error.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace codetta::runtime {

/// Compiles C (`suffix` ".c") or assembler (".s") text with `cc`; the result is what generated code looks like: position independent.
inline std::vector<std::byte> object_for_test(const std::string& text, const std::string& suffix = ".c", const std::string& flags = "") {
    static int counter = 0;
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("codetta_object_" + std::to_string(::getpid()) + "_" + std::to_string(counter++));
    const std::string source = (folder / ("kernel" + suffix)).string(), object = (folder / "kernel.o").string();
    base::write_file_atomically(source, text);
    const std::string command = "cc -O2 -fPIC -fno-plt -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables " + flags +
                                " -c " + source + " -o " + object;
    const int status = std::system(command.c_str());
    CODETTA_CHECK(status == 0, "'{}' failed", command);
    const std::string content = base::read_file(object);
    std::filesystem::remove_all(folder);
    std::vector<std::byte> bytes(content.size());
    std::memcpy(bytes.data(), content.data(), content.size());
    return bytes;
}

/// What every C kernel of a test begins with.
inline const char* const kernel_prelude = R"(
typedef long int64_t; typedef int int32_t;
typedef struct { void* const* pointers; const int64_t* integers; int32_t* status; } args_t;
)";

inline base::CodeImage image_for_test(const std::string& c_text, std::vector<base::CodeEntry> entries) {
    base::CodeImage image;
    image.bytes = object_for_test(kernel_prelude + c_text);
    image.entries = std::move(entries);
    return image;
}

} // namespace codetta::runtime
