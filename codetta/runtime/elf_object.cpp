#include "codetta/runtime/elf_object.h"

#include "codetta/base/error.h"

#include <cstring>

namespace codetta::runtime {

void throw_damaged(std::string_view what) {
    throw base::UserError(fmt::format("damaged code image: {}", what), {}, "delete the file or cache entry it came from and compile again");
}

namespace {

void check(bool condition, std::string_view what) {
    if (!condition) [[unlikely]]
        throw_damaged(what);
}

/// Whether [offset, offset + size) lies inside `whole` bytes.
bool inside(uint64_t offset, uint64_t size, uint64_t whole) { return offset <= whole && size <= whole - offset; }

} // namespace

ElfObject::ElfObject(std::span<const std::byte> bytes) : bytes_(bytes) {
    check(bytes.size() >= sizeof(Elf64_Ehdr), "shorter than an ELF header");
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    check(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0, "no ELF file");
    check(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB, "not 64-bit little-endian");
    check(header.e_type == ET_REL && header.e_machine == EM_X86_64, "not a relocatable x86-64 object");
    check(header.e_shentsize == sizeof(Elf64_Shdr), "section headers of a wrong size");
    check(header.e_shnum != 0 && header.e_shnum < SHN_LORESERVE, "no section headers, or too many");
    check(inside(header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr), bytes.size()), "section headers outside the file");
    sections_.resize(header.e_shnum);
    std::memcpy(sections_.data(), bytes.data() + header.e_shoff, sections_.size() * sizeof(Elf64_Shdr));

    check(header.e_shstrndx < sections_.size(), "section name table out of range");
    names_section_ = header.e_shstrndx;
    for (size_t i = 0; i < sections_.size(); i++) {
        const Elf64_Shdr& section = sections_[i];
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL)
            check(inside(section.sh_offset, section.sh_size, bytes.size()), "a section outside the file");
        if (section.sh_type != SHT_SYMTAB) continue;
        check(symbols_.empty(), "two symbol tables");
        symbols_ = entries<Elf64_Sym>(i);
        check(section.sh_link < sections_.size(), "symbol name table out of range");
        symbol_names_section_ = section.sh_link;
    }
}

template <class Entry>
std::vector<Entry> ElfObject::entries(size_t section) const {
    const std::span<const std::byte> data = content(section);
    check(sections_[section].sh_entsize == sizeof(Entry) && data.size() % sizeof(Entry) == 0, "a table with entries of a wrong size");
    std::vector<Entry> made(data.size() / sizeof(Entry));
    if (!made.empty()) std::memcpy(made.data(), data.data(), data.size());
    return made;
}

std::span<const std::byte> ElfObject::content(size_t section) const {
    check(section < sections_.size(), "section number out of range");
    check(sections_[section].sh_type != SHT_NOBITS && sections_[section].sh_type != SHT_NULL, "a section without content");
    return bytes_.subspan(sections_[section].sh_offset, sections_[section].sh_size);
}

std::string_view ElfObject::string_at(size_t string_section, uint64_t offset) const {
    const std::span<const std::byte> table = content(string_section);
    check(offset < table.size(), "a name outside its table");
    const char* start = reinterpret_cast<const char*>(table.data()) + offset;
    const void* end = std::memchr(start, '\0', table.size() - offset);
    check(end != nullptr, "a name without an end");
    return {start, static_cast<size_t>(static_cast<const char*>(end) - start)};
}

std::string_view ElfObject::section_name(size_t section) const { return string_at(names_section_, sections_.at(section).sh_name); }

std::string_view ElfObject::symbol_name(const Elf64_Sym& symbol) const { return string_at(symbol_names_section_, symbol.st_name); }

std::vector<Elf64_Rela> ElfObject::relocations(size_t section) const {
    std::vector<Elf64_Rela> made = entries<Elf64_Rela>(section);
    for (const Elf64_Rela& relocation : made)
        check(ELF64_R_SYM(relocation.r_info) < symbols_.size(), "a relocation with an unknown symbol");
    return made;
}

} // namespace codetta::runtime
