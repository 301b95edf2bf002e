// Any text is an expression, a condition, facts, a layout, or a UserError; what parses prints and parses back, and facts do not change
// values.
#include "codetta/base/error.h"
#include "codetta/layout/coalesce.h"
#include "codetta/layout/swizzle.h"
#include "codetta/sym/facts.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace codetta;

void require(bool condition) {
    if (!condition) std::abort();
}

template <class Parse>
void round_trip(std::string_view text, const Parse& parse) {
    try {
        auto value = parse(text);
        require(parse(to_string(value)) == value);
    } catch (const base::UserError&) {}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2 || size > 200) return 0;
    std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    try {
        switch (data[0] % 5) {
        case 0: round_trip(text, [](std::string_view t) { return sym::parse_expr(t); }); break;
        case 1: round_trip(text, [](std::string_view t) { return sym::parse_condition(t); }); break;
        case 2: round_trip(text, [](std::string_view t) { return sym::parse_facts(t); }); break;
        case 3: round_trip(text, [](std::string_view t) { return layout::parse_layout(t); }); break;
        case 4: round_trip(text, [](std::string_view t) { return layout::parse_composed_layout(t); }); break;
        }
        if (data[0] % 5 != 0) return 0;
        sym::Expr e = sym::parse_expr(text);
        sym::Facts facts = sym::parse_facts("a >= 1, a <= 4, b >= 0, b < a, c % 4 == 0");
        sym::Expr simple = facts.simplify(e);
        sym::Range range = facts.range(e);
        for (int64_t a = 1; a <= 4; ++a) {
            for (int64_t b = 0; b < a; ++b) {
                sym::Bindings values{{"a", a}, {"b", b}, {"c", 4 * a - 8}, {"d", b - a}};
                try {
                    int64_t value = sym::evaluate(e, values);
                    require(sym::evaluate(simple, values) == value);
                    if (std::abs(value) < sym::kUnbounded) require(range.lo <= value && value <= range.hi);
                } catch (const base::InternalError&) { // a symbol without a value, a division by zero, an overflow
                }
            }
        }
    } catch (const base::UserError&) {
    } catch (const base::InternalError& error) {
        // Only overflow may end a transformation of numbers near 2^63.
        require(std::string_view(error.what()).find("does not fit 64 bits") != std::string_view::npos);
    }
    return 0;
}
