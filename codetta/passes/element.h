// One element of a value as an expression of its index, where the value is made of `arange`, constants, comparisons, logic, views and
// indexing with such values alone.
#pragma once

#include <optional>

#include "codetta/graph/op_def.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"

namespace codetta::passes {

// An integer expression; or a truth (a conjunction of conditions); or a number; or a number that is `yes` where the conditions hold and
// `no` elsewhere.
struct Element {
    enum class Kind : uint8_t { integer, truth, number, choice };
    Kind kind = Kind::number;
    sym::Expr integer;
    std::vector<sym::Condition> conditions; // of truth and choice; none: always
    double yes = 0, no = 0;                 // number: yes
};

class ElementEvaluator {
public:
    // facts: of the sizes and of the symbols in the indices that will be asked for.
    ElementEvaluator(const graph::Graph& g, const graph::OpSet& ops, sym::Facts facts)
        : g_(g), ops_(ops), facts_(std::move(facts)), makers_(graph::producers(g)) {}
    std::optional<Element> element(graph::ValueId v, const std::vector<sym::Expr>& index) const; // nullopt: not of this kind

private:
    std::optional<Element> of_node(const graph::Node& n, const std::vector<sym::Expr>& index) const;
    std::optional<Element> through_access(const graph::Node& n, const std::vector<sym::Expr>& index) const;
    std::optional<Element> of_cat(const graph::Node& n, const std::vector<sym::Expr>& index) const;
    std::optional<Element> of_pointwise(const graph::Node& n, const std::vector<sym::Expr>& index) const;
    std::optional<Element> operand(const graph::Node& n, size_t i, const std::vector<sym::Expr>& index) const;
    Element settled(Element e) const; // conditions that the facts decide are gone
    const graph::Graph& g_;
    const graph::OpSet& ops_;
    sym::Facts facts_;
    std::vector<std::optional<uint32_t>> makers_;
};

} // namespace codetta::passes
