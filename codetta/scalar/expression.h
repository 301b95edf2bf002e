// Scalar functions as expressions: `bf16(acc[m, n] + f32(b[n]))`, `select(x < 0.0, exp(x), 1.0)`.
#pragma once

#include "codetta/scalar/function.h"
#include "codetta/scalar/lexer.h"

#include <functional>

namespace codetta::scalar {

// Operators by rising precedence: comparisons, `|`, `^`, `&`, `<< >>`, `+ -`, `* / // %`, unary `- ~`; other primitives are calls by name
// (`trunc_div(a, b)`). A dtype is a cast (`f32(x)`); `narrow.bf16(x)`. Literals: `1.5`, `inf`, `nan` are f32, `3` is i64, `true` and
// `false` are bool; in a cast a literal has the cast's type (`bf16(0.1)`, `i32(7)`).

// The text of result 0 with the parameters' texts put in. A shared value is printed at each use; an empty string when that would take more
// than `limit` nodes.
// @post when f == canonicalise(f): parse_expression of the text (atoms giving the parameters) finishes to f again
std::string to_expression(const Function& f, std::span<const std::string> arguments, size_t limit = 256);

// Parses one expression into `builder`. `atom` is asked at each name that is no dtype, primitive or literal; it takes what it knows from
// the lexer and returns the value, or nullopt (an error).
Value parse_expression(Lexer& lexer, Builder& builder, const std::function<std::optional<Value>(Lexer&)>& atom);

// The shortest text that reads back as this constant of type t: `0.5`, `1.0`, `-inf`, `nan`; integers as such; bool as true, false.
std::string constant_text(const Op& constant);

} // namespace codetta::scalar
