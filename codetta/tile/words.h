// Spellings shared by the printer and the parser of tile programs.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "codetta/tile/program.h"

namespace codetta::tile::words {

template <class T, size_t N>
using Table = std::array<std::pair<T, std::string_view>, N>;

inline constexpr Table<Space, 7> kSpaces{{{Space::gmem, "gmem"},
                                          {Space::scratch, "scratch"},
                                          {Space::smem, "smem"},
                                          {Space::rmem, "rmem"},
                                          {Space::tmm, "tmm"},
                                          {Space::barrier, "barrier"},
                                          {Space::tensormap, "tensormap"}}};
inline constexpr Table<Group, 3> kGroups{{{Group::mma, "mma"}, {Group::bulk, "bulk"}, {Group::copy, "copy"}}};
inline constexpr Table<FenceKind, 3> kFences{
    {{FenceKind::async_proxy, "async_proxy"}, {FenceKind::mma, "mma"}, {FenceKind::barrier_init, "barrier_init"}}};

template <class T, size_t N>
constexpr std::string_view spell(const Table<T, N>& table, T value) {
    for (const auto& [key, word] : table)
        if (key == value) return word;
    return "?";
}

} // namespace codetta::tile::words

namespace codetta::tile {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

// `acc[64*r | (6,64):(64,1)]`
std::string to_string(const Program& p, const View& v);
// One line, without the bodies of blocks.
std::string to_string(const Program& p, const Statement& s);

} // namespace codetta::tile
