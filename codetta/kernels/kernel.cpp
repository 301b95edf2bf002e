#include "codetta/kernels/kernel.h"

#include <set>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/base/hash.h"
#include "codetta/scalar/lexer.h"

namespace codetta::kernels {

namespace {

// Words of the program's text without its integer parameters and what is known of them.
std::set<std::string, std::less<>> words_of(tile::Program program) {
    program.integers.clear();
    program.facts = {};
    const std::string text = tile::to_string(program);
    std::set<std::string, std::less<>> words;
    for (scalar::Lexer lexer(text); !lexer.at_end();) words.emplace(lexer.take().text);
    return words;
}

// A kernel that depends on a size which it does not use would count as another kernel for each size: packed weights would be made anew.
void drop_unused_integers(tile::Program& program, std::vector<sym::Expr>& integers) {
    std::set<std::string, std::less<>> used = words_of(program);
    for (const auto& [symbol, bound] : program.facts.bounds())
        if (used.contains(symbol))
            for (const std::string& name : sym::symbols(bound)) used.insert(name);
    for (size_t i = program.integers.size(); i-- > 0;) {
        if (used.contains(program.integers[i])) continue;
        program.facts.forget(program.integers[i]);
        program.integers.erase(program.integers.begin() + static_cast<std::ptrdiff_t>(i));
        integers.erase(integers.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

} // namespace

Kernel make_kernel(tile::Program program, std::vector<PointerArgument> pointers, std::vector<sym::Expr> integers, int64_t grain) {
    CODETTA_CHECK(program.integers.size() == integers.size(), "kernel {}: {} integers for {} parameters", program.name, integers.size(),
                  program.integers.size());
    drop_unused_integers(program, integers);
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
