// An atom is one machine instruction as data: what it needs, the shapes it works on, how it is spelled, and what it means.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "codetta/layout/layout.h"
#include "codetta/scalar/dtype.h"
#include "codetta/tile/program.h"

namespace codetta::tile {

enum class AtomKind : uint8_t { copy, mma };

// One side of an atom: where it lies and how thread t's value v maps to the coordinate of the atom's tile: a layout (threads, values) ->
// column-major index of the tile.
struct Fragment {
    Space space = Space::rmem;
    scalar::DType dtype = scalar::DType::f32;
    std::vector<int64_t> shape;  // tile extents: mma d (m, n), a (m, k), b (n, k); copy (elements...)
    layout::Layout thread_value; // shape (threads, values); ignored for memory spaces and for a whole fragment in one thread (threads == 1)
    int64_t threads() const;     // 1 when thread_value has no shape of rank 2
};

// How codegen spells it. `generic`: by the op's own meaning on vectors of the target (fma, broadcast load); `intrinsic`: LLVM's name;
// `assembly`: inline text with LLVM constraints.
struct Spelling {
    enum class Kind : uint8_t { generic, intrinsic, assembly } kind = Kind::generic;
    std::string text, constraints;
    bool side_effect = true;
};

struct Atom {
    std::string name; // `avx512.fma`, `amx.tdpbf16ps`, `sm90.wgmma_m64n256k16_bf16`
    AtomKind kind = AtomKind::mma;
    std::vector<std::string> required; // features
    Fragment d, a, b;                  // copy: a = source, d = destination
    Spelling spelling;
    bool asynchronous = false;
};

// The atoms that a program may name; targets/list.cpp makes it, tile/ only looks atoms up.
class AtomSet {
public:
    explicit AtomSet(std::vector<Atom> atoms);
    const Atom* find(std::string_view name) const;
    const Atom& get(std::string_view name) const; // InternalError naming the atom
    std::span<const Atom> all() const { return atoms_; }

private:
    std::vector<Atom> atoms_;
};

} // namespace codetta::tile
