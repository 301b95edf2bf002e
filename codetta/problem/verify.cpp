#include "codetta/base/error.h"
#include "codetta/problem/problem.h"

#include <algorithm>
#include <array>

namespace codetta::problem {

namespace {

constexpr std::array<std::string_view, 14> kWords = {"if",    "else",    "where",  "and",     "let",  "do",    "checked",
                                                     "index", "strides", "frozen", "aliases", "true", "false", "scan"};

} // namespace

bool is_name(std::string_view s) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    if (s.empty() || !letter(s[0])) return false;
    return std::ranges::all_of(s, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); }) &&
           std::ranges::find(kWords, s) == kWords.end();
}

namespace {

class Verifier {
public:
    explicit Verifier(const Problem& p) : p_(p) {}

    void run() {
        check_axes();
        check_operands();
        for (size_t s = 0; s < p_.stages.size(); ++s) check_stage(s);
        for (size_t o = 0; o < p_.operands.size(); ++o)
            CODETTA_CHECK(p_.operands[o].role == Role::in || written_.contains(static_cast<uint32_t>(o)),
                          "problem '{}': {} '{}' is written by no stage", p_.name, p_.operands[o].role == Role::out ? "out" : "inout",
                          p_.operands[o].name);
    }

private:
    void check_axes() {
        for (const Axis& a : p_.axes) {
            CODETTA_CHECK(is_name(a.name), "problem '{}': '{}' is no name for an axis", p_.name, a.name);
            CODETTA_CHECK(axis_names_.insert(a.name).second, "problem '{}': two axes '{}'", p_.name, a.name);
        }
        std::set<std::string> sizes;
        for (const std::string& s : p_.size_symbols()) sizes.insert(s);
        for (const auto& [s, range] : p_.facts.ranges()) sizes.insert(s);
        for (const auto& [s, of] : p_.facts.multiples()) sizes.insert(s);
        for (const auto& [s, bound] : p_.facts.bounds()) {
            sizes.insert(s);
            sym::collect_symbols(bound, sizes);
        }
        for (const auto& [sum, range] : p_.facts.sums())
            for (const std::string& s : sym::symbols(sum)) sizes.insert(s);
        for (const std::string& s : sizes) CODETTA_CHECK(is_name(s), "problem '{}': '{}' is no name for a size", p_.name, s);
        for (const std::string& s : sizes) CODETTA_CHECK(!axis_names_.contains(s), "problem '{}': '{}' is an axis and a size", p_.name, s);
        for (const Axis& a : p_.axes) check_sizes_only(a.extent, "the extent of axis '" + a.name + "'");
    }

    void check_sizes_only(const sym::Expr& e, const std::string& what) {
        for (const std::string& s : sym::symbols(e))
            CODETTA_CHECK(s.find('$') == std::string::npos && !axis_names_.contains(s), "problem '{}': {} speaks of '{}'", p_.name, what,
                          s);
    }

    void check_operands() {
        for (size_t i = 0; i < p_.operands.size(); ++i) {
            const Operand& o = p_.operands[i];
            CODETTA_CHECK(is_name(o.name), "problem '{}': '{}' is no name for an operand", p_.name, o.name);
            CODETTA_CHECK(value_names_.insert(o.name).second, "problem '{}': two values '{}'", p_.name, o.name);
            CODETTA_CHECK(o.shape.size() == o.strides.size(), "problem '{}': operand '{}' has {} sizes and {} strides", p_.name, o.name,
                          o.shape.size(), o.strides.size());
            for (const sym::Expr& e : o.shape) check_sizes_only(e, "the shape of '" + o.name + "'");
            for (const sym::Expr& e : o.strides) check_sizes_only(e, "the strides of '" + o.name + "'");
            if (o.aliases)
                CODETTA_CHECK(o.role == Role::out && o.aliases->value < p_.operands.size() && o.aliases->value != i &&
                                  p_.operand(*o.aliases).dtype == o.dtype,
                              "problem '{}': alias of '{}'", p_.name, o.name);
        }
    }

    // What the symbols in an access of `stage` may be: its axes, sizes, and `$i` of reads before `reads`.
    void check_symbols(const Stage& stage, const std::set<std::string>& names, size_t reads, bool with_reduce, const std::string& what) {
        for (const std::string& s : names) {
            if (s[0] == '$') {
                auto i = read_index(s);
                CODETTA_CHECK(i && *i < reads, "{}: '{}' is no earlier read", what, s);
                CODETTA_CHECK(!scalar::is_float(read_dtype(p_, stage.reads[*i])), "{}: '{}' is not an integer", what, s);
                continue;
            }
            CODETTA_CHECK(s.find('$') == std::string::npos, "{}: '{}' is no name", what, s);
            if (!axis_names_.contains(s)) continue; // a size
            auto names_axis = [&](AxisId a) { return p_.axis(a).name == s; };
            bool known = std::ranges::any_of(stage.axes, names_axis) || (with_reduce && std::ranges::any_of(stage.reduce, names_axis));
            CODETTA_CHECK(known, "{}: speaks of axis '{}', which the stage does not run over", what, s);
        }
    }

    void check_stage(size_t number) {
        const Stage& s = p_.stages[number];
        std::string place = fmt::format("problem '{}', stage '{}'", p_.name, s.name);
        CODETTA_CHECK(is_name(s.name), "{}: no name for a stage", place);
        CODETTA_CHECK(value_names_.insert(s.name).second, "problem '{}': two values '{}'", p_.name, s.name);
        std::set<AxisId> seen;
        for (const auto* list : {&s.axes, &s.reduce})
            for (AxisId a : *list) {
                CODETTA_CHECK(a.value < p_.axes.size(), "{}: axis {} does not exist", place, a.value);
                CODETTA_CHECK(seen.insert(a).second, "{}: axis '{}' twice", place, p_.axis(a).name);
            }
        if (s.scan)
            CODETTA_CHECK(std::ranges::find(s.axes, *s.scan) != s.axes.end() && s.reduce.empty(),
                          "{}: scans along an axis that is not its own", place);
        CODETTA_CHECK(s.combiner || (s.reduce.empty() && !s.scan), "{}: reduces without a combiner", place);

        scalar::verify(s.body);
        auto parameters = s.body.parameters();
        CODETTA_CHECK(parameters.size() == s.reads.size() && s.body.results.size() == 1,
                      "{}: {} reads for a body with {} parameters and {} results", place, s.reads.size(), parameters.size(),
                      s.body.results.size());
        for (size_t i = 0; i < s.reads.size(); ++i) check_read(s, number, i, place);
        for (size_t i = 0; i < s.reads.size(); ++i)
            CODETTA_CHECK(parameters[i] == read_dtype(p_, s.reads[i]), "{}: read {} is {} and its parameter {}", place, i,
                          scalar::to_string(read_dtype(p_, s.reads[i])), scalar::to_string(parameters[i]));
        if (s.combiner) {
            scalar::verify(*s.combiner);
            CODETTA_CHECK(
                scalar::is_combiner(s.combiner->name) && *s.combiner == scalar::make_combiner(s.combiner->name, s.body.result_type()),
                "{}: combiner '{}' is not the one of that name for {}", place, s.combiner->name, scalar::to_string(s.body.result_type()));
        }
        for (const Write& w : s.writes) check_write(s, w, place);
    }

    void check_read(const Stage& s, size_t number, size_t i, const std::string& place) {
        const Read& r = s.reads[i];
        std::string what = fmt::format("{}, read {}", place, i);
        std::set<std::string> names;
        collect_symbols(r, names);
        check_symbols(s, names, i, true, what);
        switch (r.from) {
        case Read::From::index: CODETTA_CHECK(r.access == Access{} && r.source == 0, "{}: an index has no access", what); return;
        case Read::From::operand:
            CODETTA_CHECK(r.source < p_.operands.size(), "{}: operand {} does not exist", what, r.source);
            CODETTA_CHECK(r.access.coordinates.size() == p_.operands[r.source].shape.size(),
                          "{}: {} coordinates for operand '{}' of rank {}", what, r.access.coordinates.size(), p_.operands[r.source].name,
                          p_.operands[r.source].shape.size());
            break;
        case Read::From::stage:
            CODETTA_CHECK(r.source < number, "{}: stage {} does not come before", what, r.source);
            CODETTA_CHECK(r.access.coordinates.size() == p_.stages[r.source].axes.size(), "{}: {} coordinates for stage '{}' with {} axes",
                          what, r.access.coordinates.size(), p_.stages[r.source].name, p_.stages[r.source].axes.size());
            break;
        }
        CODETTA_CHECK(!r.access.guard.empty() || scalar::same_bits(r.access.fill, 0), "{}: a fill without a guard", what);
    }

    void check_write(const Stage& s, const Write& w, const std::string& place) {
        CODETTA_CHECK(w.operand.value < p_.operands.size(), "{}: writes operand {}, which does not exist", place, w.operand.value);
        const Operand& o = p_.operand(w.operand);
        std::string what = fmt::format("{}, write to '{}'", place, o.name);
        written_.insert(w.operand.value);
        CODETTA_CHECK(o.role != Role::in, "{}: it is an input", what);
        CODETTA_CHECK(o.dtype == s.dtype(), "{}: it is {}, the stage {}", what, scalar::to_string(o.dtype), scalar::to_string(s.dtype()));
        CODETTA_CHECK(w.access.coordinates.size() == o.shape.size(), "{}: {} coordinates for rank {}", what, w.access.coordinates.size(),
                      o.shape.size());
        CODETTA_CHECK(scalar::same_bits(w.access.fill, 0), "{}: a write has no fill", what);
        std::set<std::string> names;
        collect_symbols(w.access, names);
        check_symbols(s, names, s.reads.size(), false, what);
        // `$i` of a write must not change along the reduced axes.
        for (size_t i = s.reads.size(); i-- > 0;) {
            if (!names.contains("$" + std::to_string(i))) continue;
            collect_symbols(s.reads[i], names);
        }
        for (AxisId a : s.reduce)
            CODETTA_CHECK(!names.contains(p_.axis(a).name), "{}: depends on the reduced axis '{}'", what, p_.axis(a).name);
    }

    const Problem& p_;
    std::set<std::string> axis_names_, value_names_;
    std::set<uint32_t> written_;
};

} // namespace

void verify(const Problem& p) { Verifier(p).run(); }

} // namespace codetta::problem
