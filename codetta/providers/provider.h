// Where kernels come from.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codetta/base/target.h"
#include "codetta/base/verdict.h"
#include "codetta/problem/problem.h"
#include "codetta/providers/candidate.h"
#include "codetta/sym/expr.h"

namespace codetta::providers {

struct Request {
    const problem::Problem* problem = nullptr;
    const base::Target* target = nullptr;
    sym::Bindings hints; // likely values of the size symbols
    int threads = 1;
};

// Offers: every template that matches, and a reason sentence for each that does not.
struct Offers {
    std::vector<std::function<Candidate()>> candidates; // built on demand, in order of preference
    std::vector<std::string> names;
    std::vector<std::string> reasons;
};

struct Provider {
    std::string name;
    std::function<base::Verdict(const base::Target&)> available; // a missing library is a reason, not an #ifdef
    std::function<Offers(const Request&)> offers;
};

// providers/list.cpp
std::vector<Provider> list();

} // namespace codetta::providers
