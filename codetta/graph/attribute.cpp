// The text form of attributes and types.
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "codetta/base/error.h"
#include "codetta/graph/cursor.h"
#include "codetta/graph/graph.h"

namespace codetta::graph {

namespace {

std::string expr_list(const std::vector<sym::Expr>& list) {
    std::string text = "[";
    for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + sym::to_string(list[i]);
    return text + "]";
}

std::string float_text(double v) {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    std::string text = fmt::format("{}", v);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

bool is_dtype(const std::string& text) {
    for (scalar::DType t : scalar::kDTypes)
        if (scalar::to_string(t) == text) return true;
    return false;
}

} // namespace

std::string to_string(const TensorType& t) {
    std::string text = std::string(scalar::to_string(t.dtype)) + expr_list(t.shape);
    if (!is_contiguous(t)) text += " strides " + expr_list(t.strides);
    return text;
}

std::string to_string(const Attribute& a) {
    struct Printer {
        std::string operator()(bool v) const { return v ? "true" : "false"; }
        std::string operator()(int64_t v) const { return fmt::format("{}", v); }
        std::string operator()(double v) const { return float_text(v); }
        std::string operator()(const std::string& v) const { return quoted(v); }
        std::string operator()(scalar::DType v) const { return std::string(scalar::to_string(v)); }
        std::string operator()(const sym::Expr& v) const { return sym::to_string(v); }
        std::string operator()(const std::vector<sym::Expr>& v) const { return expr_list(v); }
    };
    return std::visit(Printer{}, a);
}

Attribute parse_attribute(std::string_view text) {
    Cursor cursor(text);
    if (cursor.next_is_quote()) {
        std::string value = cursor.quoted();
        if (!cursor.at_end()) cursor.fail("something follows the text");
        return value;
    }
    if (cursor.eat("[")) {
        std::vector<sym::Expr> list;
        while (!cursor.eat("]")) {
            if (!list.empty()) cursor.expect(",");
            std::string item = cursor.until(",]");
            if (item.empty()) cursor.fail("expected an expression or ']'");
            list.push_back(sym::parse_expr(item));
        }
        if (!cursor.at_end()) cursor.fail("something follows the list");
        return list;
    }
    std::string word(text);
    if (word == "true" || word == "false") return word == "true";
    if (is_dtype(word)) return scalar::parse_dtype(word);
    if (word == "inf") return HUGE_VAL;
    if (word == "-inf") return -HUGE_VAL;
    if (word == "nan") return std::nan("");
    if (word.empty()) cursor.fail("expected a value");
    char* end = nullptr;
    if (word.find_first_not_of("-0123456789.e+") == std::string::npos) {
        if (word.find_first_of(".e") == std::string::npos && word.find('+') == std::string::npos) {
            long long value = std::strtoll(word.c_str(), &end, 10);
            if (*end == 0) return static_cast<int64_t>(value);
        } else {
            double value = std::strtod(word.c_str(), &end);
            if (*end == 0) return value;
        }
    }
    sym::Expr e = sym::parse_expr(word);
    if (e.constant()) return *e.constant();
    return e;
}

} // namespace codetta::graph
