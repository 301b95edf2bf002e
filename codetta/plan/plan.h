// Recipes -> HostProgram: order of launches, where every value lies and how long, what is prepared once, what the caller gets back.
#pragma once

#include "codetta/graph/graph.h"
#include "codetta/runtime/host_program.h"
#include "codetta/tune/recipe.h"

namespace codetta::plan {

// Inputs of the program: the graph's tensors that are not constants, in order, then its size arguments.
// @pre the recipes' region values below g.values.size() are values of g, each made before it is read
runtime::HostProgram plan(const graph::Graph& g, const tune::Recipes& recipes);

} // namespace codetta::plan
