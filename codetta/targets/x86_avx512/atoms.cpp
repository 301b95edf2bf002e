#include "codetta/scalar/dtype.h"
#include "codetta/targets/list.h"
#include "codetta/targets/x86_vector_atoms.h"

namespace codetta::targets {

using scalar::DType;

namespace {

// vdpbf16ps: d[1, 16] += a[1, 2] * b[16, 2]; the pairs of b lie together.
tile::Atom dot_bf16() {
    tile::Atom atom;
    atom.name = "avx512.dp_bf16";
    atom.required = {"avx512_bf16"};
    atom.d = {tile::Space::rmem, DType::f32, {1, 16}, {}};
    atom.a = {tile::Space::rmem, DType::bf16, {1, 2}, {}};
    atom.b = {tile::Space::rmem, DType::bf16, {16, 2}, {}};
    atom.spelling = {tile::Spelling::Kind::intrinsic, "llvm.x86.avx512bf16.dpbf16ps.512", "", false};
    return atom;
}

} // namespace

std::vector<tile::Atom> x86_avx512_atoms() {
    return {
        broadcast_fma("avx512.fma_f32", "avx512f", DType::f32, 512),
        broadcast_fma("avx512.fma_f64", "avx512f", DType::f64, 512),
        dot_bf16(),
    };
}

} // namespace codetta::targets
