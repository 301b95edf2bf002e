// LLVM's Support library asks arc4random() for the names of temporary files. glibc has it from 2.36 on, which would make the wheel useless
// on older systems for that one call; this definition is taken instead (exports.map keeps it out of sight) and asks the kernel directly.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" uint32_t arc4random() noexcept {
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) std::abort();
    return number;
}
