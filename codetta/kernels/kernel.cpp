#include "codetta/kernels/kernel.h"

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/base/hash.h"

namespace codetta::kernels {

Kernel make_kernel(tile::Program program, std::vector<PointerArgument> pointers, std::vector<sym::Expr> integers, int64_t grain) {
    CODETTA_CHECK(program.integers.size() == integers.size(), "kernel {}: {} integers for {} parameters", program.name, integers.size(),
                  program.integers.size());
    Kernel k;
    sym::Substitution by;
    for (size_t i = 0; i < integers.size(); ++i) by.emplace(program.integers[i], integers[i]);
    k.tasks = 1;
    if (const auto* tasks = std::get_if<std::vector<tile::TaskIndex>>(&program.frame))
        for (const auto& t : *tasks) k.tasks = k.tasks * sym::substitute(t.extent, by);
    else
        k.tasks = sym::substitute(std::get<tile::Grid>(program.frame).ctas, by);
    k.scratch_bytes = sym::substitute(tile::scratch_bytes(program), by);
    const uint64_t hash = base::hash_string(tile::to_string(program));
    program.name += fmt::format("_{:010x}", hash & 0xffffffffffull);
    k.program = std::move(program);
    k.pointers = std::move(pointers);
    k.integers = std::move(integers);
    k.grain = grain;
    return k;
}

} // namespace codetta::kernels
