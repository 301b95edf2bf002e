// The parser, the printer and the verifier of tile programs: any text either gives a UserError or a Program that prints and parses back to
// the same text, and that the verifier takes or refuses by naming the kernel.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "codetta/base/error.h"
#include "codetta/targets/list.h"
#include "codetta/tile/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace codetta;
    static const tile::AtomSet atoms = targets::atoms();
    tile::Program p;
    try {
        p = tile::parse_program({reinterpret_cast<const char*>(data), size});
    } catch (const base::UserError&) {
        return 0;
    }
    const std::string printed = tile::to_string(p);
    if (tile::to_string(tile::parse_program(printed)) != printed) std::abort();
    try {
        tile::verify(p, atoms);
    } catch (const base::InternalError& e) {
        // Sizes that leave 64 bits are found when expressions meet.
        const std::string_view what = e.what();
        const bool names_the_kernel = what.find("kernel ") != what.npos || what.find("atom ") != what.npos;
        if (!names_the_kernel && what.find("does not fit 64 bits") == what.npos && what.find("is not written out") == what.npos) {
            std::fprintf(stderr, "%s\n", e.what());
            std::abort();
        }
    }
    return 0;
}
