// Who computes each region: the choice, as data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codetta/problem/region.h"
#include "codetta/providers/candidate.h"

namespace codetta::tune {

// For one Region: the chosen candidate (shared by regions whose problems have the same canonical key) and why others were not taken.
struct Recipe {
    problem::Region region;
    std::shared_ptr<const providers::Candidate> candidate;
    std::vector<std::string> reasons; // `gemm: no product of two operands`
};

// In an order in which each region's inputs are ready.
struct Recipes {
    std::vector<Recipe> recipes;
};

std::string to_string(const Recipes& r);

} // namespace codetta::tune
