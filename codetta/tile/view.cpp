#include "codetta/tile/view.h"

#include "codetta/base/error.h"

#include <algorithm>

namespace codetta::tile {

using layout::IntTuple;
using layout::Layout;
using sym::Expr;

namespace {

int64_t static_extent(const Expr& e) {
    auto value = e.constant();
    CODETTA_CHECK(value.has_value(), "extent {} is not static", sym::to_string(e));
    return *value;
}

Layout from_leaves(const std::vector<Leaf>& parts) {
    if (parts.empty()) return {1, 0};
    if (parts.size() == 1) return {parts[0].extent, parts[0].stride};
    std::vector<IntTuple> shape, stride;
    for (const Leaf& p : parts) {
        shape.emplace_back(p.extent);
        stride.emplace_back(p.stride);
    }
    return {IntTuple(std::move(shape)), IntTuple(std::move(stride))};
}

Layout from_modes(const std::vector<Layout>& modes) {
    if (modes.empty()) return {1, 0};
    if (modes.size() == 1) return modes[0];
    std::vector<IntTuple> shape, stride;
    for (const Layout& m : modes) {
        shape.push_back(m.shape);
        stride.push_back(m.stride);
    }
    return {IntTuple(std::move(shape)), IntTuple(std::move(stride))};
}

} // namespace

Layout make_layout(std::vector<IntTuple> extents, std::vector<IntTuple> strides) {
    CODETTA_CHECK(extents.size() == strides.size(), "{} extents and {} strides", extents.size(), strides.size());
    if (extents.size() == 1) return {extents[0], strides[0]};
    return {IntTuple(std::move(extents)), IntTuple(std::move(strides))};
}

Layout row_major(std::span<const int64_t> extents) {
    std::vector<IntTuple> shape(extents.begin(), extents.end()), stride(extents.size());
    int64_t step = 1;
    for (size_t i = extents.size(); i-- > 0;) {
        stride[i] = step;
        step *= extents[i];
    }
    return make_layout(std::move(shape), std::move(stride));
}

int64_t static_size(const IntTuple& shape) {
    if (shape.is_leaf()) return static_extent(shape.leaf());
    int64_t size = 1;
    for (const IntTuple& e : shape.elements()) size *= static_size(e);
    return size;
}

int64_t static_size(const Layout& l) { return static_size(l.shape); }

Expr offset_of(const Layout& l, const Expr& index) {
    Expr offset = 0, rest = index;
    std::vector<Leaf> parts = leaves(l);
    for (size_t i = 0; i < parts.size(); ++i) {
        bool last = i + 1 == parts.size();
        offset = offset + (last ? rest : sym::mod(rest, parts[i].extent)) * parts[i].stride;
        if (!last) rest = sym::floor_div(rest, parts[i].extent);
    }
    return offset;
}

std::vector<Expr> offsets(const Layout& l) {
    std::vector<Expr> out{Expr(0)};
    for (const Leaf& p : leaves(l)) {
        size_t before = out.size();
        int64_t extent = static_extent(p.extent);
        for (int64_t i = 1; i < extent; ++i)
            for (size_t j = 0; j < before; ++j) out.push_back(out[j] + i * p.stride);
    }
    return out;
}

View at(const View& v, size_t mode, const Expr& index) {
    CODETTA_CHECK(mode < v.layout.rank(), "mode {} of a view of rank {}", mode, v.layout.rank());
    View out = v;
    out.offset = v.offset + offset_of(v.layout.mode(mode), index);
    std::vector<Layout> kept;
    for (size_t i = 0; i < v.layout.rank(); ++i)
        if (i != mode) kept.push_back(v.layout.mode(i));
    out.layout = from_modes(kept);
    return out;
}

View slice(const View& v, size_t mode, const Expr& begin, int64_t extent) {
    CODETTA_CHECK(mode < v.layout.rank(), "mode {} of a view of rank {}", mode, v.layout.rank());
    View out = v;
    Layout cut = v.layout.mode(mode);
    std::vector<Leaf> parts = leaves(cut), kept;
    if (parts.size() == 1) {
        out.offset = v.offset + begin * parts[0].stride;
        kept.push_back({extent, parts[0].stride});
    } else {
        int64_t rest = extent;
        for (size_t i = 0; i < parts.size() && rest > 1; ++i) {
            bool last = i + 1 == parts.size();
            if (last) {
                kept.push_back({rest, parts[i].stride});
                rest = 1;
                break;
            }
            int64_t have = static_extent(parts[i].extent);
            CODETTA_CHECK(rest % have == 0 || have % rest == 0, "{} coordinates do not fall on whole sub-modes of extent {}", extent, have);
            kept.push_back({std::min(rest, have), parts[i].stride});
            rest = rest <= have ? 1 : rest / have;
        }
        // begin is a multiple of extent's whole sub-modes: sub-modes that are kept whole contribute nothing.
        Expr place = begin;
        size_t whole = 0;
        for (; whole < kept.size() && whole + 1 < parts.size() && kept[whole].extent == parts[whole].extent; ++whole) {
            if (auto value = begin.constant())
                CODETTA_CHECK(sym::evaluate(sym::mod(place, parts[whole].extent), {}) == 0, "begin {} cuts a sub-mode", *value);
            place = sym::floor_div(place, parts[whole].extent);
        }
        Expr offset = 0;
        for (size_t i = whole; i < parts.size(); ++i) {
            bool last = i + 1 == parts.size();
            offset = offset + (last ? place : sym::mod(place, parts[i].extent)) * parts[i].stride;
            if (!last) place = sym::floor_div(place, parts[i].extent);
        }
        out.offset = v.offset + offset;
    }
    std::vector<Layout> modes;
    for (size_t i = 0; i < v.layout.rank(); ++i) modes.push_back(i == mode ? from_leaves(kept) : v.layout.mode(i));
    out.layout = from_modes(modes);
    return out;
}

View tile(const View& v, size_t mode, int64_t extent, const Expr& tile) { return slice(v, mode, tile * extent, extent); }

View flat(const View& v) {
    View out = v;
    if (v.layout.rank() > 1)
        out.layout = {IntTuple(std::vector<IntTuple>{v.layout.shape}), IntTuple(std::vector<IntTuple>{v.layout.stride})};
    return out;
}

View element(const View& v, const Expr& index) {
    View out = v;
    out.offset = v.offset + offset_of(v.layout, index);
    out.layout = {1, 0};
    return out;
}

View with_layout(const View& v, Layout l) {
    View out = v;
    out.layout = std::move(l);
    return out;
}

View broadcast(const View& v, int64_t extent) {
    View out = v;
    std::vector<Layout> modes;
    for (size_t i = 0; i < v.layout.rank(); ++i) modes.push_back(v.layout.mode(i));
    modes.push_back({extent, 0});
    out.layout = from_modes(modes);
    return out;
}

Limit limit_of_mode(const Layout& copied, size_t mode, const Expr& limit) {
    CODETTA_CHECK(mode < copied.rank(), "mode {} of a view of rank {}", mode, copied.rank());
    // Strides of one mode count its coordinates; all others stand still.
    auto build = [](auto&& self, const IntTuple& shape, int64_t& step) -> IntTuple {
        if (shape.is_leaf()) {
            IntTuple stride(step);
            step *= static_extent(shape.leaf());
            return stride;
        }
        std::vector<IntTuple> out;
        for (const IntTuple& e : shape.elements()) out.push_back(self(self, e, step));
        return IntTuple(std::move(out));
    };
    std::vector<Layout> modes;
    for (size_t i = 0; i < copied.rank(); ++i) {
        int64_t step = i == mode ? 1 : 0;
        IntTuple shape = copied.shape.mode(i);
        modes.push_back({shape, build(build, shape, step)});
    }
    return {from_modes(modes), limit};
}

std::optional<size_t> limited_mode(const Limit& l) {
    for (size_t mode = 0; mode < l.coordinate.rank(); ++mode)
        if (limit_of_mode(l.coordinate, mode, 0).coordinate == l.coordinate) return mode;
    return std::nullopt;
}

} // namespace codetta::tile
