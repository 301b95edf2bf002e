// Id<Tag>: a typed 32-bit handle into a vector that some value owns. Ids of different tags do not mix.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace codetta::base {

/// A default-made Id is invalid. Use: `struct ValueTag; using ValueId = base::Id<ValueTag>;  values[id.value]`
template <class Tag>
struct Id {
    static constexpr uint32_t no_value = UINT32_MAX;

    uint32_t value = no_value;

    constexpr Id() = default;
    constexpr explicit Id(size_t index) : value(static_cast<uint32_t>(index)) {}

    constexpr bool valid() const { return value != no_value; }

    friend constexpr bool operator==(const Id&, const Id&) = default;
    friend constexpr auto operator<=>(const Id&, const Id&) = default;
};

} // namespace codetta::base

template <class Tag>
struct std::hash<codetta::base::Id<Tag>> {
    size_t operator()(const codetta::base::Id<Tag>& id) const noexcept { return std::hash<uint32_t>()(id.value); }
};
