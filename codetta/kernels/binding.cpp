#include "codetta/kernels/binding.h"

#include <algorithm>

namespace codetta::kernels {

using tile::View;

Binding::Binding(const problem::Problem& p, tile::Builder& b) : p_(p), b_(b) {
    for (const std::string& symbol : p.size_symbols()) {
        const auto multiple = p.facts.multiples().find(symbol);
        sym::Range range = p.facts.range(sym::Expr::symbol(symbol));
        range.lo = std::max<int64_t>(range.lo, 0);
        b.integer(symbol, range, multiple == p.facts.multiples().end() ? 1 : multiple->second);
        integers_.push_back(sym::Expr::symbol(symbol));
    }
}

View Binding::operand(problem::OperandId o) {
    for (size_t i = 0; i < pointers_.size(); ++i)
        if (pointers_[i] == PointerArgument{PointerArgument::To::operand, o.value}) return views_[i];
    const problem::Operand& operand = p_.operand(o);
    tile::Buffer buffer;
    buffer.name = operand.name;
    buffer.dtype = operand.dtype;
    buffer.written = operand.role != problem::Role::in;
    const auto aliased = [&](const problem::Operand& other) { return other.aliases && p_.operands[other.aliases->value].name == operand.name; };
    buffer.no_alias = !operand.aliases && std::none_of(p_.operands.begin(), p_.operands.end(), aliased);
    pointers_.push_back({PointerArgument::To::operand, o.value});
    views_.push_back(b_.parameter(std::move(buffer), tile::row_major(std::vector<int64_t>{1})));
    return views_.back();
}

View Binding::temporary(uint32_t index, const std::string& name, scalar::DType dtype, bool written) {
    for (size_t i = 0; i < pointers_.size(); ++i)
        if (pointers_[i] == PointerArgument{PointerArgument::To::temporary, index}) return views_[i];
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
