#include "codetta/targets/sm90/atoms.h"

#include <fmt/format.h>

#include "codetta/layout/int_tuple.h"
#include "codetta/layout/layout.h"
#include "codetta/scalar/dtype.h"
#include "codetta/targets/list.h"

namespace codetta::targets {

using layout::IntTuple;
using layout::Layout;
using scalar::DType;
using tile::Atom;
using tile::AtomKind;
using tile::Fragment;
using tile::Space;

namespace sm90 {

std::string wgmma_name(int n, DType dtype) { return fmt::format("sm90.wgmma_m64n{}k16_f32_{}", n, scalar::to_string(dtype)); }

Layout accumulator_values(int n) { return {IntTuple{2, 2, n / 8}, IntTuple{1, 2, 4}}; }

Atom wgmma(int n, DType dtype) {
    Atom a;
    a.name = wgmma_name(n, dtype);
    a.kind = AtomKind::mma;
    a.required = {"wgmma"};
    // Column-major places of the 64 x n tile: a row is 1, a column 64.
    Layout threads{IntTuple{4, 8, 4}, IntTuple{128, 1, 16}}, values{IntTuple{2, 2, n / 8}, IntTuple{64, 8, 512}};
    a.d = {Space::rmem, DType::f32, {64, n}, {IntTuple{threads.shape, values.shape}, IntTuple{threads.stride, values.stride}}};
    a.a = {Space::smem, dtype, {64, 16}, {}};
    a.b = {Space::smem, dtype, {n, 16}, {}};
    std::string_view t = scalar::to_string(dtype);
    a.spelling = {tile::Spelling::Kind::assembly, fmt::format("wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{}", n, t, t), "", true};
    a.asynchronous = true;
    return a;
}

} // namespace sm90

namespace {

Atom tensor_copy(const char* name, Space source, Space destination) {
    Atom a;
    a.name = name;
    a.kind = AtomKind::copy;
    a.required = {"tma"};
    a.a.space = source;
    a.d.space = destination;
    a.asynchronous = true;
    return a;
}

Atom stmatrix() {
    Atom a;
    a.name = sm90::kStmatrix;
    a.kind = AtomKind::copy;
    a.required = {"stmatrix"};
    Layout threads{IntTuple{4, 8}, IntTuple{32, 1}}, values{IntTuple{2, 2, 2}, IntTuple{16, 8, 128}};
    a.a = {Space::rmem, DType::bf16, {16, 16}, {IntTuple{threads.shape, values.shape}, IntTuple{threads.stride, values.stride}}};
    a.d = {Space::smem, DType::bf16, {16, 16}, {}};
    a.spelling = {tile::Spelling::Kind::assembly, "stmatrix.sync.aligned.m8n8.x4.shared.b16", "", true};
    return a;
}

} // namespace

std::vector<Atom> sm90_atoms() {
    std::vector<Atom> all{tensor_copy(sm90::kTmaLoad, Space::tensormap, Space::smem),
                          tensor_copy(sm90::kTmaStore, Space::smem, Space::tensormap), stmatrix()};
    for (DType t : {DType::bf16, DType::f16})
        for (int n = 8; n <= 256; n += 8) all.push_back(sm90::wgmma(n, t));
    return all;
}

} // namespace codetta::targets
