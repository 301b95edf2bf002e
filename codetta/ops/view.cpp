// Views: the same elements under another shape. Never a kernel of their own: a consumer reads through their access.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/access.h"

namespace codetta::ops {

namespace {

// `shape` with a -1 worked out.
std::vector<Expr> view_shape(const NodeView& n) {
    std::vector<Expr> shape = n.exprs("shape");
    Expr have = element_count(n.input(0)), rest = 1;
    std::optional<size_t> open;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (!shape[d].is(-1)) {
            rest = rest * shape[d];
            continue;
        }
        CODETTA_USER_CHECK(!open, "only one size may be -1");
        open = d;
    }
    if (open) {
        CODETTA_USER_CHECK(!rest.is(0), "-1 is ambiguous in {}", shape_text(shape));
        shape[*open] = n.facts().simplify(sym::floor_div(have, rest));
        rest = n.facts().simplify(rest * shape[*open]);
    }
    bool fits = rest == have || n.facts().proves(sym::eq(rest, have));
    CODETTA_USER_CHECK(fits, "shape {} does not hold the elements of {}", shape_text(shape), shape_text(n.input(0).shape));
    return shape;
}

std::vector<size_t> permutation(const NodeView& n) {
    size_t rank = n.input(0).rank();
    std::vector<size_t> order;
    for (int64_t d : n.integers("dims")) order.push_back(dimension(d, rank));
    std::vector<size_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<size_t> all(rank);
    std::iota(all.begin(), all.end(), 0);
    CODETTA_USER_CHECK(sorted == all, "dims {} is no order of {} dimensions", shape_text(n.exprs("dims")), rank);
    return order;
}

std::vector<Expr> permuted_shape(const NodeView& n) {
    std::vector<Expr> shape;
    for (size_t d : permutation(n)) shape.push_back(n.input(0).shape[d]);
    return shape;
}

Where permuted(const NodeView& n, const std::vector<Expr>& index) {
    std::vector<size_t> order = permutation(n);
    std::vector<Expr> coordinates(order.size());
    for (size_t d = 0; d < order.size(); ++d) coordinates[order[d]] = index[d];
    return {coordinates};
}

std::vector<Expr> expanded_shape(const NodeView& n) {
    std::vector<Expr> shape = n.exprs("shape");
    TensorType x = n.input(0);
    CODETTA_USER_CHECK(shape.size() >= x.rank(), "shape {} has fewer dimensions than {}", shape_text(shape), shape_text(x.shape));
    for (size_t d = 0; d < x.rank(); ++d) {
        Expr& want = shape[shape.size() - x.rank() + d];
        if (want.is(-1)) want = x.shape[d];
        CODETTA_USER_CHECK(x.shape[d].is(1) || want == x.shape[d] || n.facts().proves(sym::eq(want, x.shape[d])),
                           "{} does not expand to {}", shape_text(x.shape), shape_text(shape));
    }
    return shape;
}

std::vector<Expr> squeezed_shape(const NodeView& n) {
    TensorType x = n.input(0);
    std::vector<size_t> gone;
    for (size_t d : dimensions(n.integers("dims"), x.rank()))
        if (x.shape[d].is(1)) gone.push_back(d);
    return shape_without(x.shape, gone, false);
}

std::vector<Expr> unsqueezed_shape(const NodeView& n) {
    std::vector<Expr> shape = n.input(0).shape;
    size_t dim = dimension(n.integer("dim"), shape.size() + 1);
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), Expr(1));
    return shape;
}

Where same_elements(const NodeView& n, const std::vector<Expr>& index) {
    TensorType x = n.input(0);
    return {reshaped(x.shape, n.output().shape, index, n.facts())};
}

std::vector<Expr> diagonal_shape(const NodeView& n) {
    TensorType x = n.input(0);
    size_t a = dimension(n.integer("dim1"), x.rank()), b = dimension(n.integer("dim2"), x.rank());
    CODETTA_USER_CHECK(a != b, "dim1 and dim2 are the same");
    std::vector<Expr> shape = shape_without(x.shape, {a, b}, false);
    int64_t offset = n.integer("offset");
    Expr rows = offset >= 0 ? x.shape[a] : x.shape[a] + offset, columns = offset >= 0 ? x.shape[b] - offset : x.shape[b];
    shape.push_back(n.facts().simplify(sym::max(0, sym::min(rows, columns))));
    return shape;
}

Where diagonal_where(const NodeView& n, const std::vector<Expr>& index) {
    size_t rank = n.input(0).rank(), a = dimension(n.integer("dim1"), rank), b = dimension(n.integer("dim2"), rank);
    int64_t offset = n.integer("offset");
    std::vector<Expr> coordinates;
    for (size_t d = 0, next = 0; d < rank; ++d) {
        if (d == a)
            coordinates.push_back(index.back() + std::max<int64_t>(0, -offset));
        else if (d == b)
            coordinates.push_back(index.back() + std::max<int64_t>(0, offset));
        else
            coordinates.push_back(index[next++]);
    }
    return {coordinates};
}

} // namespace

std::vector<OpDef> view_ops() {
    return {
        access_op({.name = "view",
                   .signature = "(x) shape: exprs",
                   .summary = "torch.Tensor.view and reshape: the same elements in row-major order; one size may be -1.",
                   .shape = view_shape,
                   .where = same_elements,
                   .samples = {"f32[2, 6]; shape=[3, 4]", "bf16[2, 3, 4]; shape=[6, 4]", "i64[6]; shape=[2, -1]",
                               "f32[4, 6]; shape=[4, 2, 3]", "f32[2, 3]; shape=[1, 2, 1, 3]", "f32[1]; shape=[]", "f32[0, 4]; shape=[2, 0]",
                               "f32[2, 3, 4]; shape=[3, 8]", "f32[2, 3, 4] strides [12, 1, 3]; shape=[2, 12]"}}),
        access_op(
            {.name = "permute",
             .signature = "(x) dims: exprs",
             .summary = "torch.permute.",
             .shape = permuted_shape,
             .where = permuted,
             .samples = {"f32[2, 3, 4]; dims=[2, 0, 1]", "bf16[2, 3]; dims=[1, 0]", "i64[2, 1, 3]; dims=[0, -1, 1]", "f32[]; dims=[]"}}),
        access_op(
            {.name = "expand",
             .signature = "(x) shape: exprs",
             .summary = "torch.Tensor.expand: dimensions of size 1 repeat; -1 keeps a size.",
             .shape = expanded_shape,
             .where = [](const NodeView& n, const std::vector<Expr>& index) { return Where{broadcast_index(n.input(0).shape, index)}; },
             .samples = {"f32[3, 1]; shape=[2, 3, 4]", "bf16[1, 4]; shape=[3, -1]", "bool[]; shape=[2, 2]", "i64[1, 3]; shape=[0, 3]"}}),
        access_op({.name = "unsqueeze",
                   .signature = "(x) dim: int",
                   .summary = "torch.unsqueeze.",
                   .shape = unsqueezed_shape,
                   .where = same_elements,
                   .samples = {"f32[2, 3]; dim=1", "i64[4]; dim=-1", "f32[]; dim=0"}}),
        access_op({.name = "squeeze",
                   .signature = "(x) dims: exprs = []",
                   .summary = "torch.squeeze: drops those of the dimensions (all when none is named) that have size 1.",
                   .shape = squeezed_shape,
                   .where = same_elements,
                   .samples = {"f32[2, 1, 3]; dims=[1]", "f32[1, 2, 1]", "bf16[2, 3]; dims=[0]", "f32[1, 2, 1]; dims=[0, -1]"}}),
        access_op({.name = "slice",
                   .signature = "(x) dim: int = 0, start: expr = 0, end: expr?, step: expr = 1",
                   .summary = "aten.slice: x[..., start:end:step, ...].",
                   .shape =
                       [](const NodeView& n) {
                           std::vector<Expr> shape = n.input(0).shape;
                           Slice s = slice_of(n, shape);
                           shape[s.dim] = s.length;
                           return shape;
                       },
                   .where =
                       [](const NodeView& n, const std::vector<Expr>& index) {
                           Slice s = slice_of(n, n.input(0).shape);
                           std::vector<Expr> coordinates = index;
                           coordinates[s.dim] = s.start + s.step * index[s.dim];
                           return Where{coordinates};
                       },
                   .samples = {"f32[5, 3]; start=1, end=4", "bf16[2, 7]; dim=1, start=1, step=2", "i64[6]; start=-4, end=-1",
                               "f32[4]; start=2, end=100", "f32[4, 2]; start=3, end=2"}}),
        access_op({.name = "select",
                   .signature = "(x) dim: int, index: expr",
                   .summary = "aten.select: one index of a dimension, which goes away.",
                   .shape =
                       [](const NodeView& n) {
                           CODETTA_USER_CHECK(n.input(0).rank() > 0, "a 0-d tensor has no dimension to select from");
                           return shape_without(n.input(0).shape, {dimension(n.integer("dim"), n.input(0).rank())}, false);
                       },
                   .where =
                       [](const NodeView& n, const std::vector<Expr>& index) {
                           TensorType x = n.input(0);
                           size_t dim = dimension(n.integer("dim"), x.rank());
                           std::vector<Expr> coordinates = index;
                           const Selected at = select_index(n, x.shape[dim]);
                           coordinates.insert(coordinates.begin() + static_cast<std::ptrdiff_t>(dim), at.index);
                           return Where{coordinates, {}, 0, at.checks};
                       },
                   .samples = {"f32[3, 4]; dim=0, index=1", "bf16[3, 4]; dim=-1, index=-2", "i64[5]; dim=0, index=4"}}),
        access_op({.name = "alias",
                   .signature = "(x)",
                   .summary = "aten.alias, detach: x itself.",
                   .shape = [](const NodeView& n) { return n.input(0).shape; },
                   .where = [](const NodeView&, const std::vector<Expr>& index) { return Where{index}; },
                   .samples = {"f32[2, 3]", "i64[]"}}),
        access_op({.name = "diagonal",
                   .signature = "(x) offset: int = 0, dim1: int = 0, dim2: int = 1",
                   .summary = "torch.diagonal.",
                   .shape = diagonal_shape,
                   .where = diagonal_where,
                   .samples = {"f32[3, 4]", "f32[2, 3, 3]; offset=1, dim1=1, dim2=2", "bf16[4, 3]; offset=-1"}}),
        access_op({.name = "unfold",
                   .signature = "(x) dim: int, size: int, step: int",
                   .summary = "torch.Tensor.unfold: windows along a dimension; the window is the last dimension.",
                   .shape =
                       [](const NodeView& n) {
                           std::vector<Expr> shape = n.input(0).shape;
                           size_t dim = dimension(n.integer("dim"), shape.size());
                           CODETTA_USER_CHECK(!shape.empty() && n.integer("size") >= 0 && n.integer("step") > 0,
                                              "a window needs a dimension, a size and a positive step");
                           CODETTA_USER_CHECK(!n.facts().refutes(sym::le(n.integer("size"), shape[dim])), "a window of {} does not fit {}",
                                              n.integer("size"), sym::to_string(shape[dim]));
                           shape[dim] = n.facts().simplify(sym::floor_div(shape[dim] - n.integer("size"), n.integer("step")) + 1);
                           shape.emplace_back(n.integer("size"));
                           return shape;
                       },
                   .where =
                       [](const NodeView& n, const std::vector<Expr>& index) {
                           std::vector<Expr> coordinates(index.begin(), index.end() - 1);
                           size_t dim = dimension(n.integer("dim"), coordinates.size());
                           coordinates[dim] = index[dim] * n.integer("step") + index.back();
                           return Where{coordinates};
                       },
                   .samples = {"f32[7]; dim=0, size=3, step=2", "f32[2, 5]; dim=1, size=2, step=1"}}),
        access_op({.name = "as_strided",
                   .signature = "(x) size: exprs, stride: exprs, offset: expr = 0, base_strides: exprs?",
                   .summary = "torch.as_strided over x's memory; base_strides are x's strides where it was captured (default: contiguous), "
                              "without gaps.",
                   .shape =
                       [](const NodeView& n) {
                           CODETTA_USER_CHECK(n.exprs("size").size() == n.exprs("stride").size(),
                                              "size and stride need equally many entries");
                           return n.exprs("size");
                       },
                   .where = strided_access,
                   .samples = {"f32[3, 4]; size=[2, 2], stride=[4, 1], offset=1", "f32[12]; size=[3, 3], stride=[1, 1]",
                               "f32[2, 3]; size=[3, 2], stride=[1, 3], base_strides=[3, 1]",
                               "f32[2, 3]; size=[2, 2], stride=[1, 2], base_strides=[1, 2]"}}),
    };
}

} // namespace codetta::ops
