#include "codetta/codegen/iteration.h"

#include "codetta/base/error.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"

#include <algorithm>

namespace codetta::codegen {

using layout::IntTuple;
using sym::Expr;

namespace {

struct Leaf {
    int64_t extent;
    Expr stride;
};

void collect_leaves(const IntTuple& shape, const IntTuple& stride, std::vector<Leaf>& out) {
    if (shape.is_leaf()) {
        const auto extent = shape.leaf().constant();
        CODETTA_CHECK(extent.has_value(), "a view's shape must be static, not {}", sym::to_string(shape.leaf()));
        CODETTA_CHECK(stride.is_leaf(), "shape and stride of a view are not congruent");
        if (*extent != 1) out.push_back({*extent, stride.leaf()});
        return;
    }
    // one stride 0 for a whole tuple: a broadcast
    for (size_t i = 0; i < shape.elements().size(); ++i)
        collect_leaves(shape.elements()[i], stride.is_leaf() ? stride : stride.elements()[i], out);
}

// Splits the leaves of every view at every other view's borders.
std::vector<Dim> refine(std::vector<std::vector<Leaf>> leaves) {
    std::vector<Dim> dims;
    std::vector<size_t> at(leaves.size(), 0);
    while (at[0] < leaves[0].size()) {
        int64_t extent = 0;
        for (size_t v = 0; v < leaves.size(); ++v) {
            const int64_t left = leaves[v][at[v]].extent;
            extent = extent == 0 ? left : std::min(extent, left);
        }
        Dim dim{extent, {}};
        for (size_t v = 0; v < leaves.size(); ++v) {
            Leaf& leaf = leaves[v][at[v]];
            CODETTA_CHECK(leaf.extent % extent == 0, "the views' shapes have no common refinement: {} against {}", leaf.extent, extent);
            dim.strides.push_back(leaf.stride);
            leaf = {leaf.extent / extent, leaf.stride * extent};
            if (leaf.extent == 1) ++at[v];
        }
        dims.push_back(std::move(dim));
    }
    return dims;
}

bool continues(const Dim& inner, const Dim& outer) {
    for (size_t v = 0; v < inner.strides.size(); ++v)
        if (!(inner.strides[v] * inner.extent == outer.strides[v])) return false;
    return true;
}

} // namespace

int64_t Iteration::size() const {
    int64_t product = 1;
    for (const auto& dim : dims) product *= dim.extent;
    return product;
}

Iteration iterate(std::span<const layout::Layout> layouts) {
    Iteration result;
    std::vector<std::vector<Leaf>> leaves(layouts.size());
    int64_t size = 0;
    for (size_t v = 0; v < layouts.size(); ++v) {
        collect_leaves(layouts[v].shape, layouts[v].stride, leaves[v]);
        int64_t own = 1;
        for (const auto& leaf : leaves[v]) own *= leaf.extent;
        CODETTA_CHECK(v == 0 || own == size, "views of {} and {} elements in one statement", size, own);
        size = own;
    }
    result.dims = refine(std::move(leaves));
    for (bool merged = true; merged;) {
        merged = false;
        for (size_t inner = 0; inner < result.dims.size() && !merged; ++inner)
            for (size_t outer = 0; outer < result.dims.size() && !merged; ++outer)
                if (inner != outer && continues(result.dims[inner], result.dims[outer])) {
                    result.dims[inner].extent *= result.dims[outer].extent;
                    result.dims.erase(result.dims.begin() + static_cast<std::ptrdiff_t>(outer));
                    merged = true;
                }
    }
    return result;
}

void Offset::add(const Expr& elements) {
    if (const auto value = elements.constant()) {
        constant += *value;
        return;
    }
    if (elements.kind() == sym::Kind::add)
        if (const auto last = elements.operands().back().constant()) {
            constant += *last;
            symbolic = symbolic + (elements - *last);
            return;
        }
    symbolic = symbolic + elements;
}

void Offset::add(const Expr& stride, int64_t times) {
    if (times == 0) return;
    if (const auto value = stride.constant())
        constant += *value * times;
    else
        add(stride * times);
}

} // namespace codetta::codegen
