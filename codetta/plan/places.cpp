#include "codetta/plan/places.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/scalar/dtype.h"
#include "codetta/scalar/host_array.h"
#include "codetta/sym/condition.h"
#include "codetta/sym/expr.h"
#include "codetta/sym/facts.h"

namespace codetta::plan {

std::string Names::unique(const std::string& wanted) {
    std::string name;
    for (const char c : wanted) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "v" + name;
    std::string candidate = name;
    for (int i = 2; !used_.insert(candidate).second; ++i) candidate = fmt::format("{}_{}", name, i);
    return candidate;
}

sym::Expr span_bytes(scalar::DType dtype, const std::vector<sym::Expr>& shape, const std::vector<sym::Expr>& strides) {
    sym::Expr elements = 1, count = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
        elements = elements + (shape[d] - 1) * strides[d];
        count = count * shape[d];
    }
    if (count.is(0)) return 0;
    return scalar::bytes(dtype) * sym::max(elements, 0);
}

Places::Places(const graph::Graph& g, runtime::HostProgram& program, Names& names) : g_(g), program_(program), names_(names) {
    add_inputs();
    add_sizes();
    for (const graph::Node& n : g_.nodes)
        if (n.into) by_value_.insert_or_assign(n.outputs[0].value, by_value_.at(n.into->value));
    add_outputs();
}

void Places::add_inputs() {
    for (const graph::Input& input : g_.inputs) {
        const graph::TensorType& type = g_.type(input.value);
        const std::string name = names_.unique(g_.value(input.value).name);
        if (input.kind == graph::InputKind::constant) {
            CODETTA_CHECK(input.data && graph::is_contiguous(type), "constant {} without contiguous data", name);
            const scalar::HostArray data = input.data->clone();
            runtime::Constant constant{name, type.dtype, data.extents(),
                                       std::vector<std::byte>(static_cast<size_t>(data.size() * scalar::bytes(type.dtype)))};
            if (!constant.bytes.empty()) std::memcpy(constant.bytes.data(), data.data(), constant.bytes.size());
            program_.constants.push_back(std::move(constant));
            by_value_[input.value.value] = runtime::pointer_to(runtime::ConstantId{static_cast<uint32_t>(program_.constants.size() - 1)});
        } else {
            program_.inputs.push_back({name, false, input.frozen, type.dtype, type.shape, type.strides});
            by_value_[input.value.value] = runtime::pointer_to(runtime::InputId{static_cast<uint32_t>(program_.inputs.size() - 1)});
        }
    }
    for (const std::string& symbol : g_.size_arguments) {
        runtime::Input input;
        input.name = names_.unique(symbol + "_argument");
        input.integer = true;
        program_.inputs.push_back(std::move(input));
        program_.sizes.push_back(
            {symbol, runtime::SizeSource::value, runtime::InputId{static_cast<uint32_t>(program_.inputs.size() - 1)}, 0});
    }
}

void Places::add_sizes() {
    std::set<std::string> bound(g_.size_arguments.begin(), g_.size_arguments.end());
    for (uint32_t i = 0; i < program_.inputs.size(); ++i) {
        const runtime::Input& input = program_.inputs[i];
        const auto bind = [&](const std::vector<sym::Expr>& exprs, runtime::SizeSource source) {
            for (uint32_t d = 0; d < exprs.size(); ++d)
                if (exprs[d].kind() == sym::Kind::symbol && bound.insert(exprs[d].name()).second)
                    program_.sizes.push_back({exprs[d].name(), source, runtime::InputId{i}, d});
        };
        bind(input.shape, runtime::SizeSource::shape);
        bind(input.strides, runtime::SizeSource::stride);
    }
    for (const auto& [symbol, range] : g_.facts.ranges()) {
        if (!bound.contains(symbol)) continue;
        if (range.lo > -sym::kUnbounded) program_.requirements.push_back(sym::le(range.lo, sym::Expr::symbol(symbol)));
        if (range.hi < sym::kUnbounded) program_.requirements.push_back(sym::le(sym::Expr::symbol(symbol), range.hi));
    }
    std::set<sym::Expr> extents; // that no fact keeps from falling below 0: nothing may be allocated then, nor read
    for (const graph::Value& v : g_.values)
        for (const sym::Expr& e : v.type.shape)
            if (!e.constant() && !g_.facts.non_negative(e)) extents.insert(e);
    for (const sym::Expr& e : extents) {
        const std::set<std::string> symbols = sym::symbols(e);
        if (std::all_of(symbols.begin(), symbols.end(), [&](const std::string& s) { return bound.contains(s); }))
            program_.requirements.push_back(sym::le(0, e));
    }
    for (const auto& [symbol, multiple] : g_.facts.multiples())
        if (bound.contains(symbol)) program_.requirements.push_back(sym::eq(sym::mod(sym::Expr::symbol(symbol), multiple), 0));
}

runtime::PointerArgument Places::storage_of(graph::ValueId v) {
    if (const auto known = by_value_.find(v.value); known != by_value_.end()) return known->second;
    const graph::TensorType& type = g_.type(v);
    program_.storages.push_back({names_.unique(g_.value(v).name), type.dtype, type.shape, type.strides});
    const auto place = runtime::pointer_to(runtime::StorageId{static_cast<uint32_t>(program_.storages.size() - 1)});
    by_value_.emplace(v.value, place);
    return place;
}

void Places::add_outputs() {
    for (const graph::Output& o : g_.outputs) {
        using Kind = graph::Output::Kind;
        if (o.kind == Kind::size) {
            program_.outputs.push_back(runtime::size_output(o.size));
            continue;
        }
        const runtime::PointerArgument at = storage_of(o.value);
        CODETTA_CHECK(at.place == runtime::Place::input || at.place == runtime::Place::storage, "output {} is a constant",
                      g_.value(o.value).name);
        if (o.kind == Kind::input) {
            program_.outputs.push_back(runtime::same_input(runtime::InputId{at.index}));
            continue;
        }
        const graph::TensorType& type = o.kind == Kind::view ? o.view_type : g_.type(o.value);
        program_.outputs.push_back({runtime::OutputKind::view, at.place, at.index, type.dtype, type.shape, type.strides,
                                    o.kind == Kind::view ? o.offset : sym::Expr(0)});
    }
}

runtime::PointerArgument Places::place(problem::ValueId value, const problem::Operand& operand, uint32_t step) {
    auto known = by_value_.find(value.value);
    if (known == by_value_.end()) {
        const std::string name = value.value < g_.values.size() ? g_.value(graph::ValueId{value.value}).name : operand.name;
        program_.buffers.push_back({names_.unique(name), span_bytes(operand.dtype, operand.shape, operand.strides), step, step});
        known = by_value_.emplace(value.value, runtime::pointer_to(runtime::BufferId{static_cast<uint32_t>(program_.buffers.size() - 1)}))
                    .first;
    }
    if (known->second.place == runtime::Place::buffer) program_.buffers[known->second.index].last = step;
    return known->second;
}

runtime::PointerArgument Places::temporary(const std::string& name, const sym::Expr& bytes, uint32_t step) {
    program_.buffers.push_back({names_.unique(name), bytes, step, step});
    return runtime::pointer_to(runtime::BufferId{static_cast<uint32_t>(program_.buffers.size() - 1)});
}

} // namespace codetta::plan
