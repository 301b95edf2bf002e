#include "codetta/scalar/dtype.h"
#include "codetta/targets/list.h"
#include "codetta/targets/x86_vector_atoms.h"

namespace codetta::targets {

std::vector<tile::Atom> x86_avx2_atoms() {
    return {
        broadcast_fma("avx2.fma_f32", "fma", scalar::DType::f32, 256),
        broadcast_fma("avx2.fma_f64", "fma", scalar::DType::f64, 256),
    };
}

} // namespace codetta::targets
