// Moves: results made of elements of the operands, each read through a guarded access, so that consumers can read through them too.
#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/ops/access.h"

namespace codetta::ops {

namespace {

using scalar::DType;

// One stage that reads every operand under its own guard and picks by position: part k covers [begin[k], begin[k + 1]) of `position`.
// coordinates(k): of operand k. Fewer selects than parts: the last part is the rest.
problem::Problem lower_parts(size_t parts, const Expr& position, const std::vector<Expr>& begin,
                             const std::function<std::vector<Expr>(size_t)>& coordinates, Lowering low, const Loops& loops) {
    StageSpec s{.name = "value", .axes = loops.axes, .raw = true};
    for (size_t k = 0; k < parts; ++k) {
        std::vector<sym::Condition> guard;
        if (k > 0) guard.push_back(sym::le(begin[k], position));
        if (k + 1 < parts) guard.push_back(sym::lt(position, begin[k + 1]));
        s.reads.push_back(low.read(k, coordinates(k), guard));
    }
    for (size_t k = 1; k < parts; ++k) s.reads.push_back(Lowering::index(position - begin[k]));
    s.body = [&](Terms t) {
        Term value = t[parts - 1];
        for (size_t k = parts - 1; k-- > 0;) value = select(t[parts + k] < 0.0, t[k], value);
        return value;
    };
    low.write(low.stage(std::move(s)), 0, loops.index);
    return low.finish();
}

OpDef cat() {
    OpDef op;
    op.name = "cat";
    op.signature = "(*tensors) dim: int = 0";
    op.kind = graph::OpKind::move;
    op.summary = "torch.cat (operands of one dtype; legacy empty 1-d operands are left out by the frontend).";
    op.infer = [](const NodeView& n) {
        TensorType first = n.input(0);
        CODETTA_USER_CHECK(first.rank() > 0, "0-d tensors can't be concatenated");
        size_t dim = dimension(n.integer("dim"), first.rank());
        common_dtype(n);
        std::vector<Expr> shape = first.shape;
        for (size_t i = 1; i < n.input_count(); ++i) {
            std::vector<Expr> other = n.input(i).shape;
            bool fits = other.size() == shape.size();
            for (size_t d = 0; fits && d < shape.size(); ++d)
                fits = d == dim || other[d] == shape[d] || n.facts().proves(sym::eq(other[d], shape[d]));
            CODETTA_USER_CHECK(fits, "operand {} of shape {} can't be concatenated to {} along dimension {}", i, shape_text(other),
                               shape_text(first.shape), dim);
            shape[dim] = shape[dim] + other[dim];
        }
        return std::vector{graph::contiguous(first.dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        size_t dim = dimension(n.integer("dim"), n.input(0).rank());
        std::vector<Expr> begin = {0};
        for (size_t k = 0; k < n.input_count(); ++k) begin.push_back(begin.back() + n.input(k).shape[dim]);
        Expr position = loops.index[dim];
        auto coordinates = [&](size_t k) {
            std::vector<Expr> c = loops.index;
            c[dim] = position - begin[k];
            return c;
        };
        return lower_parts(n.input_count(), position, begin, coordinates, std::move(low), loops);
    };
    op.samples = {"f32[2, 3], f32[1, 3]",
                  "bf16[2, 3], bf16[2, 1], bf16[2, 4]; dim=1",
                  "i64[3]",
                  "f32[2, 2], f32[2, 2]; dim=-1",
                  "f32[0, 2], f32[3, 2]",
                  "f32[1, 1], f32[0, 1]"};
    return op;
}

OpDef stack() {
    OpDef op;
    op.name = "stack";
    op.signature = "(*tensors) dim: int = 0";
    op.kind = graph::OpKind::move;
    op.summary = "torch.stack.";
    op.infer = [](const NodeView& n) {
        TensorType first = n.input(0);
        common_dtype(n);
        for (size_t i = 1; i < n.input_count(); ++i)
            CODETTA_USER_CHECK(n.input(i).shape == first.shape, "operand {} is {}, not {}", i, shape_text(n.input(i).shape),
                               shape_text(first.shape));
        std::vector<Expr> shape = first.shape;
        size_t dim = dimension(n.integer("dim"), shape.size() + 1);
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim), Expr(static_cast<int64_t>(n.input_count())));
        return std::vector{graph::contiguous(first.dtype, shape)};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        size_t dim = dimension(n.integer("dim"), n.input(0).rank() + 1);
        std::vector<Expr> begin;
        for (size_t k = 0; k <= n.input_count(); ++k) begin.emplace_back(static_cast<int64_t>(k));
        std::vector<Expr> c = loops.index;
        c.erase(c.begin() + static_cast<std::ptrdiff_t>(dim));
        return lower_parts(n.input_count(), loops.index[dim], begin, [&](size_t) { return c; }, std::move(low), loops);
    };
    op.samples = {"f32[2, 3], f32[2, 3]", "bf16[4], bf16[4], bf16[4]; dim=-1", "i64[2]", "f32[], f32[]"};
    return op;
}

// pads: [left, right] of the last dimension, then of the one before (torch.nn.functional.pad).
std::pair<Expr, Expr> padding(const NodeView& n, size_t dim) {
    std::vector<Expr> pads = n.exprs("pads");
    size_t from_back = n.input(0).rank() - 1 - dim;
    if (2 * from_back + 1 >= pads.size()) return {0, 0};
    return {pads[2 * from_back], pads[2 * from_back + 1]};
}

OpDef constant_pad() {
    return access_op({.name = "constant_pad",
                      .signature = "(x) pads: exprs, value: number = 0",
                      .summary = "aten.constant_pad_nd; negative pads crop.",
                      .kind = graph::OpKind::move,
                      .shape =
                          [](const NodeView& n) {
                              std::vector<Expr> shape = n.input(0).shape;
                              CODETTA_USER_CHECK(n.exprs("pads").size() % 2 == 0 && n.exprs("pads").size() <= 2 * shape.size(),
                                                 "{} pads don't fit {} dimensions", n.exprs("pads").size(), shape.size());
                              for (size_t d = 0; d < shape.size(); ++d) {
                                  auto [left, right] = padding(n, d);
                                  shape[d] = n.facts().simplify(shape[d] + left + right);
                              }
                              return shape;
                          },
                      .where =
                          [](const NodeView& n, const std::vector<Expr>& index) {
                              Where w;
                              w.fill = n.number("value");
                              for (size_t d = 0; d < index.size(); ++d) {
                                  auto [left, right] = padding(n, d);
                                  Expr c = index[d] - left;
                                  w.coordinates.push_back(c);
                                  if (!n.facts().proves(sym::le(left, 0))) w.guard.push_back(sym::le(0, c));
                                  if (!n.facts().proves(sym::le(right, 0))) w.guard.push_back(sym::lt(c, n.input(0).shape[d]));
                              }
                              return w;
                          },
                      .samples = {"f32[2, 3]; pads=[1, 2]", "bf16[2, 3]; pads=[0, 1, 2, 0], value=-1.5", "i64[4]; pads=[-1, 2], value=7",
                                  "f32[1, 2]; pads=[0, 0, 1, 1]"}});
}

OpDef repeat() {
    return access_op({.name = "repeat",
                      .signature = "(x) repeats: exprs",
                      .summary = "torch.Tensor.repeat.",
                      .kind = graph::OpKind::move,
                      .shape =
                          [](const NodeView& n) {
                              std::vector<Expr> shape = n.exprs("repeats");
                              std::vector<Expr> x = n.input(0).shape;
                              CODETTA_USER_CHECK(shape.size() >= x.size(), "{} repeats don't fit {} dimensions", shape.size(), x.size());
                              for (size_t d = 0; d < x.size(); ++d)
                                  shape[shape.size() - x.size() + d] = shape[shape.size() - x.size() + d] * x[d];
                              return shape;
                          },
                      .where =
                          [](const NodeView& n, const std::vector<Expr>& index) {
                              std::vector<Expr> x = n.input(0).shape, repeats = n.exprs("repeats"), c;
                              size_t lead = index.size() - x.size();
                              for (size_t d = 0; d < x.size(); ++d)
                                  c.push_back(repeats[lead + d].is(1) ? index[lead + d]
                                                                      : sym::mod(index[lead + d], positive(x[d], n.facts())));
                              return Where{c};
                          },
                      .samples = {"f32[2, 3]; repeats=[2, 1]", "bf16[3]; repeats=[2, 2]", "i64[2, 1]; repeats=[1, 3]"}});
}

OpDef roll() {
    return access_op(
        {.name = "roll",
         .signature = "(x) shifts: exprs, dims: exprs",
         .summary = "torch.roll along dims (flattened rolls are made of views by the frontend).",
         .kind = graph::OpKind::move,
         .shape =
             [](const NodeView& n) {
                 CODETTA_USER_CHECK(n.exprs("shifts").size() == n.exprs("dims").size(), "shifts and dims need equally many entries");
                 return n.input(0).shape;
             },
         .where =
             [](const NodeView& n, const std::vector<Expr>& index) {
                 std::vector<Expr> c = index, shifts = n.exprs("shifts");
                 std::vector<int64_t> dims = n.integers("dims");
                 for (size_t k = 0; k < dims.size(); ++k) {
                     size_t d = dimension(dims[k], index.size());
                     if (index.empty()) continue;
                     c[d] = n.input(0).shape[d].is(1) ? Expr(0) : sym::mod(c[d] - shifts[k], positive(n.input(0).shape[d], n.facts()));
                 }
                 return Where{c};
             },
         .samples = {"f32[4, 3]; shifts=[1], dims=[0]", "bf16[3, 5]; shifts=[-1, 2], dims=[0, 1]", "i64[5]; shifts=[7], dims=[-1]"}});
}

OpDef flip() {
    return access_op({.name = "flip",
                      .signature = "(x) dims: exprs",
                      .summary = "torch.flip.",
                      .kind = graph::OpKind::move,
                      .shape = [](const NodeView& n) { return n.input(0).shape; },
                      .where =
                          [](const NodeView& n, const std::vector<Expr>& index) {
                              std::vector<Expr> c = index;
                              for (int64_t k : n.integers("dims")) {
                                  size_t d = dimension(k, index.size());
                                  if (!index.empty()) c[d] = n.input(0).shape[d] - 1 - c[d];
                              }
                              return Where{c};
                          },
                      .samples = {"f32[4, 3]; dims=[0]", "bf16[2, 3]; dims=[0, 1]", "i64[5]; dims=[-1]"}});
}

OpDef clone() {
    return access_op({.name = "clone",
                      .signature = "(x)",
                      .summary = "torch.clone, contiguous: a value of its own with x's elements.",
                      .kind = graph::OpKind::move,
                      .shape = [](const NodeView& n) { return n.input(0).shape; },
                      .where = [](const NodeView&, const std::vector<Expr>& index) { return Where{index}; },
                      .samples = {"f32[2, 3]", "bf16[3, 4] strides [1, 3]", "bool[2]", "i64[]"}});
}

// copy(x, source): source in x's shape and dtype; x's elements do not matter.
OpDef copy() {
    OpDef op;
    op.name = "copy";
    op.signature = "(x, source)";
    op.kind = graph::OpKind::move;
    op.summary = "aten.copy: source broadcast to x's shape and converted to x's dtype. `into` an input it is copy_.";
    op.infer = [](const NodeView& n) {
        std::vector<Expr> shapes[] = {n.input(0).shape, n.input(1).shape};
        CODETTA_USER_CHECK(broadcast_shapes(shapes, n.facts()) == shapes[0], "source {} does not broadcast to {}", shape_text(shapes[1]),
                           shape_text(shapes[0]));
        return std::vector{graph::contiguous(n.input(0).dtype, shapes[0])};
    };
    op.lower = [](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        StageId s = low.stage({.name = "value",
                               .axes = loops.axes,
                               .reads = {low.read(1, broadcast_index(n.input(1).shape, loops.index))},
                               .body = [&](Terms t) { return cast(n.output().dtype, t[0]); },
                               .raw = true});
        low.write(s, 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[2, 3], f32[2, 3]", "bf16[2, 3], f32[3]", "i64[2], f32[]"};
    return op;
}

OpDef triangle(std::string name, bool lower_part) {
    OpDef op;
    op.name = name;
    op.signature = "(x) diagonal: int = 0";
    op.kind = graph::OpKind::move;
    op.summary = "torch." + name + " of the last two dimensions.";
    op.infer = [](const NodeView& n) {
        CODETTA_USER_CHECK(n.input(0).rank() >= 2, "at least 2 dimensions are needed");
        return std::vector{graph::contiguous(n.input(0).dtype, n.input(0).shape)};
    };
    op.lower = [lower_part](const NodeView& n) {
        Lowering low(n);
        Loops loops = low.loops(n.output().shape);
        Expr row = loops.index[loops.index.size() - 2], column = loops.index.back(), diagonal = n.integer("diagonal");
        sym::Condition inside = lower_part ? sym::le(column, row + diagonal) : sym::le(row + diagonal, column);
        low.write(low.stage({.name = "value", .axes = loops.axes, .reads = {low.read(0, loops.index, {inside})}}), 0, loops.index);
        return low.finish();
    };
    op.samples = {"f32[3, 4]", "bf16[2, 4, 3]; diagonal=1", "i64[3, 3]; diagonal=-1", "bool[1, 3]"};
    return op;
}

// Zeros of shape `sizes` with grad in a slice (aten.slice_backward) or at an index (aten.select_backward): grad read through the inverse
// access.
OpDef slice_backward() {
    return access_op({.name = "slice_backward",
                      .signature = "(grad) sizes: exprs, dim: int, start: expr = 0, end: expr?, step: expr = 1",
                      .summary = "aten.slice_backward: zeros with grad in the slice.",
                      .kind = graph::OpKind::move,
                      .shape =
                          [](const NodeView& n) {
                              std::vector<Expr> sizes = n.exprs("sizes"), want = sizes;
                              Slice s = slice_of(n, sizes);
                              want[s.dim] = s.length;
                              CODETTA_USER_CHECK(may_agree(n.input(0).shape, want, n.facts()), "grad is {}, but the slice is {}",
                                                 shape_text(n.input(0).shape), shape_text(want));
                              return sizes;
                          },
                      .where =
                          [](const NodeView& n, const std::vector<Expr>& index) {
                              Slice s = slice_of(n, n.exprs("sizes"));
                              Where w{index};
                              Expr from_start = index[s.dim] - s.start;
                              w.coordinates[s.dim] = s.step.is(1) ? from_start : sym::floor_div(from_start, s.step);
                              if (!s.start.is(0)) w.guard.push_back(sym::le(s.start, index[s.dim]));
                              if (s.end != n.exprs("sizes")[s.dim]) w.guard.push_back(sym::lt(index[s.dim], s.end));
                              if (!s.step.is(1)) w.guard.push_back(sym::eq(sym::mod(from_start, s.step), 0));
                              Expr have = n.input(0).shape[s.dim];
                              if (!n.facts().proves(sym::eq(have, s.length))) w.guard.push_back(sym::lt(w.coordinates[s.dim], have));
                              return w;
                          },
                      .samples = {"f32[3, 3]; sizes=[5, 3], dim=0, start=1, end=4", "bf16[2, 3]; sizes=[2, 7], dim=1, start=1, step=2",
                                  "f32[4]; sizes=[4], dim=0"}});
}

OpDef select_backward() {
    return access_op({.name = "select_backward",
                      .signature = "(grad) sizes: exprs, dim: int, index: expr",
                      .summary = "aten.select_backward: zeros with grad at the index.",
                      .kind = graph::OpKind::move,
                      .shape =
                          [](const NodeView& n) {
                              std::vector<Expr> sizes = n.exprs("sizes");
                              CODETTA_USER_CHECK(!sizes.empty(), "a 0-d tensor has no dimension to select from");
                              std::vector<Expr> want = shape_without(sizes, {dimension(n.integer("dim"), sizes.size())}, false);
                              CODETTA_USER_CHECK(n.input(0).shape == want, "grad is {}, not {}", shape_text(n.input(0).shape),
                                                 shape_text(want));
                              return sizes;
                          },
                      .where =
                          [](const NodeView& n, const std::vector<Expr>& index) {
                              size_t dim = dimension(n.integer("dim"), index.size());
                              Where w{index};
                              w.coordinates.erase(w.coordinates.begin() + static_cast<std::ptrdiff_t>(dim));
                              w.guard.push_back(sym::eq(index[dim], select_index(n, n.exprs("sizes")[dim]).index));
                              return w;
                          },
                      .samples = {"f32[4]; sizes=[3, 4], dim=0, index=1", "bf16[3]; sizes=[3, 4], dim=1, index=-1"}});
}

} // namespace

std::vector<OpDef> move_ops() {
    return {cat(),
            stack(),
            constant_pad(),
            repeat(),
            roll(),
            flip(),
            clone(),
            copy(),
            triangle("tril", true),
            triangle("triu", false),
            slice_backward(),
            select_backward()};
}

} // namespace codetta::ops
