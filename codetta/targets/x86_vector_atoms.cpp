#include "codetta/targets/x86_vector_atoms.h"

#include "codetta/scalar/dtype.h"

namespace codetta::targets {

tile::Atom broadcast_fma(std::string name, std::string feature, scalar::DType dtype, int64_t vector_bits) {
    const int64_t lanes = vector_bits / 8 / scalar::bytes(dtype);
    tile::Atom atom;
    atom.name = std::move(name);
    atom.required = {std::move(feature)};
    atom.d = {tile::Space::rmem, dtype, {1, lanes}, {}};
    atom.a = {tile::Space::rmem, dtype, {1, 1}, {}};
    atom.b = {tile::Space::rmem, dtype, {lanes, 1}, {}};
    return atom;
}

} // namespace codetta::targets
