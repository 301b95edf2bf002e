// Regions -> Recipes: where to cut and which kernel runs each piece, without timing: providers are asked in order of preference.
#pragma once

#include <vector>

#include "codetta/base/options.h"
#include "codetta/base/target.h"
#include "codetta/sym/expr.h"
#include "codetta/tune/recipe.h"

namespace codetta::tune {

// A region that only `reference` could run whole is cut at its cut points into pieces that better templates take.
// next_value: the first free region value id.
Recipes choose(const std::vector<problem::Region>& regions, uint32_t next_value, const sym::Bindings& hints, const base::Target& target, const base::Options& options);

} // namespace codetta::tune
