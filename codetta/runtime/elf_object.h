// Reads an x86-64 ELF relocatable object from untrusted bytes: every offset, size and index is checked before use.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace codetta::runtime {

/// Borrows the bytes. @throws UserError "damaged code image: ..." from every function that meets something impossible
class ElfObject {
public:
    explicit ElfObject(std::span<const std::byte> bytes);

    const std::vector<Elf64_Shdr>& sections() const { return sections_; }
    std::string_view section_name(size_t section) const;
    /// The bytes of a section that has some in the file (not SHT_NOBITS).
    std::span<const std::byte> content(size_t section) const;

    const std::vector<Elf64_Sym>& symbols() const { return symbols_; }
    std::string_view symbol_name(const Elf64_Sym& symbol) const;
    /// The relocations of an SHT_RELA section; each symbol index is in range.
    std::vector<Elf64_Rela> relocations(size_t section) const;

private:
    std::string_view string_at(size_t string_section, uint64_t offset) const;
    template <class Entry>
    std::vector<Entry> entries(size_t section) const;

    std::span<const std::byte> bytes_;
    std::vector<Elf64_Shdr> sections_;
    size_t names_section_ = 0;
    std::vector<Elf64_Sym> symbols_;
    size_t symbol_names_section_ = 0;
};

[[noreturn]] void throw_damaged(std::string_view what);

} // namespace codetta::runtime
