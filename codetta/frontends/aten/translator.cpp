#include "codetta/frontends/aten/translator.h"

#include "codetta/base/error.h"
#include "codetta/frontends/aten/promotion.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace codetta::frontends::aten {

using scalar::DType;
using sym::Expr;

Translator::Translator(const ImportedGraph& imported, const ImportedNode& node, graph::GraphBuilder& builder,
                       std::map<uint32_t, ValueId>& values)
    : imported_(&imported), node_(&node), builder_(&builder), values_(&values) {
    builder_->set_location(node.location);
}

void Translator::refuse(const std::string& why) const { throw base::UserError(why); }

void Translator::refuse_form(std::string_view name, std::string_view wanted) const {
    const Argument* argument = find(name);
    refuse(fmt::format("argument '{}' is {}, not {}", name, !argument || argument->is_none() ? "missing" : "of another form", wanted));
}

const Argument* Translator::find(std::string_view name) const {
    for (const auto& [argument, value] : node_->arguments)
        if (argument == name) return &value;
    return nullptr;
}

bool Translator::has(std::string_view name) const {
    const Argument* argument = find(name);
    return argument && !argument->is_none();
}

bool Translator::is_tensor(std::string_view name) const {
    const Argument* argument = find(name);
    return argument && std::holds_alternative<TensorRef>(argument->value);
}

bool Translator::is_number(std::string_view name) const {
    const Argument* argument = find(name);
    if (!argument) return false;
    const auto& v = argument->value;
    return std::holds_alternative<bool>(v) || std::holds_alternative<int64_t>(v) || std::holds_alternative<double>(v) ||
           std::holds_alternative<Expr>(v);
}

bool Translator::flag(std::string_view name, bool otherwise) const {
    if (!has(name)) return otherwise;
    if (const auto* v = std::get_if<bool>(&find(name)->value)) return *v;
    refuse_form(name, "a bool");
}

int64_t Translator::integer(std::string_view name, std::optional<int64_t> otherwise) const {
    const std::optional<int64_t> v = size(name, otherwise ? std::optional<Expr>(*otherwise) : std::nullopt).constant();
    if (!v) refuse_form(name, "a plain integer");
    return *v;
}

Expr Translator::size(std::string_view name, std::optional<Expr> otherwise) const {
    if (!has(name)) {
        if (otherwise) return *otherwise;
        refuse_form(name, "an integer");
    }
    const auto& v = find(name)->value;
    if (const auto* i = std::get_if<int64_t>(&v)) return *i;
    if (const auto* e = std::get_if<Expr>(&v)) return *e;
    if (const auto* b = std::get_if<bool>(&v)) return int64_t(*b);
    refuse_form(name, "an integer");
}

graph::Attribute Translator::number(std::string_view name) const {
    if (!has(name)) refuse_form(name, "a number");
    const auto& v = find(name)->value;
    if (const auto* b = std::get_if<bool>(&v)) return int64_t(*b);
    if (const auto* i = std::get_if<int64_t>(&v)) return *i;
    if (const auto* d = std::get_if<double>(&v)) return *d;
    if (const auto* e = std::get_if<Expr>(&v)) {
        if (e->constant()) return *e->constant();
        return *e;
    }
    refuse_form(name, "a number");
}

double Translator::real(std::string_view name, double otherwise) const {
    if (!has(name)) return otherwise;
    const graph::Attribute v = number(name);
    if (const auto* i = std::get_if<int64_t>(&v)) return static_cast<double>(*i);
    if (const auto* d = std::get_if<double>(&v)) return *d;
    refuse_form(name, "a plain number");
}

std::string Translator::text(std::string_view name, std::string_view otherwise) const {
    if (!has(name)) return std::string(otherwise);
    if (const auto* v = std::get_if<std::string>(&find(name)->value)) return *v;
    refuse_form(name, "a text");
}

std::optional<DType> Translator::dtype(std::string_view name) const {
    if (!has(name)) return std::nullopt;
    if (const auto* v = std::get_if<DType>(&find(name)->value)) return *v;
    if (const auto* o = std::get_if<Opaque>(&find(name)->value)) refuse(fmt::format("dtype {} is not known to Codetta", o->text));
    refuse_form(name, "a dtype");
}

std::vector<Expr> Translator::sizes(std::string_view name) const {
    std::vector<Expr> values;
    if (!has(name)) return values;
    const auto* list = std::get_if<Argument::List>(&find(name)->value);
    if (!list) return {size(name)};
    for (const Argument& item : *list) {
        if (const auto* i = std::get_if<int64_t>(&item.value))
            values.push_back(*i);
        else if (const auto* e = std::get_if<Expr>(&item.value))
            values.push_back(*e);
        else
            refuse_form(name, "a list of integers");
    }
    return values;
}

std::vector<int64_t> Translator::integers(std::string_view name) const {
    std::vector<int64_t> values;
    for (const Expr& e : sizes(name)) {
        if (!e.constant()) refuse_form(name, "a list of plain integers");
        values.push_back(*e.constant());
    }
    return values;
}

DType Translator::number_dtype(std::string_view name) const {
    if (!is_number(name)) refuse_form(name, "a number");
    const auto& v = find(name)->value;
    if (std::holds_alternative<bool>(v)) return DType::boolean;
    return std::holds_alternative<double>(v) ? DType::f64 : DType::i64;
}

void Translator::expect_absent(std::string_view name) const {
    if (has(name)) refuse(fmt::format("argument '{}' is not supported", name));
}

ValueId Translator::mapped(const TensorRef& tensor) const {
    const auto found = values_->find(tensor.value);
    CODETTA_CHECK(found != values_->end(), "{} reads %{}, which the part does not hold", node_->name,
                  imported_->values.at(tensor.value).name);
    return found->second;
}

ValueId Translator::tensor(std::string_view name) const {
    const Argument* argument = find(name);
    if (!argument || !std::holds_alternative<TensorRef>(argument->value)) refuse_form(name, "a tensor");
    return mapped(std::get<TensorRef>(argument->value));
}

std::optional<ValueId> Translator::optional_tensor(std::string_view name) const {
    if (!has(name)) return std::nullopt;
    return tensor(name);
}

std::vector<std::optional<ValueId>> Translator::tensors(std::string_view name) const {
    const Argument* argument = find(name);
    if (!argument || !std::holds_alternative<Argument::List>(argument->value)) refuse_form(name, "a list of tensors");
    std::vector<std::optional<ValueId>> values;
    for (const Argument& item : std::get<Argument::List>(argument->value)) {
        if (item.is_none())
            values.push_back(std::nullopt);
        else if (const auto* tensor = std::get_if<TensorRef>(&item.value))
            values.push_back(mapped(*tensor));
        else
            refuse_form(name, "a list of tensors");
    }
    return values;
}

ValueId Translator::cast(ValueId v, DType to) {
    if (type(v).dtype == to) return v;
    return builder_->add1("cast", {v}, {{"dtype", to}});
}

DType Translator::promoted(std::initializer_list<std::string_view> names) const {
    Promotion promotion;
    for (std::string_view name : names) {
        if (is_tensor(name)) {
            const graph::TensorType t = type(name);
            promotion.add_tensor(t.dtype, t.shape.empty());
        } else if (has(name)) {
            promotion.add_number(number_dtype(name));
        }
    }
    const std::optional<DType> result = promotion.result();
    if (!result) refuse("no operands");
    return *result;
}

int64_t Translator::dimension(int64_t dim, size_t rank) const {
    const auto bound = static_cast<int64_t>(std::max<size_t>(rank, 1)); // torch lets a 0-d tensor have a dimension 0
    if (dim < -bound || dim >= bound) refuse(fmt::format("dimension {} is out of range for rank {}", dim, rank));
    return dim < 0 ? dim + bound : dim;
}

std::vector<int64_t> Translator::dimensions(std::string_view name, size_t rank) const {
    std::set<int64_t> dims;
    for (int64_t dim : integers(name)) dims.insert(dimension(dim, rank));
    if (rank == 0) return {};
    std::vector<int64_t> all(dims.begin(), dims.end());
    if (all.empty()) {
        all.resize(rank);
        std::iota(all.begin(), all.end(), 0);
    }
    return all;
}

const ImportedValue& Translator::promised(size_t i) const {
    CODETTA_CHECK(wanted(i), "{} names no tensor as result {}", node_->name, i);
    return imported_->values.at(*node_->results[i]);
}

void Translator::result(ValueId v, size_t i) {
    if (!wanted(i)) return;
    const ImportedValue& promise = promised(i);
    const graph::TensorType made = type(v);
    const auto simplified = [&](std::vector<Expr> shape) {
        for (Expr& e : shape) e = imported_->facts.simplify(e);
        return shape;
    };
    if (made.dtype != promise.dtype || simplified(made.shape) != simplified(promise.shape))
        refuse(fmt::format("Codetta would give {}, but torch promised {}", graph::to_string(graph::contiguous(made.dtype, made.shape)),
                           graph::to_string(graph::contiguous(promise.dtype, promise.shape))));
    (*values_)[*node_->results[i]] = v;
}

ValueId Translator::add(std::string op, Operands operands, graph::Attributes attributes) {
    return builder_->add1(std::move(op), std::move(operands), std::move(attributes));
}

std::vector<ValueId> Translator::add_many(std::string op, Operands operands, graph::Attributes attributes) {
    return builder_->add(std::move(op), std::move(operands), std::move(attributes));
}

} // namespace codetta::frontends::aten
