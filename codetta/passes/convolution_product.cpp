#include "codetta/passes/convolution_product.h"

#include <algorithm>

#include "codetta/passes/rewrite.h"
#include "codetta/sym/expr.h"

namespace codetta::passes {

namespace {

using Exprs = std::vector<sym::Expr>;

sym::Expr number(size_t d) { return static_cast<int64_t>(d); }

Exprs range(size_t begin, size_t end) {
    Exprs result;
    for (size_t d = begin; d < end; ++d) result.push_back(number(d));
    return result;
}

// The attributes of a convolution over `space` dimensions.
struct Convolution {
    std::vector<int64_t> stride, padding, dilation;
    int64_t groups = 1;
    size_t space() const { return stride.size(); }
};

Convolution convolution_of(const graph::NodeView& n) {
    return {n.integers("stride"), n.integers("padding"), n.integers("dilation"), n.integer("groups")};
}

ValueId padded(GraphBuilder& b, ValueId x, const Convolution& c) {
    Exprs pads;
    for (size_t d = c.space(); d-- > 0;) pads.insert(pads.end(), 2, sym::Expr(c.padding[d]));
    bool any = std::any_of(c.padding.begin(), c.padding.end(), [](int64_t p) { return p != 0; });
    return any ? b.add1("constant_pad", {x}, {{"pads", pads}}) : x;
}

// [n, channels, o..., k...]: the window of each place; `out` and `kernel` are the sizes of places and window.
ValueId windows(GraphBuilder& b, ValueId x, const Convolution& c, const Exprs& out, const std::vector<int64_t>& kernel) {
    for (size_t d = 0; d < c.space(); ++d) {
        auto dim = static_cast<int64_t>(2 + d);
        auto last = static_cast<int64_t>(b.type(x).rank());
        if (c.stride[d] == kernel[d] && c.dilation[d] == 1) { // apart: a split of the dimension
            x = b.add1("slice", {x}, {{"dim", dim}, {"end", out[d] * kernel[d]}});
            Exprs shape = b.type(x).shape;
            shape[2 + d] = out[d];
            shape.insert(shape.begin() + dim + 1, sym::Expr(kernel[d]));
            x = b.add1("view", {x}, {{"shape", shape}});
            Exprs order = range(0, shape.size());
            std::rotate(order.begin() + dim + 1, order.begin() + dim + 2, order.end());
            x = b.add1("permute", {x}, {{"dims", order}});
            continue;
        }
        x = b.add1("unfold", {x}, {{"dim", dim}, {"size", (kernel[d] - 1) * c.dilation[d] + 1}, {"step", c.stride[d]}});
        if (c.dilation[d] > 1) x = b.add1("slice", {x}, {{"dim", last}, {"step", sym::Expr(c.dilation[d])}});
    }
    return x;
}

// [n, groups, channels of a group * window, places]
ValueId columns(GraphBuilder& b, ValueId x, const Convolution& c, const Exprs& out, const std::vector<int64_t>& kernel) {
    ValueId w = windows(b, padded(b, x, c), c, out, kernel);
    size_t space = c.space();
    Exprs order = {0, 1};
    for (size_t d = 0; d < space; ++d) order.push_back(number(2 + space + d));
    for (size_t d = 0; d < space; ++d) order.push_back(number(2 + d));
    w = b.add1("permute", {w}, {{"dims", order}});
    sym::Expr inner = 1, places = sym::product(out);
    for (int64_t k : kernel) inner = inner * k;
    const Exprs shape = b.type(w).shape;
    sym::Expr per_group = b.graph().facts.simplify(sym::floor_div(shape[1], c.groups));
    return b.add1("view", {w}, {{"shape", Exprs{shape[0], c.groups, per_group * inner, places}}});
}

std::optional<std::vector<int64_t>> static_kernel(const Exprs& sizes) {
    std::vector<int64_t> kernel;
    for (const sym::Expr& e : sizes) {
        if (!e.constant()) return std::nullopt;
        kernel.push_back(*e.constant());
    }
    return kernel;
}

std::optional<ValueId> forward(const Node& n, Rewriter& r) {
    GraphBuilder& b = r.builder();
    const Graph& old = r.old();
    const Exprs w = old.type(*n.inputs[1]).shape, out = old.type(n.outputs[0]).shape;
    Convolution c = convolution_of(b.ops().view(old, n));
    std::optional<std::vector<int64_t>> kernel = static_kernel({w.begin() + 2, w.end()});
    bool depthwise = c.groups > 1 && w[1].is(1);
    if (!kernel || depthwise) return std::nullopt;
    ValueId x = columns(b, r.now(*n.inputs[0]), c, {out.begin() + 2, out.end()}, *kernel);
    const Exprs col = b.type(x).shape; // [n, g, k, places]
    sym::Expr co = b.graph().facts.simplify(sym::floor_div(w[0], c.groups));
    ValueId result;
    if (c.groups == 1) {
        ValueId matrix = b.add1("view", {r.now(*n.inputs[1])}, {{"shape", Exprs{w[0], col[2]}}});
        result = b.add1("matmul", {matrix, b.add1("view", {x}, {{"shape", Exprs{col[0], col[2], col[3]}}})}); // [n, co, places]
    } else {
        ValueId matrix = b.add1("view", {r.now(*n.inputs[1])}, {{"shape", Exprs{c.groups, co, col[2]}}});
        ValueId product = b.add1("matmul", {matrix, x}); // [n, g, co, places]
        result = b.add1("view", {product}, {{"shape", Exprs{col[0], w[0], col[3]}}});
    }
    if (n.inputs.size() > 2 && n.inputs[2])
        result = b.add1("add", {result, b.add1("view", {r.now(*n.inputs[2])}, {{"shape", Exprs{w[0], 1}}})});
    return b.add1("view", {result}, {{"shape", out}});
}

std::optional<ValueId> weight_gradient(const Node& n, Rewriter& r) {
    GraphBuilder& b = r.builder();
    const Graph& old = r.old();
    const Exprs grad = old.type(*n.inputs[0]).shape, out = old.type(n.outputs[0]).shape;
    Convolution c = convolution_of(b.ops().view(old, n));
    std::optional<std::vector<int64_t>> kernel = static_kernel({out.begin() + 2, out.end()});
    if (!kernel || c.groups != 1) return std::nullopt;
    Exprs places(grad.begin() + 2, grad.end());
    ValueId x = columns(b, r.now(*n.inputs[1]), c, places, *kernel);
    const Exprs col = b.type(x).shape;
    ValueId g = b.add1("view", {r.now(*n.inputs[0])}, {{"shape", Exprs{grad[0], grad[1], col[3]}}});
    x = b.add1("view", {x}, {{"shape", Exprs{col[0], col[2], col[3]}}});
    ValueId dw = b.add1("dot_general", {g, x}, {{"a_contract", Exprs{0, 2}}, {"b_contract", Exprs{0, 2}}}); // [co, k]
    return b.add1("view", {dw}, {{"shape", out}});
}

} // namespace

Graph convolution_product(Graph g, const OpSet& ops, const base::Options&) {
    return rewrite(g, ops, [](const Node& n, Rewriter& r) {
        std::optional<ValueId> v;
        if (n.op == "convolution") v = forward(n, r);
        if (n.op == "convolution_weight_gradient") v = weight_gradient(n, r);
        if (v) r.replace(n.outputs[0], *v);
        return v.has_value();
    });
}

} // namespace codetta::passes
