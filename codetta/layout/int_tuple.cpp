#include "codetta/layout/int_tuple.h"

#include "codetta/base/error.h"

#include <algorithm>

namespace codetta::layout {

using sym::Expr;

namespace {

void collect_leaves(const IntTuple& t, std::vector<Expr>& out) {
    if (t.is_leaf()) out.push_back(t.leaf());
    for (const IntTuple& element : t.elements()) collect_leaves(element, out);
}

IntTuple unflatten(const IntTuple& profile, std::span<const Expr> leaves, size_t& next) {
    if (profile.is_leaf()) return leaves[next++];
    std::vector<IntTuple> elements;
    for (const IntTuple& element : profile.elements()) elements.push_back(unflatten(element, leaves, next));
    return IntTuple(std::move(elements));
}

void skip_blanks(std::string_view text, size_t& position) {
    while (position < text.size() && text[position] == ' ') ++position;
}

// Whether the '(' at position opens a tuple, not a parenthesis inside an expression such as `(m + 1) // 4`.
bool opens_tuple(std::string_view text, size_t position) {
    int open = 0;
    for (; position < text.size(); ++position) {
        if (text[position] == '(') ++open;
        if (text[position] == ')' && --open == 0) break;
    }
    if (position == text.size()) return true; // unbalanced: the tuple's error is the better one
    ++position;
    skip_blanks(text, position);
    return position == text.size() || std::string_view("+-*/%").find(text[position]) == std::string_view::npos ||
           text.substr(position, 2) == "->";
}

} // namespace

size_t depth(const IntTuple& t) {
    if (t.is_leaf()) return 0;
    size_t deepest = 0;
    for (const IntTuple& element : t.elements()) deepest = std::max(deepest, depth(element));
    return deepest + 1;
}

Expr size(const IntTuple& t) { return sym::product(leaves(t)); }

std::vector<Expr> leaves(const IntTuple& t) {
    std::vector<Expr> out;
    collect_leaves(t, out);
    return out;
}

IntTuple make_tuple(std::vector<IntTuple> elements) {
    if (elements.size() == 1) return elements[0];
    return IntTuple(std::move(elements));
}

IntTuple flatten(const IntTuple& t) {
    if (t.is_leaf()) return t;
    std::vector<Expr> parts = leaves(t);
    return make_tuple(std::vector<IntTuple>(parts.begin(), parts.end()));
}

IntTuple unflatten(const IntTuple& profile, std::span<const Expr> values) {
    CODETTA_CHECK(values.size() == leaves(profile).size(), "{} leaves for the profile {}", values.size(), to_string(profile));
    size_t next = 0;
    return unflatten(profile, values, next);
}

bool congruent(const IntTuple& a, const IntTuple& b) {
    if (a.is_leaf() || b.is_leaf()) return a.is_leaf() && b.is_leaf();
    return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(), b.elements().end(), congruent);
}

bool compatible(const IntTuple& a, const IntTuple& b) {
    if (a.is_leaf()) return a.leaf() == size(b);
    if (b.is_leaf()) return false;
    return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(), b.elements().end(), compatible);
}

Expr inner_product(const IntTuple& a, const IntTuple& b) {
    CODETTA_CHECK(congruent(a, b), "{} and {} are not congruent", to_string(a), to_string(b));
    std::vector<Expr> x = leaves(a), y = leaves(b);
    Expr result = 0;
    for (size_t i = 0; i < x.size(); ++i) result += x[i] * y[i];
    return result;
}

std::string to_string(const IntTuple& t) {
    if (t.is_leaf()) return sym::to_string(t.leaf());
    std::string out = "(";
    for (size_t i = 0; i < t.elements().size(); ++i) out += (i > 0 ? "," : "") + to_string(t.elements()[i]);
    return out + ")";
}

namespace {

IntTuple parse_nested(std::string_view text, size_t& position, int depth) {
    skip_blanks(text, position);
    if (depth > 100) throw base::UserError("a tuple nests too deep", fmt::format("column {}", position + 1));
    if (position >= text.size() || text[position] != '(' || !opens_tuple(text, position)) return sym::parse_expr_prefix(text, position);
    ++position;
    std::vector<IntTuple> elements;
    skip_blanks(text, position);
    if (position < text.size() && text[position] == ')') return ++position, IntTuple(std::move(elements));
    while (true) {
        elements.push_back(parse_nested(text, position, depth + 1));
        skip_blanks(text, position);
        char next = position < text.size() ? text[position] : '\0';
        if (next != ',' && next != ')')
            throw base::UserError(fmt::format("expected ',' or ')' in '{}'", text), fmt::format("column {}", position + 1));
        ++position;
        if (next == ')') return IntTuple(std::move(elements));
    }
}

} // namespace

IntTuple parse_int_tuple_prefix(std::string_view text, size_t& position) { return parse_nested(text, position, 0); }

IntTuple parse_int_tuple(std::string_view text) {
    size_t position = 0;
    IntTuple result = parse_int_tuple_prefix(text, position);
    skip_blanks(text, position);
    if (position < text.size())
        throw base::UserError(fmt::format("unexpected '{}' in '{}'", text.substr(position, 1), text),
                              fmt::format("column {}", position + 1));
    return result;
}

} // namespace codetta::layout
