#include "codetta/base/atomic_file.h"
#include "codetta/base/error.h"
#include "codetta/runtime/code_loader.h"
#include "codetta/runtime/elf_object.h"
#include "codetta/runtime/object_for_test.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <sstream>

namespace codetta::runtime {
namespace {

template <class Function>
Function* function(const LoadedCode& code, std::string_view name) {
    return reinterpret_cast<Function*>(code.find(name));
}

/// Tables, constants, calls between functions, pointers to functions, a global reached through the table of addresses.
const char* const rich_source = R"(
static const float table[4] = {1.5f, 2.5f, 3.5f, 4.5f};
const int exported[3] = {10, 20, 30};
__attribute__((noinline)) int twice(int x) { return 2 * x; }
__attribute__((noinline)) int thrice(int x) { return 3 * x; }
typedef int (*fn)(int);
static const fn both[2] = {twice, thrice};
float look(int i) { return table[i & 3] * 3.25f; }
int pick(int which, int x) { return both[which & 1](x); }
int call(int x) { return twice(x) + exported[x % 3]; }
int choose(int i) { switch (i) { case 0: return 7; case 1: return -3; case 2: return 99; case 3: return 1234; case 4: return 5; default: return 0; } }
)";

TEST(CodeLoader, RunsCodeWithTablesCallsAndPointers) {
    const LoadedCode code{object_for_test(rich_source)};
    EXPECT_EQ(function<float(int)>(code, "look")(2), 3.5f * 3.25f);
    EXPECT_EQ(function<int(int, int)>(code, "pick")(0, 21), 42);
    EXPECT_EQ(function<int(int, int)>(code, "pick")(1, 21), 63);
    EXPECT_EQ(function<int(int)>(code, "call")(4), 8 + 20);
    EXPECT_EQ(function<int(int)>(code, "choose")(3), 1234);
    EXPECT_EQ(function<int(int)>(code, "choose")(9), 0);
    EXPECT_EQ(code.find("table"), nullptr) << "local";
    EXPECT_EQ(code.find("exported"), nullptr) << "no code";
    EXPECT_EQ(code.find("missing"), nullptr);
}

TEST(CodeLoader, AbsoluteAndTableRelocations) {
    const LoadedCode code{object_for_test(R"(
        .text
        .globl get
        .type get, @function
    get:
        movq value@GOTPCREL(%rip), %rax
        movl (%rax), %eax
        addl address_of_value(%rip), %eax
        movq pointer(%rip), %rcx
        addl (%rcx), %eax
        subl address_of_value(%rip), %eax
        ret
        .section .data.rel.ro,"aw"
        .align 8
    pointer: .quad value+4
        .section .rodata,"a"
        .align 4
        .globl value
    value: .long 40, 2
    address_of_value: .long value - .
        .section .note.GNU-stack,"",@progbits
    )",
                                          ".s")};
    EXPECT_EQ(function<int()>(code, "get")(), 42);
}

TEST(CodeLoader, UndefinedSymbolIsNamed) {
    try {
        const LoadedCode code{object_for_test("extern float expf(float); float f(float x) { return expf(x); }")};
        FAIL();
    } catch (const base::InternalError& error) {
        EXPECT_EQ(error.message(), "generated code calls 'expf', which is not in it");
    }
}

TEST(CodeLoader, WritableAndThreadLocalDataAreRefused) {
    EXPECT_THROW(LoadedCode{object_for_test("int counter = 3; int f(void) { return counter++; }")}, base::InternalError);
    EXPECT_THROW(
        LoadedCode{object_for_test("static __thread int counter = 3; int f(void) { return counter++; }", ".c", "-ftls-model=initial-exec")},
        base::InternalError);
}

TEST(CodeLoader, NothingIsWritableAndExecutable) {
    const LoadedCode code{object_for_test(rich_source)};
    const auto address = reinterpret_cast<uintptr_t>(code.find("call"));
    std::ifstream maps("/proc/self/maps");
    bool found = false;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream fields(line);
        uintptr_t begin = 0, end = 0;
        char dash = 0;
        std::string rights;
        fields >> std::hex >> begin >> dash >> end >> rights;
        EXPECT_FALSE(rights.find('w') != std::string::npos && rights.find('x') != std::string::npos) << line;
        if (begin <= address && address < end) {
            EXPECT_EQ(rights, "r-xp");
            found = true;
        }
    }
    EXPECT_TRUE(found);
}

TEST(CodeLoader, UnloadsAndMoves) {
    const std::vector<std::byte> object = object_for_test(rich_source);
    void* address = nullptr;
    {
        LoadedCode first(object);
        address = first.find("call");
        LoadedCode second(std::move(first));
        EXPECT_EQ(second.find("call"), address);
        EXPECT_EQ(first.find("call"), nullptr);
        LoadedCode third(object);
        third = std::move(second);
        EXPECT_EQ(third.find("call"), address);
    }
    unsigned char resident = 0;
    const auto page = reinterpret_cast<uintptr_t>(address) & ~uintptr_t(4095);
    EXPECT_NE(::mincore(reinterpret_cast<void*>(page), 1, &resident), 0) << "still mapped";
}

TEST(CodeLoader, PerfMapNamesFunctions) {
    const std::string path = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
    std::filesystem::remove(path);
    const LoadedCode code(object_for_test(rich_source), {.perf_map = true});
    EXPECT_NE(base::read_file(path).find(" call\n"), std::string::npos);
    std::filesystem::remove(path);
}

TEST(CodeLoader, DamageHasExactMessages) {
    const auto message = [](std::vector<std::byte> bytes) -> std::string {
        try {
            const LoadedCode code(bytes);
        } catch (const base::UserError& error) {
            return error.message();
        }
        return "no error";
    };
    std::vector<std::byte> good = object_for_test(rich_source);
    EXPECT_EQ(message({}), "damaged code image: shorter than an ELF header");
    std::vector<std::byte> bad = good;
    bad[0] = std::byte(0);
    EXPECT_EQ(message(bad), "damaged code image: no ELF file");
    bad = good;
    bad[18] = std::byte(40); // e_machine
    EXPECT_EQ(message(bad), "damaged code image: not a relocatable x86-64 object");
    bad = good;
    bad.resize(good.size() / 2);
    EXPECT_EQ(message(bad), "damaged code image: section headers outside the file");
    bad = good;
    std::memset(bad.data() + 40, 0xff, 8); // e_shoff
    EXPECT_EQ(message(bad), "damaged code image: section headers outside the file");
    try {
        const LoadedCode code(std::vector<std::byte>(100));
        FAIL();
    } catch (const base::UserError& error) {
        EXPECT_STREQ(error.what(), "damaged code image: no ELF file; delete the file or cache entry it came from and compile again");
    }
}

TEST(CodeLoader, AnyDamageIsAnErrorAndNeverACrash) {
    // Every truncation, and thousands of random changes of bytes outside the code: the loader may accept harmless ones, but must not crash.
    const std::vector<std::byte> good = object_for_test(rich_source);
    const auto load = [](const std::vector<std::byte>& bytes) {
        try {
            const LoadedCode code(bytes);
        } catch (const base::Error&) {}
    };
    for (size_t size = 0; size < good.size(); size += 7) load({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)});
    std::mt19937 random(1);
    for (int i = 0; i < 20000; i++) {
        std::vector<std::byte> bad = good;
        for (unsigned changes = 1 + random() % 4; changes > 0; changes--) bad[random() % bad.size()] = static_cast<std::byte>(random());
        load(bad);
    }
    // Section headers and symbols are where the numbers are.
    const ElfObject object(good);
    for (int i = 0; i < 20000; i++) {
        std::vector<std::byte> bad = good;
        uint64_t header_at = 0;
        std::memcpy(&header_at, good.data() + 40, 8);
        const size_t at = header_at + random() % (object.sections().size() * sizeof(Elf64_Shdr));
        bad[at] = static_cast<std::byte>(random());
        load(bad);
    }
}

} // namespace
} // namespace codetta::runtime
