#include "codetta/ops/lowering.h"

#include <algorithm>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/problem/problem.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/facts.h"

namespace codetta::ops {

Lowering::Lowering(const graph::NodeView& n) {
    problem_.name = n.node->op;
    problem_.facts = n.facts();
    const graph::Signature& s = *n.signature;
    auto operand = [&](std::string name, const graph::TensorType& t, problem::Role role) {
        problem_.operands.push_back({std::move(name), t.dtype, t.shape, t.strides, role, false, std::nullopt});
        return problem::OperandId(problem_.operands.size() - 1);
    };
    for (size_t i = 0; i < std::max(n.input_count(), s.operands.size()); ++i) {
        inputs_.emplace_back();
        present_.emplace_back();
        if (!n.has_input(i)) continue;
        const graph::OperandRule& rule = s.operands[std::min(i, s.operands.size() - 1)];
        inputs_.back() = n.input(i);
        present_.back() =
            operand(rule.variadic ? fmt::format("{}{}", rule.name, i + 1 - s.operands.size()) : rule.name, n.input(i), problem::Role::in);
    }
    for (size_t i = 0; i < n.output_count(); ++i)
        outputs_.push_back(operand(n.output_count() == 1 ? "out" : fmt::format("out{}", i), n.output(i), problem::Role::out));
}

AxisId Lowering::add_axis(char letter, const Expr& extent) {
    problem_.axes.push_back({fmt::format("{}{}", letter, letter == 'i' ? next_i_++ : next_r_++), extent});
    return AxisId(problem_.axes.size() - 1);
}

std::vector<Expr> Lowering::symbols(std::span<const AxisId> axes) const {
    std::vector<Expr> result;
    for (AxisId a : axes) result.push_back(Expr::symbol(problem_.axis(a).name));
    return result;
}

Loops Lowering::loops(std::span<const Expr> shape) {
    RowLoops r = rows(shape, {});
    return {r.all, r.index};
}

Loops Lowering::reduced(std::span<const Expr> shape) {
    Loops result;
    for (const Expr& extent : shape) result.axes.push_back(add_axis('r', extent));
    result.index = symbols(result.axes);
    return result;
}

RowLoops Lowering::rows(std::span<const Expr> shape, const std::vector<size_t>& reduced_dims) {
    RowLoops result;
    for (size_t d = 0; d < shape.size(); ++d) {
        bool reduce = std::find(reduced_dims.begin(), reduced_dims.end(), d) != reduced_dims.end();
        result.index.emplace_back(0);
        result.row_index.emplace_back(0);
        if (reduce) result.count = result.count * shape[d];
        if (shape[d].is(1) && !reduce) continue;
        AxisId a = add_axis(reduce ? 'r' : 'i', shape[d]);
        result.all.push_back(a);
        (reduce ? result.reduce : result.rows).push_back(a);
        result.index.back() = Expr::symbol(problem_.axis(a).name);
        if (!reduce) result.row_index.back() = result.index.back();
    }
    return result;
}

Read Lowering::read(size_t input, std::vector<Expr> coordinates, std::vector<sym::Condition> guard, double fill,
                    std::vector<problem::Check> checks) const {
    CODETTA_CHECK(has(input), "problem '{}': operand {} is absent", problem_.name, input);
    if (guard.empty()) fill = 0;
    return {Read::From::operand, present_[input]->value, {std::move(coordinates), std::move(guard), fill, std::move(checks)}, {}};
}

Read Lowering::read(StageId s) const { return read(s, symbols(problem_.stage(s).axes)); }

Read Lowering::read(StageId s, std::vector<Expr> coordinates, std::vector<sym::Condition> guard, double fill) const {
    return {Read::From::stage, s.value, {std::move(coordinates), std::move(guard), fill, {}}, {}};
}

Read Lowering::index(Expr e) { return {Read::From::index, 0, {}, std::move(e)}; }

StageId Lowering::stage(StageSpec spec) {
    scalar::Builder builder;
    std::vector<Term> terms;
    for (const Read& r : spec.reads) {
        scalar::DType t = r.from == Read::From::operand ? problem_.operands[r.source].dtype
                          : r.from == Read::From::stage ? problem_.stages[r.source].dtype()
                                                        : scalar::DType::i64;
        terms.push_back({&builder, builder.parameter(t)});
    }
    if (spec.body && !spec.raw)
        for (Term& t : terms) t = wide(t);
    Term value = spec.constant ? spec.constant(builder) : spec.body ? spec.body(terms) : terms.at(0);
    if (spec.result) value = narrow(*spec.result, value);
    problem::Stage s;
    s.name = std::move(spec.name);
    s.axes = std::move(spec.axes);
    s.reduce = std::move(spec.reduce);
    s.scan = spec.scan;
    s.reads = std::move(spec.reads);
    s.body = builder.finish({value.value});
    s.combiner = std::move(spec.combiner);
    if (s.combiner && s.reduce.empty() && !s.scan) s.reduce.push_back(add_axis('r', 1)); // a reduction of nothing visits one element
    problem_.stages.push_back(std::move(s));
    return StageId(problem_.stages.size() - 1);
}

void Lowering::write(StageId s, size_t output, std::vector<Expr> coordinates, std::vector<sym::Condition> guard,
                     std::vector<problem::Check> checks, bool accumulate) {
    problem_.stages[s.value].writes.push_back(
        {outputs_.at(output), {std::move(coordinates), std::move(guard), 0, std::move(checks)}, accumulate});
}

Expr positive(const Expr& extent, const sym::Facts& facts) { return facts.positive(extent) ? extent : sym::max(extent, 1); }

Expr loaded(size_t read) { return Expr::symbol(fmt::format("${}", read)); }

std::string shape_text(std::span<const Expr> shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + sym::to_string(shape[i]);
    return text + "]";
}

std::vector<Expr> broadcast_index(std::span<const Expr> shape, std::span<const Expr> index) {
    std::vector<Expr> result;
    for (size_t d = 0; d < shape.size(); ++d) result.push_back(shape[d].is(1) ? Expr(0) : index[index.size() - shape.size() + d]);
    return result;
}

std::vector<Expr> broadcast_shapes(std::span<const std::vector<Expr>> shapes, const sym::Facts& facts) {
    std::vector<Expr> result;
    for (const std::vector<Expr>& shape : shapes) {
        if (shape.size() > result.size()) result.insert(result.begin(), shape.size() - result.size(), Expr(1));
        for (size_t d = 0; d < shape.size(); ++d) {
            Expr& have = result[result.size() - shape.size() + d];
            if (have.is(1)) {
                have = shape[d];
            } else if (!shape[d].is(1) && have != shape[d] && !facts.proves(sym::eq(have, shape[d]))) {
                std::string all;
                for (const std::vector<Expr>& s : shapes) all += (all.empty() ? "" : " and ") + shape_text(s);
                throw base::UserError(
                    fmt::format("shapes {} do not broadcast: {} against {}", all, sym::to_string(have), sym::to_string(shape[d])));
            }
        }
    }
    return result;
}

size_t dimension(int64_t dim, size_t rank) {
    int64_t r = std::max<int64_t>(1, static_cast<int64_t>(rank));
    CODETTA_USER_CHECK(dim >= -r && dim < r, "dimension {} is out of range for {} dimensions", dim, rank);
    return static_cast<size_t>(dim < 0 ? dim + r : dim);
}

std::vector<size_t> dimensions(const std::vector<int64_t>& dims, size_t rank) {
    std::vector<size_t> result;
    for (int64_t d : dims) result.push_back(dimension(d, rank));
    if (dims.empty())
        for (size_t d = 0; d < rank; ++d) result.push_back(d);
    std::sort(result.begin(), result.end());
    CODETTA_USER_CHECK(std::adjacent_find(result.begin(), result.end()) == result.end(), "a dimension is listed twice");
    if (rank == 0) result.clear();
    return result;
}

std::vector<Expr> shape_without(std::span<const Expr> shape, const std::vector<size_t>& dims, bool keep) {
    std::vector<Expr> result;
    for (size_t d = 0; d < shape.size(); ++d) {
        bool gone = std::find(dims.begin(), dims.end(), d) != dims.end();
        if (!gone) result.push_back(shape[d]);
        if (gone && keep) result.emplace_back(1);
    }
    return result;
}

} // namespace codetta::ops
