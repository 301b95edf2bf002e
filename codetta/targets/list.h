// Every machine's atoms. A kernel names an atom and `requires` its features; whether a machine has them is asked elsewhere.
#pragma once

#include "codetta/tile/atom.h"

namespace codetta::targets {

std::vector<tile::Atom> x86_avx2_atoms();
std::vector<tile::Atom> x86_avx512_atoms();
std::vector<tile::Atom> x86_amx_atoms();
std::vector<tile::Atom> sm90_atoms();

/// All of them.
tile::AtomSet atoms();

} // namespace codetta::targets
