#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"
#include "codetta/graph/op_def.h"

namespace codetta::graph {

namespace {

template <class T>
const T& attribute_as(const NodeView& n, std::string_view name) {
    const T* value = std::get_if<T>(&n.attribute(name));
    CODETTA_CHECK(value, "op '{}': attribute '{}' is not of the asked type", n.node->op, name);
    return *value;
}

} // namespace

bool NodeView::has(std::string_view name) const {
    if (node->attributes.contains(name)) return true;
    const AttributeRule* rule = signature ? signature->find(name) : nullptr;
    return rule && rule->otherwise;
}

const Attribute& NodeView::attribute(std::string_view name) const {
    if (auto it = node->attributes.find(name); it != node->attributes.end()) return it->second;
    const AttributeRule* rule = signature ? signature->find(name) : nullptr;
    CODETTA_CHECK(rule && rule->otherwise, "op '{}' has no attribute '{}' and no default for it", node->op, name);
    return *rule->otherwise;
}

bool NodeView::flag(std::string_view name) const { return attribute_as<bool>(*this, name); }
std::string NodeView::text(std::string_view name) const { return attribute_as<std::string>(*this, name); }
std::vector<sym::Expr> NodeView::exprs(std::string_view name) const { return attribute_as<std::vector<sym::Expr>>(*this, name); }
scalar::DType NodeView::dtype(std::string_view name) const { return attribute_as<scalar::DType>(*this, name); }

int64_t NodeView::integer(std::string_view name) const {
    std::optional<int64_t> value = expr(name).constant();
    CODETTA_USER_CHECK(value, "attribute '{}' must be a number, not a symbolic size", name);
    return *value;
}

double NodeView::number(std::string_view name) const {
    if (const auto* value = std::get_if<double>(&attribute(name))) return *value;
    return static_cast<double>(integer(name));
}

sym::Expr NodeView::expr(std::string_view name) const {
    const Attribute& a = attribute(name);
    if (const auto* integer = std::get_if<int64_t>(&a)) return *integer;
    if (const auto* flag = std::get_if<bool>(&a)) return static_cast<int64_t>(*flag);
    return attribute_as<sym::Expr>(*this, name);
}

std::vector<int64_t> NodeView::integers(std::string_view name) const {
    std::vector<int64_t> result;
    for (const sym::Expr& e : exprs(name)) {
        CODETTA_USER_CHECK(e.constant(), "attribute '{}' must hold numbers, not symbolic sizes", name);
        result.push_back(*e.constant());
    }
    return result;
}

std::string_view to_string(OpKind k) {
    switch (k) {
    case OpKind::pointwise: return "pointwise";
    case OpKind::view: return "view";
    case OpKind::move: return "move";
    case OpKind::contract: return "contract";
    case OpKind::reduce: return "reduce";
    case OpKind::normalise: return "normalise";
    case OpKind::index: return "index";
    case OpKind::attention: return "attention";
    case OpKind::factory: return "factory";
    case OpKind::scan: return "scan";
    }
    return "?";
}

OpSet::OpSet(std::vector<OpDef> ops) : ops_(std::move(ops)) {
    for (size_t i = 0; i < ops_.size(); ++i) {
        const OpDef& op = ops_[i];
        CODETTA_CHECK(by_name_.emplace(op.name, i).second, "op '{}' is listed twice", op.name);
        CODETTA_CHECK(op.infer && (op.lower != nullptr) != (op.decompose != nullptr), "op '{}' needs infer and one of lower, decompose",
                      op.name);
        signatures_.push_back(parse_signature(op.signature));
    }
}

const OpDef* OpSet::find(std::string_view name) const {
    auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : &ops_[it->second];
}

const OpDef& OpSet::get(std::string_view name) const {
    if (const OpDef* op = find(name)) return *op;
    std::vector<std::string_view> known;
    for (const OpDef& op : ops_) known.push_back(op.name);
    std::string_view nearest = base::nearest_name(name, known);
    throw base::UserError(fmt::format("there is no op '{}'{}", name, nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
}

const Signature& OpSet::signature(std::string_view name) const { return signatures_[static_cast<size_t>(&get(name) - ops_.data())]; }

NodeView OpSet::view(const Graph& g, const Node& n) const { return {&g, &n, &signature(n.op)}; }

std::vector<TensorType> OpSet::infer(const Graph& g, const Node& n) const {
    const OpDef& op = get(n.op);
    try {
        return op.infer(view(g, n));
    } catch (const base::UserError& e) {
        throw base::UserError(e.message(), fmt::format("op '{}'{}", n.op, n.location.empty() ? "" : " at " + n.location), e.remedy());
    }
}

problem::Problem OpSet::lower(const Graph& g, const Node& n) const {
    const OpDef& op = get(n.op);
    CODETTA_CHECK(op.lower, "op '{}' is to be decomposed, not lowered", n.op);
    return op.lower(view(g, n));
}

} // namespace codetta::graph
