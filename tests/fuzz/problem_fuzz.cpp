// The parser of Problems: any text either gives a UserError or a Problem that prints, parses back to itself and can be normalised.
#include <cstdlib>
#include <string_view>

#include "codetta/base/error.h"
#include "codetta/problem/normalise.h"
#include "codetta/problem/problem.h"
#include "codetta/problem/region.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace codetta;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    problem::Problem p;
    try {
        p = problem::parse_problem(text);
    } catch (const base::UserError&) {
        return 0;
    }
    if (problem::parse_problem(problem::to_string(p)) != p) std::abort();
    try {
        problem::verify(problem::simplify(p));
        problem::verify(problem::merge_axes(problem::split_axes(p)));
    } catch (const base::InternalError& e) {
        // Extents that leave 64 bits, and products of very many sums, are found when expressions meet.
        const std::string_view what = e.what();
        if (what.find("does not fit 64 bits") == what.npos && what.find("is not written out") == what.npos) std::abort();
    }
    return 0;
}
