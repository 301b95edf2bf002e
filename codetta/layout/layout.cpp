#include "codetta/layout/layout.h"

#include "codetta/base/error.h"
#include "codetta/layout/coordinates.h"

#include <algorithm>
#include <numeric>

namespace codetta::layout {

using sym::Expr;

Expr Layout::operator()(const IntTuple& coordinate) const { return crd2idx(coordinate, shape, stride); }

Expr size(const Layout& l) { return size(l.shape); }

size_t depth(const Layout& l) { return depth(l.shape); }

std::vector<Leaf> leaves(const Layout& l) {
    std::vector<Expr> extents = leaves(l.shape), strides = leaves(l.stride);
    CODETTA_CHECK(extents.size() == strides.size(), "shape and stride of {} are not congruent", to_string(l));
    std::vector<Leaf> out;
    for (size_t i = 0; i < extents.size(); ++i) out.push_back({extents[i], strides[i]});
    return out;
}

Expr cosize(const Layout& l) {
    Expr last = 0;
    for (const Leaf& leaf : leaves(l)) {
        auto stride = leaf.stride.constant();
        if (!stride || *stride > 0) last += (leaf.extent - 1) * leaf.stride;
    }
    return last + 1;
}

bool is_static(const Layout& l) {
    std::vector<Leaf> parts = leaves(l);
    return std::all_of(parts.begin(), parts.end(), [](const Leaf& leaf) { return leaf.extent.constant() && leaf.stride.constant(); });
}

void verify(const Layout& l) {
    CODETTA_USER_CHECK(congruent(l.shape, l.stride), "layout {}: shape and stride nest differently", to_string(l));
}

namespace {

Layout make_compact(IntTuple shape, const std::vector<size_t>& leaf_order) {
    std::vector<Expr> extents = leaves(shape), strides(extents.size());
    Expr step = 1;
    for (size_t i : leaf_order) {
        strides[i] = extents[i].is(1) ? Expr(0) : step;
        step *= extents[i];
    }
    IntTuple stride = unflatten(shape, strides);
    return {std::move(shape), std::move(stride)};
}

} // namespace

Layout make_column_major(IntTuple shape) {
    std::vector<size_t> order(leaves(shape).size());
    std::iota(order.begin(), order.end(), size_t{0});
    return make_compact(std::move(shape), order);
}

Layout make_row_major(IntTuple shape) {
    std::vector<size_t> order(leaves(shape).size());
    std::iota(order.rbegin(), order.rend(), size_t{0});
    return make_compact(std::move(shape), order);
}

Layout make_ordered(IntTuple shape, std::span<const int> order) {
    CODETTA_USER_CHECK(order.size() == shape.rank(), "an order of {} numbers for the shape {}", order.size(), to_string(shape));
    std::vector<size_t> modes(shape.rank()), first(shape.rank() + 1, 0);
    std::iota(modes.begin(), modes.end(), size_t{0});
    std::sort(modes.begin(), modes.end(), [&](size_t a, size_t b) { return std::pair(order[a], a) < std::pair(order[b], b); });
    for (size_t i = 0; i < shape.rank(); ++i) first[i + 1] = first[i] + leaves(shape.mode(i)).size();
    std::vector<size_t> leaf_order;
    for (size_t mode : modes)
        for (size_t leaf = first[mode]; leaf < first[mode + 1]; ++leaf) leaf_order.push_back(leaf);
    return make_compact(std::move(shape), leaf_order);
}

Layout make_layout(std::span<const Layout> modes) {
    std::vector<IntTuple> shape, stride;
    for (const Layout& mode : modes) {
        shape.push_back(mode.shape);
        stride.push_back(mode.stride);
    }
    return {IntTuple(std::move(shape)), IntTuple(std::move(stride))};
}

Layout make_layout(std::initializer_list<Layout> modes) { return make_layout(std::span<const Layout>(modes.begin(), modes.size())); }

Layout make_flat(std::span<const Leaf> parts) {
    if (parts.empty()) return {1, 0};
    std::vector<IntTuple> shape, stride;
    for (const Leaf& leaf : parts) {
        shape.emplace_back(leaf.extent);
        stride.emplace_back(leaf.stride);
    }
    return {make_tuple(std::move(shape)), make_tuple(std::move(stride))};
}

std::string to_string(const Layout& l) { return to_string(l.shape) + ":" + to_string(l.stride); }

Layout parse_layout_prefix(std::string_view text, size_t& position) {
    size_t begin = position;
    IntTuple shape = parse_int_tuple_prefix(text, position);
    if (position >= text.size() || text[position] != ':') return make_column_major(std::move(shape));
    ++position;
    Layout result{std::move(shape), parse_int_tuple_prefix(text, position)};
    if (!congruent(result.shape, result.stride))
        throw base::UserError(fmt::format("shape and stride of {} nest differently", to_string(result)),
                              fmt::format("column {}", begin + 1));
    return result;
}

Layout parse_layout(std::string_view text) {
    size_t position = 0;
    Layout result = parse_layout_prefix(text, position);
    while (position < text.size() && text[position] == ' ') ++position;
    if (position < text.size())
        throw base::UserError(fmt::format("unexpected '{}' in '{}'", text.substr(position, 1), text),
                              fmt::format("column {}", position + 1));
    return result;
}

sym::Facts with_positive_symbols(sym::Facts facts, std::initializer_list<Layout> layouts) {
    std::set<std::string> names;
    for (const Layout& l : layouts) {
        for (const Leaf& leaf : leaves(l)) {
            sym::collect_symbols(leaf.extent, names);
            sym::collect_symbols(leaf.stride, names);
        }
    }
    for (const std::string& name : names)
        if (!facts.ranges().contains(name)) facts.set_range(name, {1, sym::kUnbounded});
    return facts;
}

} // namespace codetta::layout
