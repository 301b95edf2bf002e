// Who computes each region: the choice, as data.
#pragma once

#include <string>
#include <vector>

#include "codetta/kernels/kernel.h"
#include "codetta/problem/region.h"

namespace codetta::tune {

// For one Region: the chosen candidate and why the others were not.
struct Recipe {
  problem::Region region;
  kernels::Candidate candidate;
  std::vector<std::string> reasons;  // `gemm: no (…)`, one line per template that was not taken
};

// In an order in which each region's inputs are ready.
struct Recipes {
  std::vector<Recipe> recipes;
};

std::string to_string(const Recipes& r);

}  // namespace codetta::tune
