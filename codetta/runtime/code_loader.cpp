#include "codetta/runtime/code_loader.h"

#include "codetta/base/error.h"
#include "codetta/base/log.h"
#include "codetta/runtime/elf_object.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace codetta::runtime {

namespace {

constexpr uint64_t page_bytes = 4096;
constexpr uint64_t largest_image_bytes = uint64_t(1) << 30; // 32-bit displacements reach everywhere inside
constexpr uint64_t largest_alignment = page_bytes;
constexpr uint64_t space_before_code = 64; // tools look at the bytes before a function (UBSan's check of indirect calls does)
constexpr int breakpoint = 0xcc;           // int3, between functions: a stray jump stops at once

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

[[noreturn]] void throw_system_error(const char* what, int error) {
    throw base::DeviceError(fmt::format("cannot {}: {}", what, std::generic_category().message(error)), "code loader",
                            "check whether the system forbids new executable memory (SELinux execmem, a container's seccomp filter)");
}

/// Where each section of an object goes in one mapping: first code, then, from a new page on, read-only data and the table of addresses.
class Image {
public:
    explicit Image(const ElfObject& object) : object_(object), place_(object.sections().size()) {
        size_ = space_before_code;
        place_sections(true);
        if (size_ == space_before_code) throw_damaged("no code in it");
        code_bytes_ = size_ = round_up(size_, page_bytes);
        place_sections(false);
        find_relocations();
        size_ = round_up(size_, 8);
        addresses_at_ = size_;
        size_ += 8 * address_slots_.size();
        size_ = round_up(size_, page_bytes);
        if (size_ > largest_image_bytes) throw_damaged("larger than 1 GiB");
    }

    uint64_t size() const { return size_; }
    uint64_t code_bytes() const { return code_bytes_; }
    std::optional<uint64_t> place(size_t section) const { return section < place_.size() ? place_[section] : std::nullopt; }

    /// Copies the sections to `base` and fills in all addresses.
    void write(std::byte* base) const {
        std::memset(base, breakpoint, code_bytes_);
        const auto& sections = object_.sections();
        for (size_t i = 0; i < sections.size(); i++) {
            if (!place_[i] || sections[i].sh_type == SHT_NOBITS) continue; // fresh memory is zero
            const std::span<const std::byte> content = object_.content(i);
            if (!content.empty()) std::memcpy(base + *place_[i], content.data(), content.size());
        }
        for (const auto& [symbol, slot] : address_slots_) {
            const uint64_t address = symbol_address(symbol, base);
            std::memcpy(base + addresses_at_ + 8 * slot, &address, 8);
        }
        for (const Fixup& fixup : fixups_) apply(fixup, base);
    }

    /// The offset of a defined symbol in the mapping; null when it lies in no loaded section.
    std::optional<uint64_t> symbol_offset(const Elf64_Sym& symbol) const {
        const std::optional<uint64_t> section = place(symbol.st_shndx);
        if (!section) return std::nullopt;
        if (symbol.st_value > object_.sections()[symbol.st_shndx].sh_size) throw_damaged("a symbol outside its section");
        return *section + symbol.st_value;
    }

private:
    struct Fixup {
        uint64_t at; // offset in the mapping
        uint32_t type;
        uint32_t symbol;
        int64_t addend;
    };

    /// Unwinding tables are no use here: kernels throw nothing.
    bool is_loaded(size_t section) const {
        const Elf64_Shdr& header = object_.sections()[section];
        if (!(header.sh_flags & SHF_ALLOC) || header.sh_size == 0) return false;
        return header.sh_type != SHT_X86_64_UNWIND && object_.section_name(section) != ".eh_frame" && header.sh_type != SHT_NOTE;
    }

    void place_sections(bool code) {
        for (size_t i = 0; i < place_.size(); i++) {
            const Elf64_Shdr& header = object_.sections()[i];
            if (!is_loaded(i) || bool(header.sh_flags & SHF_EXECINSTR) != code) continue;
            const std::string_view name = object_.section_name(i);
            if (header.sh_flags & SHF_TLS) throw base::InternalError(fmt::format("generated code has thread-local data ({})", name));
            // .data.rel.ro is writable only until its addresses are filled in.
            if ((header.sh_flags & SHF_WRITE) && !name.starts_with(".data.rel.ro"))
                throw base::InternalError(fmt::format("generated code has writable data ({})", name));
            const uint64_t alignment = std::max<uint64_t>(1, header.sh_addralign);
            if ((alignment & (alignment - 1)) != 0 || alignment > largest_alignment)
                throw_damaged("a section with an impossible alignment");
            if (header.sh_size > largest_image_bytes) throw_damaged("larger than 1 GiB");
            size_ = round_up(size_, alignment);
            place_[i] = size_;
            size_ += header.sh_size;
            if (size_ > largest_image_bytes) throw_damaged("larger than 1 GiB");
        }
    }

    static uint64_t width(uint32_t type) { return type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4; }

    void find_relocations() {
        for (size_t i = 0; i < place_.size(); i++) {
            const Elf64_Shdr& header = object_.sections()[i];
            if (header.sh_type == SHT_REL) throw_damaged("relocations without addends");
            if (header.sh_type != SHT_RELA) continue;
            if (header.sh_info >= place_.size()) throw_damaged("relocations of an unknown section");
            if (!place_[header.sh_info]) continue; // of debug information, unwinding tables
            const uint64_t section_bytes = object_.sections()[header.sh_info].sh_size;
            if (object_.sections()[header.sh_info].sh_type == SHT_NOBITS) throw_damaged("relocations of a section without content");
            for (const Elf64_Rela& relocation : object_.relocations(i)) {
                const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
                const auto symbol = static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info));
                if (type == R_X86_64_NONE) continue;
                if (relocation.r_offset > section_bytes || section_bytes - relocation.r_offset < width(type))
                    throw_damaged("a relocation outside its section");
                check_symbol(symbol);
                if (type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX)
                    address_slots_.emplace(symbol, address_slots_.size());
                fixups_.push_back({*place_[header.sh_info] + relocation.r_offset, type, symbol, relocation.r_addend});
            }
        }
    }

    void check_symbol(uint32_t index) const {
        const Elf64_Sym& symbol = object_.symbols()[index];
        if (symbol.st_shndx == SHN_ABS) return;
        if (symbol.st_shndx == SHN_UNDEF)
            throw base::InternalError(fmt::format("generated code calls '{}', which is not in it", object_.symbol_name(symbol)),
                                      "code loader");
        if (!symbol_offset(symbol)) throw_damaged("a relocation to a symbol that is not loaded");
    }

    uint64_t symbol_address(uint32_t index, const std::byte* base) const {
        const Elf64_Sym& symbol = object_.symbols()[index];
        if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
        return reinterpret_cast<uint64_t>(base) + *symbol_offset(symbol);
    }

    void apply(const Fixup& fixup, std::byte* base) const {
        const uint64_t place = reinterpret_cast<uint64_t>(base) + fixup.at;
        // Unsigned arithmetic wraps as addresses do; whether the result fits is checked below.
        const uint64_t target = symbol_address(fixup.symbol, base) + static_cast<uint64_t>(fixup.addend);
        switch (fixup.type) {
        case R_X86_64_64: return store<uint64_t>(base + fixup.at, target);
        case R_X86_64_PC64: return store<uint64_t>(base + fixup.at, target - place);
        case R_X86_64_PC32:
        case R_X86_64_PLT32: return store_signed(base + fixup.at, target - place);
        case R_X86_64_32S: return store_signed(base + fixup.at, target);
        case R_X86_64_32:
            if (target > UINT32_MAX) throw base::InternalError("generated code is not position independent (R_X86_64_32)", "code loader");
            return store<uint32_t>(base + fixup.at, static_cast<uint32_t>(target));
        case R_X86_64_GOTPCREL:
        case R_X86_64_GOTPCRELX:
        case R_X86_64_REX_GOTPCRELX: {
            const uint64_t slot = reinterpret_cast<uint64_t>(base) + addresses_at_ + 8 * address_slots_.at(fixup.symbol);
            return store_signed(base + fixup.at, slot + static_cast<uint64_t>(fixup.addend) - place);
        }
        default: throw base::InternalError(fmt::format("generated code has a relocation of type {}", fixup.type), "code loader");
        }
    }

    template <class T>
    static void store(std::byte* at, T value) {
        std::memcpy(at, &value, sizeof value);
    }

    static void store_signed(std::byte* at, uint64_t value) {
        const auto wide = static_cast<int64_t>(value);
        if (wide != static_cast<int32_t>(wide))
            throw base::InternalError("generated code is not position independent (displacement too large)", "code loader");
        store<int32_t>(at, static_cast<int32_t>(wide));
    }

    const ElfObject& object_;
    std::vector<std::optional<uint64_t>> place_; // of each section in the mapping
    std::vector<Fixup> fixups_;
    std::map<uint32_t, uint64_t> address_slots_; // symbol -> slot of the table of addresses
    uint64_t size_ = 0;
    uint64_t code_bytes_ = 0;
    uint64_t addresses_at_ = 0;
};

void append_perf_map(std::string_view name, const void* address, size_t bytes) {
    const std::string path = fmt::format("/tmp/perf-{}.map", ::getpid());
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
    const std::string line = fmt::format("{:x} {:x} {}\n", reinterpret_cast<uintptr_t>(address), bytes, name);
    if (file < 0 || ::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        base::warn_once("code_loader.perf_map", "cannot write {}", path);
    if (file >= 0) ::close(file);
}

} // namespace

LoadedCode::LoadedCode(std::span<const std::byte> object, const LoadOptions& options) {
    const ElfObject elf(object);
    const Image image(elf);
    void* mapping = ::mmap(nullptr, image.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw_system_error("get memory for generated code", errno);
    LoadedCode loading; // unmaps when something below throws
    loading.base_ = static_cast<std::byte*>(mapping);
    loading.bytes_ = image.size();
    image.write(loading.base_);
    if (::mprotect(loading.base_, image.code_bytes(), PROT_READ | PROT_EXEC) != 0)
        throw_system_error("make generated code executable", errno);
    if (image.size() > image.code_bytes() &&
        ::mprotect(loading.base_ + image.code_bytes(), image.size() - image.code_bytes(), PROT_READ) != 0)
        throw_system_error("make generated data read-only", errno);

    for (const Elf64_Sym& symbol : elf.symbols()) {
        const int type = ELF64_ST_TYPE(symbol.st_info);
        if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL || (type != STT_FUNC && type != STT_NOTYPE) || symbol.st_shndx == SHN_UNDEF)
            continue;
        const std::optional<uint64_t> offset = image.symbol_offset(symbol);
        if (!offset || *offset >= image.code_bytes()) continue;
        loading.functions_.push_back({std::string(elf.symbol_name(symbol)), loading.base_ + *offset, symbol.st_size});
        if (options.perf_map) append_perf_map(loading.functions_.back().name, loading.functions_.back().address, symbol.st_size);
    }
    std::sort(loading.functions_.begin(), loading.functions_.end(), [](const Function& a, const Function& b) { return a.name < b.name; });
    *this = std::move(loading);
}

LoadedCode::~LoadedCode() {
    if (base_ != nullptr) ::munmap(base_, bytes_);
}

LoadedCode::LoadedCode(LoadedCode&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), functions_(std::move(other.functions_)) {}

LoadedCode& LoadedCode::operator=(LoadedCode&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    std::swap(functions_, other.functions_);
    return *this;
}

void* LoadedCode::find(std::string_view symbol) const {
    const auto found = std::lower_bound(functions_.begin(), functions_.end(), symbol,
                                        [](const Function& f, std::string_view name) { return f.name < name; });
    return found != functions_.end() && found->name == symbol ? found->address : nullptr;
}

} // namespace codetta::runtime
