// Loads an x86-64 ELF relocatable object into memory, without LLVM and without the system's linker.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace codetta::runtime {

struct LoadOptions {
    bool perf_map = false; ///< append the kernels' names to /tmp/perf-<pid>.map
};

/// Machine code in this process: code is readable and executable, everything else read-only, nothing ever both writable and executable.
/// Unloaded on destruction; no function of it may be running then.
class LoadedCode {
public:
    /// @throws UserError "damaged code image: ..." when `object` is not what it should be (each offset and size is checked);
    ///         InternalError when it has undefined symbols, writable data or a relocation that generated code never has
    explicit LoadedCode(std::span<const std::byte> object, const LoadOptions& options = {});
    ~LoadedCode();
    LoadedCode(LoadedCode&&) noexcept;
    LoadedCode& operator=(LoadedCode&&) noexcept;

    /// The address of a global function, or null when there is none of that name.
    void* find(std::string_view symbol) const;

private:
    LoadedCode() = default;
    struct Function {
        std::string name;
        std::byte* address;
        size_t bytes;
    };
    std::byte* base_ = nullptr;
    size_t bytes_ = 0;
    std::vector<Function> functions_; // by name
};

} // namespace codetta::runtime
