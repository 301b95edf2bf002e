// HostProgram + Recipes -> Executable: every distinct kernel becomes machine code, on all cores.
#pragma once

#include <vector>

#include "codetta/base/code_image.h"
#include "codetta/base/target.h"
#include "codetta/tile/program.h"
#include "codetta/tune/recipe.h"

namespace codetta::compile {

// The distinct programs of the recipes, by name.
std::vector<const tile::Program*> distinct_programs(const tune::Recipes& recipes);

// One image per program, in that order. The first failure is thrown.
std::vector<base::CodeImage> build_images(const std::vector<const tile::Program*>& programs, const base::Target& target);

} // namespace codetta::compile
