// Atoms for tile's own tests: the shapes of real ones.
#pragma once

#include "codetta/tile/atom.h"
#include "codetta/tile/view.h"

namespace codetta::tile::test {

inline AtomSet atoms() {
    using scalar::DType;
    auto memory = [](Space s, DType t, std::vector<int64_t> shape) { return Fragment{s, t, std::move(shape), {}}; };
    Atom fma;
    fma.name = "test.fma";
    fma.required = {"avx512f"};
    fma.d = memory(Space::rmem, DType::f32, {1, 16});
    fma.a = memory(Space::gmem, DType::f32, {1, 1});
    fma.b = memory(Space::rmem, DType::f32, {16, 1});
    Atom tile_load;
    tile_load.name = "test.tileload";
    tile_load.kind = AtomKind::copy;
    tile_load.required = {"amx_tile"};
    tile_load.a = memory(Space::gmem, DType::bf16, {16, 32});
    tile_load.d = memory(Space::tmm, DType::bf16, {16, 32});
    Atom tile_store = tile_load;
    tile_store.name = "test.tilestore";
    tile_store.a = memory(Space::tmm, DType::f32, {16, 16});
    tile_store.d = memory(Space::scratch, DType::f32, {16, 16});
    Atom tile_mma;
    tile_mma.name = "test.tdpbf16ps";
    tile_mma.required = {"amx_bf16"};
    tile_mma.d = memory(Space::tmm, DType::f32, {16, 16});
    tile_mma.a = memory(Space::tmm, DType::bf16, {16, 32});
    tile_mma.b = memory(Space::tmm, DType::bf16, {16, 32});
    Atom load, store, wgmma, stmatrix;
    load.name = "sm90.tma_load";
    store.name = "sm90.tma_store";
    load.kind = store.kind = stmatrix.kind = AtomKind::copy;
    load.required = store.required = {"tma"};
    load.asynchronous = store.asynchronous = true;
    // m64n16k16: thread t of 128 holds row 16 * (t / 32) + t % 32 / 4 (+ 8), columns 2 * (t % 4) + {0, 1} (+ 8).
    wgmma.name = "test.wgmma";
    wgmma.required = {"wgmma"};
    wgmma.asynchronous = true;
    wgmma.d = {Space::rmem, DType::f32, {64, 16}, {{{4, 8, 4}, {2, 2, 2}}, {{128, 1, 16}, {64, 8, 512}}}};
    wgmma.a = memory(Space::smem, DType::bf16, {64, 16});
    wgmma.b = memory(Space::smem, DType::bf16, {16, 16});
    stmatrix.name = "test.stmatrix";
    stmatrix.a = {Space::rmem, DType::bf16, {16, 16}, {{{4, 8}, {2, 2, 2}}, {{32, 1}, {16, 8, 128}}}};
    stmatrix.d = memory(Space::smem, DType::bf16, {16, 16});
    return AtomSet({fma, tile_load, tile_store, tile_mma, load, store, wgmma, stmatrix});
}

} // namespace codetta::tile::test
