#include "codetta/kernels/binding.h"

#include <algorithm>

#include "codetta/base/error.h"
#include "codetta/layout/int_tuple.h"
#include "codetta/scalar/dtype.h"

namespace codetta::kernels {

using tile::View;

namespace {

std::vector<problem::OperandId> all_operands(const problem::Problem& p) {
    std::vector<problem::OperandId> all;
    for (uint32_t i = 0; i < p.operands.size(); ++i) all.push_back(problem::OperandId{i});
    return all;
}

bool is_extent(const problem::Problem& p, const std::string& symbol) {
    const sym::Expr e = sym::Expr::symbol(symbol);
    const auto has = [&](const problem::Operand& o) { return std::find(o.shape.begin(), o.shape.end(), e) != o.shape.end(); };
    return std::any_of(p.operands.begin(), p.operands.end(), has) ||
           std::any_of(p.axes.begin(), p.axes.end(), [&](const problem::Axis& a) { return a.extent == e; });
}

} // namespace

Binding::Binding(const problem::Problem& p, tile::Builder& b) : Binding(p, b, all_operands(p)) {}

Binding::Binding(const problem::Problem& p, tile::Builder& b, const std::vector<problem::OperandId>& operands) : b_(b) {
    for (const std::string& symbol : p.size_symbols()) {
        const auto multiple = p.facts.multiples().find(symbol);
        sym::Range range = p.facts.range(sym::Expr::symbol(symbol));
        if (is_extent(p, symbol)) range.lo = std::max<int64_t>(range.lo, 0); // other integers may be negative: an offset, -n of x[:, -n:]
        b.integer(symbol, range, multiple == p.facts.multiples().end() ? 1 : multiple->second);
        integers_.push_back(sym::Expr::symbol(symbol));
    }
    for (const problem::OperandId o : operands) {
        const problem::Operand& operand = p.operand(o);
        const auto aliased = [&](const problem::Operand& other) { return other.aliases == o; };
        tile::Buffer buffer;
        buffer.name = operand.name;
        buffer.dtype = operand.dtype;
        buffer.written = operand.role != problem::Role::in;
        buffer.no_alias = !operand.aliases && std::none_of(p.operands.begin(), p.operands.end(), aliased);
        pointers_.push_back({PointerArgument::To::operand, o.value});
        views_.push_back(b.parameter(std::move(buffer), tile::row_major(std::vector<int64_t>{1})));
    }
}

View Binding::operand(problem::OperandId o) const {
    for (size_t i = 0; i < pointers_.size(); ++i)
        if (pointers_[i] == PointerArgument{PointerArgument::To::operand, o.value}) return views_[i];
    CODETTA_CHECK(false, "operand {} is not bound", o.value);
}

View Binding::temporary(uint32_t index, const std::string& name, scalar::DType dtype, bool written) {
    tile::Buffer buffer;
    buffer.name = name;
    buffer.dtype = dtype;
    buffer.written = written;
    pointers_.push_back({PointerArgument::To::temporary, index});
    views_.push_back(b_.parameter(std::move(buffer), tile::row_major(std::vector<int64_t>{1})));
    return views_.back();
}

Kernel Binding::make(tile::Program program, int64_t grain) const { return make_kernel(std::move(program), pointers_, integers_, grain); }

View strided(const View& v, sym::Expr offset, int64_t extent, sym::Expr stride) {
    return {v.buffer, std::move(offset), tile::make_layout({layout::IntTuple(extent)}, {layout::IntTuple(std::move(stride))}), v.swizzle};
}

} // namespace codetta::kernels
