#include "codetta/layout/swizzle.h"

#include "codetta/base/error.h"
#include "codetta/layout/composition.h"
#include "codetta/layout/inverse.h"

#include <bit>
#include <cstdlib>

namespace codetta::layout {

using sym::Expr;

int64_t Swizzle::operator()(int64_t offset) const {
    uint64_t mask = (uint64_t{1} << bits) - 1, x = static_cast<uint64_t>(offset);
    uint64_t source = mask << (base + (shift > 0 ? shift : 0));
    return static_cast<int64_t>(shift >= 0 ? x ^ ((x & source) >> shift) : x ^ ((x & source) << -shift));
}

void verify(const Swizzle& s) {
    CODETTA_USER_CHECK(s.bits >= 0 && s.base >= 0 && s.bits <= std::abs(s.shift) && s.bits + s.base + std::abs(s.shift) < 63,
                       "{}: needs 0 <= bits <= |shift| and base >= 0", to_string(s));
}

std::string to_string(const Swizzle& s) { return fmt::format("Sw<{},{},{}>", s.bits, s.base, s.shift); }

namespace {

void expect(std::string_view text, size_t& position, std::string_view token) {
    while (position < text.size() && text[position] == ' ') ++position;
    if (text.substr(position, token.size()) != token)
        throw base::UserError(fmt::format("expected '{}' in '{}'", token, text), fmt::format("column {}", position + 1));
    position += token.size();
}

int parse_number(std::string_view text, size_t& position) {
    size_t begin = position;
    auto value = sym::parse_expr_prefix(text, position).constant();
    if (!value || std::abs(*value) > 62)
        throw base::UserError(fmt::format("expected a number of bits in '{}'", text), fmt::format("column {}", begin + 1));
    return static_cast<int>(*value);
}

int log2_of(int64_t factor) {
    CODETTA_CHECK(factor > 0 && std::has_single_bit(static_cast<uint64_t>(factor)), "{} is not a power of two", factor);
    return std::countr_zero(static_cast<uint64_t>(factor));
}

} // namespace

Swizzle parse_swizzle_prefix(std::string_view text, size_t& position) {
    Swizzle s;
    expect(text, position, "Sw<");
    s.bits = parse_number(text, position);
    expect(text, position, ",");
    s.base = parse_number(text, position);
    expect(text, position, ",");
    s.shift = parse_number(text, position);
    expect(text, position, ">");
    verify(s);
    return s;
}

Swizzle upcast(const Swizzle& s, int64_t factor) {
    int down = log2_of(factor);
    CODETTA_USER_CHECK(s.bits == 0 || s.base >= down, "{} exchanges bits inside a unit of {}", to_string(s), factor);
    return {s.bits, s.bits == 0 ? s.base : s.base - down, s.shift};
}

Swizzle downcast(const Swizzle& s, int64_t factor) { return {s.bits, s.base + log2_of(factor), s.shift}; }

int64_t ComposedLayout::operator()(int64_t index, const sym::Bindings& values) const {
    return swizzle(sym::evaluate(offset + layout(index), values));
}

ComposedLayout composition(const Swizzle& s, const Layout& l) { return {s, 0, l}; }

ComposedLayout composition(const ComposedLayout& c, const Layout& b, const sym::Facts& facts) {
    return {c.swizzle, c.offset, composition(c.layout, b, facts)};
}

Expr size(const ComposedLayout& c) { return size(c.layout); }

Expr contiguous_run(const ComposedLayout& c, size_t mode) {
    Expr run = contiguous_run(c.layout.mode(mode));
    return c.swizzle.bits == 0 ? run : sym::min(run, int64_t{1} << c.swizzle.base);
}

std::string to_string(const ComposedLayout& c) {
    return fmt::format("{} o {} o {}", to_string(c.swizzle), to_string(c.offset), to_string(c.layout));
}

ComposedLayout parse_composed_layout(std::string_view text) {
    size_t position = 0;
    ComposedLayout c;
    c.swizzle = parse_swizzle_prefix(text, position);
    expect(text, position, "o ");
    c.offset = sym::parse_expr_prefix(text, position);
    expect(text, position, "o ");
    c.layout = parse_layout_prefix(text, position);
    while (position < text.size() && text[position] == ' ') ++position;
    if (position < text.size())
        throw base::UserError(fmt::format("unexpected '{}' in '{}'", text.substr(position, 1), text),
                              fmt::format("column {}", position + 1));
    return c;
}

} // namespace codetta::layout
