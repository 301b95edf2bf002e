#include "codetta/graph/signature.h"

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/base/nearest_name.h"
#include "codetta/graph/cursor.h"

namespace codetta::graph {

namespace {

AttributeType parse_type(const std::string& text) {
    for (AttributeType t : {AttributeType::boolean, AttributeType::integer, AttributeType::number, AttributeType::text,
                            AttributeType::dtype, AttributeType::expr, AttributeType::exprs})
        if (to_string(t) == text) return t;
    throw base::InternalError(fmt::format("signature: unknown attribute type '{}'", text));
}

// v in the declared type, or nullopt when it does not fit.
std::optional<Attribute> converted(const Attribute& v, AttributeType to) {
    const auto* integer = std::get_if<int64_t>(&v);
    const auto* expr = std::get_if<sym::Expr>(&v);
    switch (to) {
    case AttributeType::boolean:
        if (std::holds_alternative<bool>(v)) return v;
        break;
    case AttributeType::integer:
        if (integer) return v;
        if (expr && expr->constant()) return *expr->constant();
        break;
    case AttributeType::number:
        if (const auto* flag = std::get_if<bool>(&v)) return static_cast<int64_t>(*flag);
        if (expr && expr->constant()) return *expr->constant();
        if (integer || expr || std::holds_alternative<double>(v)) return v;
        break;
    case AttributeType::text:
        if (std::holds_alternative<std::string>(v)) return v;
        break;
    case AttributeType::dtype:
        if (std::holds_alternative<scalar::DType>(v)) return v;
        break;
    case AttributeType::expr:
        if (integer) return sym::Expr(*integer);
        if (expr) return v;
        break;
    case AttributeType::exprs:
        if (std::holds_alternative<std::vector<sym::Expr>>(v)) return v;
        break;
    }
    return std::nullopt;
}

void apply_attributes(const Signature& s, Node& node) {
    for (auto& [key, value] : node.attributes) {
        const AttributeRule* rule = s.find(key);
        if (!rule) {
            std::vector<std::string_view> known;
            for (const AttributeRule& a : s.attributes) known.push_back(a.name);
            throw base::UserError(fmt::format("unknown attribute '{}'{}", key, known.empty() ? "" : base::did_you_mean(key, known)));
        }
        std::optional<Attribute> fitted = converted(value, rule->type);
        CODETTA_USER_CHECK(fitted, "attribute '{}' is {}, but {} is needed", key, to_string(value), to_string(rule->type));
        value = std::move(*fitted);
    }
    for (const AttributeRule& rule : s.attributes)
        CODETTA_USER_CHECK(rule.optional || node.attributes.contains(rule.name), "attribute '{}' is missing", rule.name);
}

} // namespace

std::string_view to_string(AttributeType t) {
    switch (t) {
    case AttributeType::boolean: return "bool";
    case AttributeType::integer: return "int";
    case AttributeType::number: return "number";
    case AttributeType::text: return "text";
    case AttributeType::dtype: return "dtype";
    case AttributeType::expr: return "expr";
    case AttributeType::exprs: return "exprs";
    }
    return "?";
}

const AttributeRule* Signature::find(std::string_view name) const {
    for (const AttributeRule& a : attributes)
        if (a.name == name) return &a;
    return nullptr;
}

Signature parse_signature(std::string_view text) {
    Signature s;
    Cursor at(text);
    at.expect("(");
    while (!at.eat(")")) {
        if (!s.operands.empty()) at.expect(",");
        OperandRule o;
        o.variadic = at.eat("*");
        o.name = at.word();
        o.optional = at.eat("?");
        CODETTA_CHECK(s.operands.empty() || !s.operands.back().variadic, "signature {}: only the last operand may be variadic", text);
        s.operands.push_back(std::move(o));
    }
    while (!at.at_end()) {
        if (!s.attributes.empty()) at.expect(",");
        AttributeRule a;
        a.name = at.word();
        at.expect(":");
        a.type = parse_type(at.word());
        a.optional = at.eat("?");
        if (at.eat("=")) {
            a.otherwise = converted(parse_attribute(at.until(",")), a.type);
            a.optional = true;
            CODETTA_CHECK(a.otherwise, "signature {}: the default of '{}' does not fit its type", text, a.name);
        }
        s.attributes.push_back(std::move(a));
    }
    return s;
}

void apply_signature(const Signature& s, Node& node) {
    bool variadic = !s.operands.empty() && s.operands.back().variadic;
    size_t fixed = s.operands.size() - (variadic ? 1 : 0);
    CODETTA_USER_CHECK(variadic || node.inputs.size() <= fixed, "takes {} operands, not {}", fixed, node.inputs.size());
    for (size_t i = 0; i < fixed; ++i)
        CODETTA_USER_CHECK(s.operands[i].optional || (i < node.inputs.size() && node.inputs[i]), "operand '{}' is missing",
                           s.operands[i].name);
    if (variadic) {
        CODETTA_USER_CHECK(node.inputs.size() > fixed, "operand '{}' is missing", s.operands.back().name);
        for (size_t i = fixed; i < node.inputs.size(); ++i)
            CODETTA_USER_CHECK(s.operands.back().optional || node.inputs[i], "operand '{}' number {} is missing", s.operands.back().name,
                               i - fixed);
    }
    while (!variadic && !node.inputs.empty() && !node.inputs.back()) node.inputs.pop_back();
    apply_attributes(s, node);
}

} // namespace codetta::graph
