#include "codetta/compile/build.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <set>
#include <string>
#include <thread>

#include "codetta/base/log.h"
#include "codetta/codegen/compile.h"
#include "codetta/providers/candidate.h"
#include "codetta/targets/list.h"
#include "codetta/tile/verify.h"

namespace codetta::compile {

std::vector<const tile::Program*> distinct_programs(const tune::Recipes& recipes) {
    std::vector<const tile::Program*> programs;
    std::set<std::string> seen;
    for (const tune::Recipe& r : recipes.recipes)
        for (const providers::Variant& v : r.candidate->variants)
            for (const providers::Kernel& k : v.kernels)
                if (seen.insert(k.program.name).second) programs.push_back(&k.program);
    return programs;
}

std::vector<base::CodeImage> build_images(const std::vector<const tile::Program*>& programs, const base::Target& target) {
    const tile::AtomSet atoms = targets::atoms();
    std::vector<base::CodeImage> images(programs.size());
    std::vector<std::exception_ptr> failures(programs.size());
    std::atomic<size_t> next{0};
    const auto work = [&] {
        for (size_t i; (i = next.fetch_add(1)) < programs.size();) {
            try {
                base::log_debug("build: {}", programs[i]->name);
                tile::verify(*programs[i], atoms);
                images[i] = codegen::compile(*programs[i], atoms, target);
            } catch (...) {
                failures[i] = std::current_exception();
            }
        }
    };
    const size_t helpers = std::min<size_t>(programs.size(), static_cast<size_t>(std::max(1, target.cores))) - (programs.empty() ? 0 : 1);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < helpers; ++t) threads.emplace_back(work);
    work();
    for (std::thread& t : threads) t.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
    return images;
}

} // namespace codetta::compile
