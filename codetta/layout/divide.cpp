#include "codetta/layout/divide.h"

#include "codetta/base/error.h"
#include "codetta/layout/complement.h"

namespace codetta::layout {

Layout logical_divide(const Layout& l, const Layout& tile, const sym::Facts& facts) {
    return composition(l, make_layout({tile, complement(tile, size(l), facts)}), facts);
}

Layout logical_divide(const Layout& l, const Tiler& tiler, const sym::Facts& facts) {
    CODETTA_USER_CHECK(tiler.size() <= l.rank(), "a tiler of {} modes for the layout {}", tiler.size(), to_string(l));
    std::vector<Layout> modes;
    for (size_t i = 0; i < l.rank(); ++i) modes.push_back(i < tiler.size() ? logical_divide(l.mode(i), tiler[i], facts) : l.mode(i));
    return make_layout(modes);
}

namespace {

struct Unzipped {
    std::vector<Layout> tiles, rests;
};

Unzipped divide_modes(const Layout& l, const Tiler& tiler, const sym::Facts& facts) {
    Layout divided = logical_divide(l, tiler, facts);
    Unzipped out;
    for (size_t i = 0; i < divided.rank(); ++i) {
        bool tiled = i < tiler.size();
        if (tiled) out.tiles.push_back(divided.mode(i).mode(0));
        out.rests.push_back(tiled ? divided.mode(i).mode(1) : divided.mode(i));
    }
    return out;
}

} // namespace

Layout zipped_divide(const Layout& l, const Tiler& tiler, const sym::Facts& facts) {
    Unzipped parts = divide_modes(l, tiler, facts);
    return make_layout({make_layout(parts.tiles), make_layout(parts.rests)});
}

Layout tiled_divide(const Layout& l, const Tiler& tiler, const sym::Facts& facts) {
    Unzipped parts = divide_modes(l, tiler, facts);
    parts.rests.insert(parts.rests.begin(), make_layout(parts.tiles));
    return make_layout(parts.rests);
}

Layout flat_divide(const Layout& l, const Tiler& tiler, const sym::Facts& facts) {
    Unzipped parts = divide_modes(l, tiler, facts);
    parts.tiles.insert(parts.tiles.end(), parts.rests.begin(), parts.rests.end());
    return make_layout(parts.tiles);
}

} // namespace codetta::layout
