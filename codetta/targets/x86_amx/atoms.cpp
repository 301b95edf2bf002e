// AMX: tiles of 16 rows by 64 bytes (Intel SDM vol. 1, chapter 18). Operand b of a product lies as pairs: row k/2 of the tile holds (n,
// k%2).
#include "codetta/scalar/dtype.h"
#include "codetta/targets/list.h"

namespace codetta::targets {

using scalar::DType;
using tile::Space;

namespace {

// `once`: data that will not be read again soon are kept out of the first cache (TILELOADDT1).
tile::Atom tile_copy(std::string name, DType dtype, bool load, bool once = false) {
    const int64_t columns = 64 / scalar::bytes(dtype);
    tile::Atom atom;
    atom.name = std::move(name);
    atom.kind = tile::AtomKind::copy;
    atom.required = {"amx_tile"};
    atom.a = {load ? Space::gmem : Space::tmm, dtype, {16, columns}, {}};
    atom.d = {load ? Space::tmm : Space::gmem, dtype, {16, columns}, {}};
    atom.spelling = {tile::Spelling::Kind::intrinsic,
                     load ? (once ? "llvm.x86.tileloaddt164" : "llvm.x86.tileloadd64") : "llvm.x86.tilestored64", "", true};
    return atom;
}

tile::Atom product_bf16() {
    tile::Atom atom;
    atom.name = "amx.tdpbf16ps";
    atom.required = {"amx_tile", "amx_bf16"};
    atom.d = {Space::tmm, DType::f32, {16, 16}, {}};
    atom.a = {Space::tmm, DType::bf16, {16, 32}, {}};
    atom.b = {Space::tmm, DType::bf16, {16, 32}, {}};
    atom.spelling = {tile::Spelling::Kind::intrinsic, "llvm.x86.tdpbf16ps", "", true};
    return atom;
}

} // namespace

std::vector<tile::Atom> x86_amx_atoms() {
    return {
        tile_copy("amx.tileload_bf16", DType::bf16, true), tile_copy("amx.tileload_once_bf16", DType::bf16, true, true),
        tile_copy("amx.tileload_f32", DType::f32, true),   tile_copy("amx.tileload_once_f32", DType::f32, true, true),
        tile_copy("amx.tilestore_f32", DType::f32, false), product_bf16(),
    };
}

} // namespace codetta::targets
