// Views and moves: the same elements under another shape, in another order, beside others.
#include "codetta/base/error.h"
#include "codetta/frontends/aten/promotion.h"
#include "codetta/frontends/aten/translator.h"

#include <algorithm>
#include <limits>

namespace codetta::frontends::aten {

namespace {

using sym::Expr;
using Exprs = std::vector<Expr>;

constexpr int64_t torch_end = std::numeric_limits<int64_t>::max(); // what a slice without an end says

void alias(Translator& t, std::string_view) { t.result(t.tensor("self")); }

// The capture's shape says what -1 means, and spares the arithmetic.
void view(Translator& t, std::string_view) { t.result(t.add("view", {t.tensor("self")}, {{"shape", t.promised().shape}})); }

void view_dtype(Translator& t, std::string_view) {
    if (t.dtype("dtype") != t.type("self").dtype) t.refuse("a view of another dtype is not supported");
    alias(t, {});
}

void permute(Translator& t, std::string_view) {
    const size_t rank = t.type("self").rank();
    Exprs dims;
    for (int64_t dim : t.integers("dims")) dims.emplace_back(t.dimension(dim, rank));
    t.result(t.add("permute", {t.tensor("self")}, {{"dims", dims}}));
}

void swap_dimensions(Translator& t, int64_t a, int64_t b) {
    Exprs dims;
    for (size_t d = 0; d < t.type("self").rank(); d++) dims.emplace_back(static_cast<int64_t>(d));
    std::swap(dims.at(static_cast<size_t>(a)), dims.at(static_cast<size_t>(b)));
    t.result(t.add("permute", {t.tensor("self")}, {{"dims", dims}}));
}

void transpose(Translator& t, std::string_view) {
    const size_t rank = t.type("self").rank();
    if (rank == 0) return alias(t, {});
    swap_dimensions(t, t.dimension(t.integer("dim0"), rank), t.dimension(t.integer("dim1"), rank));
}

void transpose_2d(Translator& t, std::string_view) {
    if (t.type("self").rank() < 2) return alias(t, {});
    swap_dimensions(t, 0, 1);
}

void expand(Translator& t, std::string_view) { t.result(t.add("expand", {t.tensor("self")}, {{"shape", t.promised().shape}})); }

void unsqueeze(Translator& t, std::string_view) {
    t.result(t.add("unsqueeze", {t.tensor("self")}, {{"dim", t.dimension(t.integer("dim"), t.type("self").rank() + 1)}}));
}

void slice(Translator& t, std::string_view) {
    const graph::TensorType x = t.type("self");
    const int64_t dim = t.dimension(t.integer("dim", 0), x.rank());
    graph::Attributes attributes = {{"dim", dim}, {"start", t.size("start", 0)}, {"step", t.size("step", 1)}};
    const Expr end = t.size("end", torch_end);
    if (!end.is(torch_end)) attributes["end"] = end;
    t.result(t.add("slice", {t.tensor("self")}, std::move(attributes)));
}

void select(Translator& t, std::string_view) {
    t.result(
        t.add("select", {t.tensor("self")}, {{"dim", t.dimension(t.integer("dim"), t.type("self").rank())}, {"index", t.size("index")}}));
}

// Parts of the given lengths along a dimension.
void split_into(Translator& t, const Exprs& lengths, int64_t dim) {
    Expr start = 0;
    for (size_t i = 0; i < lengths.size(); i++) {
        const Expr end = start + lengths[i];
        if (t.wanted(i)) t.result(t.add("slice", {t.tensor("self")}, {{"dim", dim}, {"start", start}, {"end", end}}), i);
        start = end;
    }
}

void split_with_sizes(Translator& t, std::string_view) {
    split_into(t, t.sizes("split_sizes"), t.dimension(t.integer("dim", 0), t.type("self").rank()));
}

void split(Translator& t, std::string_view) {
    const int64_t dim = t.dimension(t.integer("dim", 0), t.type("self").rank());
    Exprs lengths;
    for (size_t i = 0; i < t.result_count(); i++) lengths.push_back(t.promised(i).shape.at(static_cast<size_t>(dim)));
    split_into(t, lengths, dim);
}

void unbind(Translator& t, std::string_view) {
    const int64_t dim = t.dimension(t.integer("dim", 0), t.type("self").rank());
    for (size_t i = 0; i < t.result_count(); i++)
        if (t.wanted(i)) t.result(t.add("select", {t.tensor("self")}, {{"dim", dim}, {"index", Expr(static_cast<int64_t>(i))}}), i);
}

void diagonal(Translator& t, std::string_view) {
    const size_t rank = t.type("self").rank();
    t.result(t.add("diagonal", {t.tensor("self")},
                   {{"offset", t.integer("offset", 0)},
                    {"dim1", t.dimension(t.integer("dim1", 0), rank)},
                    {"dim2", t.dimension(t.integer("dim2", 1), rank)}}));
}

void unfold(Translator& t, std::string_view) {
    t.result(t.add(
        "unfold", {t.tensor("self")},
        {{"dim", t.dimension(t.integer("dimension"), t.type("self").rank())}, {"size", t.integer("size")}, {"step", t.integer("step")}}));
}

void as_strided(Translator& t, std::string_view) {
    const graph::TensorType x = t.type("self");
    t.result(t.add(
        "as_strided", {t.tensor("self")},
        {{"size", t.sizes("size")}, {"stride", t.sizes("stride")}, {"offset", t.size("storage_offset", 0)}, {"base_strides", x.strides}}));
}

// --- moves

// Promoted operands; torch leaves out legacy empty 1-d tensors.
void cat(Translator& t, std::string_view op) {
    Promotion promotion;
    std::vector<ValueId> parts;
    size_t rank = 0;
    for (const std::optional<ValueId>& v : t.tensors("tensors")) {
        const graph::TensorType x = t.type(*v);
        promotion.add_tensor(x.dtype, x.shape.empty());
        rank = std::max(rank, x.rank());
        parts.push_back(*v);
    }
    if (op == "cat" && rank > 1) std::erase_if(parts, [&](ValueId v) { return t.type(v).rank() == 1 && t.type(v).shape[0].is(0); });
    if (parts.empty()) t.refuse("a list of no tensors");
    Operands operands;
    for (ValueId v : parts) operands.emplace_back(t.cast(v, *promotion.result()));
    t.result(t.add(std::string(op), operands, {{"dim", t.dimension(t.integer("dim", 0), op == "stack" ? rank + 1 : rank)}}));
}

void constant_pad(Translator& t, std::string_view) {
    t.result(
        t.add("constant_pad", {t.tensor("self")}, {{"pads", t.sizes("pad")}, {"value", t.has("value") ? t.number("value") : int64_t(0)}}));
}

void repeat(Translator& t, std::string_view) { t.result(t.add("repeat", {t.tensor("self")}, {{"repeats", t.sizes("repeats")}})); }

Exprs as_exprs(const std::vector<int64_t>& numbers) { return {numbers.begin(), numbers.end()}; }

void roll(Translator& t, std::string_view) {
    const graph::TensorType x = t.type("self");
    const Exprs shifts = t.sizes("shifts");
    std::vector<int64_t> dims = t.integers("dims");
    for (int64_t& dim : dims) dim = t.dimension(dim, x.rank());
    if (!dims.empty()) return t.result(t.add("roll", {t.tensor("self")}, {{"shifts", shifts}, {"dims", as_exprs(dims)}}));
    const ValueId flat = t.add("view", {t.tensor("self")}, {{"shape", Exprs{graph::element_count(x)}}});
    const ValueId rolled = t.add("roll", {flat}, {{"shifts", shifts}, {"dims", Exprs{0}}});
    t.result(t.add("view", {rolled}, {{"shape", x.shape}}));
}

void flip(Translator& t, std::string_view) {
    const size_t rank = t.type("self").rank();
    std::vector<int64_t> dims = t.integers("dims");
    if (dims.empty()) return t.result(t.add("clone", {t.tensor("self")}));
    for (int64_t& dim : dims) dim = t.dimension(dim, rank);
    t.result(t.add("flip", {t.tensor("self")}, {{"dims", as_exprs(dims)}}));
}

void copy(Translator& t, std::string_view) { t.result(t.add("copy", {t.tensor("self"), t.tensor("src")})); }

void triangle(Translator& t, std::string_view op) {
    t.result(t.add(std::string(op), {t.tensor("self")}, {{"diagonal", t.integer("diagonal", 0)}}));
}

void slice_backward(Translator& t, std::string_view) {
    const Exprs sizes = t.sizes("input_sizes");
    graph::Attributes attributes = {
        {"sizes", sizes}, {"dim", t.dimension(t.integer("dim"), sizes.size())}, {"start", t.size("start")}, {"step", t.size("step")}};
    if (!t.size("end").is(torch_end)) attributes["end"] = t.size("end");
    t.result(t.add("slice_backward", {t.tensor("grad_output")}, std::move(attributes)));
}

void select_backward(Translator& t, std::string_view) {
    const Exprs sizes = t.sizes("input_sizes");
    t.result(t.add("select_backward", {t.tensor("grad_output")},
                   {{"sizes", sizes}, {"dim", t.dimension(t.integer("dim"), sizes.size())}, {"index", t.size("index")}}));
}

constexpr Row rows[] = {
    {"aten.alias.default", "", alias},
    {"aten.detach.default", "", alias},
    {"aten.lift_fresh.default", "", alias},
    {"aten.view.default", "", view},
    {"aten._unsafe_view.default", "", view},
    {"aten.reshape.default", "", view},
    {"aten._reshape_alias.default", "", view},
    {"aten.squeeze.default", "", view},
    {"aten.squeeze.dim", "", view},
    {"aten.squeeze.dims", "", view},
    {"aten.unsqueeze.default", "", unsqueeze},
    {"aten.view.dtype", "", view_dtype},
    {"aten.permute.default", "", permute},
    {"aten.transpose.int", "", transpose},
    {"aten.t.default", "", transpose_2d},
    {"aten.expand.default", "", expand},
    {"aten.slice.Tensor", "", slice},
    {"aten.select.int", "", select},
    {"aten.split.Tensor", "", split},
    {"aten.split_with_sizes.default", "", split_with_sizes},
    {"aten.unbind.int", "", unbind},
    {"aten.diagonal.default", "", diagonal},
    {"aten.unfold.default", "", unfold},
    {"aten.as_strided.default", "", as_strided},
    {"aten.cat.default", "cat", cat},
    {"aten.stack.default", "stack", cat},
    {"aten.constant_pad_nd.default", "", constant_pad},
    {"aten.repeat.default", "", repeat},
    {"aten.roll.default", "", roll},
    {"aten.flip.default", "", flip},
    {"aten.copy.default", "", copy},
    {"aten.tril.default", "tril", triangle},
    {"aten.triu.default", "triu", triangle},
    {"aten.slice_backward.default", "", slice_backward},
    {"aten.select_backward.default", "", select_backward},
};

} // namespace

std::span<const Row> view_rows() { return rows; }

} // namespace codetta::frontends::aten
