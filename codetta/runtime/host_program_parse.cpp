#include "codetta/base/error.h"
#include "codetta/runtime/host_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>
#include <optional>

namespace codetta::runtime {

namespace {

/// Walks over one line; every complaint names line and column.
class Cursor {
public:
    Cursor(std::string_view line, size_t number) : line_(line), number_(number) { skip_spaces(); }

    [[noreturn]] void fail(const std::string& what) const {
        throw base::UserError(what, fmt::format("line {}, column {}", number_, at_ + 1));
    }

    bool at_end() const { return at_ == line_.size(); }

    bool take(std::string_view token) {
        if (!line_.substr(at_).starts_with(token)) return false;
        const size_t end = at_ + token.size();
        if (token.back() != '.' && is_name_character(token.back()) && end < line_.size() && is_name_character(line_[end]))
            return false; // `input` is not `inputs`
        at_ = end;
        skip_spaces();
        return true;
    }

    void expect(std::string_view token) {
        if (!take(token)) fail(fmt::format("expected '{}'", token));
    }

    std::string name() {
        size_t end = at_;
        while (end < line_.size() && is_name_character(line_[end])) end++;
        if (end == at_) fail("expected a name");
        std::string text(line_.substr(at_, end - at_));
        at_ = end;
        skip_spaces();
        return text;
    }

    uint32_t number() {
        uint32_t value = 0;
        const char* start = line_.data() + at_;
        const auto [end, error] = std::from_chars(start, line_.data() + line_.size(), value);
        if (error != std::errc()) fail("expected a number");
        at_ += static_cast<size_t>(end - start);
        skip_spaces();
        return value;
    }

    /// The text up to the first of the stops outside parentheses (or to the end of the line). A stop that is a word stands alone.
    std::string_view until(std::initializer_list<std::string_view> stops) {
        int depth = 0;
        size_t end = at_;
        for (; end < line_.size(); end++) {
            if (depth == 0 && std::ranges::any_of(stops, [&](std::string_view stop) { return stops_at(end, stop); })) break;
            if (line_[end] == '(') depth++;
            if (line_[end] == ')') depth--;
        }
        std::string_view text = line_.substr(at_, end - at_);
        while (text.ends_with(' ')) text.remove_suffix(1);
        return text;
    }

    sym::Expr expr(std::initializer_list<std::string_view> stops) {
        return parsed<sym::Expr>(until(stops), [](std::string_view text) { return sym::parse_expr(text); });
    }

    sym::Condition condition(std::initializer_list<std::string_view> stops) {
        return parsed<sym::Condition>(until(stops), [](std::string_view text) { return sym::parse_condition(text); });
    }

    scalar::DType dtype() {
        const size_t start = at_;
        const std::string text = name();
        for (scalar::DType candidate : scalar::kDTypes)
            if (scalar::to_string(candidate) == text) return candidate;
        at_ = start;
        fail(fmt::format("unknown dtype '{}'", text));
    }

    std::vector<sym::Expr> list() {
        std::vector<sym::Expr> made;
        expect("[");
        if (take("]")) return made;
        do made.push_back(expr({",", "]"}));
        while (take(","));
        expect("]");
        return made;
    }

    std::string quoted() {
        std::string text;
        if (at_end() || line_[at_] != '"') fail("expected '\"'");
        for (at_++; at_ < line_.size() && line_[at_] != '"'; at_++) {
            if (line_[at_] == '\\' && at_ + 1 < line_.size())
                text += line_[++at_] == 'n' ? '\n' : line_[at_];
            else
                text += line_[at_];
        }
        if (at_end()) fail("the text has no end");
        at_++;
        skip_spaces();
        return text;
    }

    std::vector<std::byte> hexadecimal() {
        std::vector<std::byte> bytes;
        const auto digit = [&]() -> int {
            const char c = at_ < line_.size() ? line_[at_] : ' ';
            if (c >= '0' && c <= '9') return c - '0';
            if (c >= 'a' && c <= 'f') return c - 'a' + 10;
            fail("expected two hexadecimal digits");
        };
        while (!at_end()) {
            const int high = digit();
            at_++;
            const int low = digit();
            at_++;
            bytes.push_back(static_cast<std::byte>(high << 4 | low));
        }
        return bytes;
    }

    void end() const {
        if (!at_end()) fail("expected the end of the line");
    }

    size_t column() const { return at_; }
    void back_to(size_t column) { at_ = column; }

private:
    static bool is_name_character(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '.';
    }

    bool stops_at(size_t at, std::string_view stop) const {
        if (!line_.substr(at).starts_with(stop)) return false;
        if (!is_name_character(stop[0])) return true;
        const size_t end = at + stop.size();
        return at > 0 && line_[at - 1] == ' ' && (end == line_.size() || line_[end] == ' ');
    }

    template <class Result>
    Result parsed(std::string_view text, auto parse) {
        if (text.empty()) fail("expected an expression");
        try {
            Result result = parse(text);
            at_ += text.size();
            skip_spaces();
            return result;
        } catch (const base::UserError& error) {
            fail(fmt::format("in '{}': {}", text, error.what()));
        }
    }

    void skip_spaces() {
        while (at_ < line_.size() && line_[at_] == ' ') at_++;
    }

    std::string_view line_;
    size_t number_;
    size_t at_ = 0;
};

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    HostProgram parse() {
        Cursor first = next("program");
        first.expect("program");
        p_.name = first.name();
        first.end();
        Cursor line = declarations();
        line.expect("setup");
        line.end();
        for (line = next("call"); !line.take("call"); line = next("call")) p_.setup.push_back(launch(line));
        line.end();
        line = call();
        line.expect("outputs");
        line.end();
        for (line = next("end"); !line.take("end"); line = next("end")) output(line);
        line.end();
        if (std::optional<Cursor> more = next_line()) more->fail("expected nothing behind 'end'");
        try {
            verify(p_);
        } catch (const base::InternalError& error) { // what the user wrote is wrong, not we
            throw base::UserError(error.message());
        }
        return std::move(p_);
    }

private:
    /// The next line that is not empty, its comment cut off.
    std::optional<Cursor> next_line() {
        while (!text_.empty()) {
            const size_t length = std::min(text_.find('\n'), text_.size());
            std::string_view line = text_.substr(0, length);
            text_.remove_prefix(std::min(length + 1, text_.size()));
            number_++;
            bool inside_quotes = false;
            for (size_t i = 0; i < line.size(); i++) {
                if (line[i] == '\\' && inside_quotes)
                    i++;
                else if (line[i] == '"')
                    inside_quotes = !inside_quotes;
                else if (line[i] == '#' && !inside_quotes)
                    line = line.substr(0, i);
            }
            while (line.ends_with(' ') || line.ends_with('\r')) line.remove_suffix(1);
            if (line.find_first_not_of(' ') != std::string_view::npos) return Cursor(line, number_);
        }
        return std::nullopt;
    }

    Cursor next(std::string_view expected) {
        if (std::optional<Cursor> line = next_line()) return *line;
        throw base::UserError(fmt::format("the text ends where '{}' is expected", expected), fmt::format("line {}, column 1", number_ + 1));
    }

    Cursor declarations() {
        for (;;) {
            Cursor line = next("setup");
            if (line.take("input"))
                input(line);
            else if (line.take("size"))
                size(line);
            else if (line.take("require"))
                p_.requirements.push_back(line.condition({}));
            else if (line.take("constant"))
                constant(line);
            else if (line.take("prepared")) {
                std::string name = declared(line, Place::prepared, p_.prepared.size());
                p_.prepared.push_back({std::move(name), line.expr({})});
            } else if (line.take("buffer")) {
                std::string name = declared(line, Place::buffer, p_.buffers.size());
                sym::Expr bytes = line.expr({"live"});
                line.expect("live");
                const uint32_t first = line.number();
                line.expect("..");
                p_.buffers.push_back({std::move(name), std::move(bytes), first, line.number()});
            } else if (line.take("storage")) {
                Storage storage;
                storage.name = declared(line, Place::storage, p_.storages.size());
                array(line, storage.dtype, storage.shape, storage.strides);
                p_.storages.push_back(std::move(storage));
            } else
                return line;
            line.end();
        }
    }

    std::string declared(Cursor& line, Place place, size_t index) {
        const size_t column = line.column();
        std::string name = line.name();
        if (!things_.emplace(name, PointerArgument{place, static_cast<uint32_t>(index), 0}).second) {
            line.back_to(column);
            line.fail(fmt::format("'{}' is declared twice", name));
        }
        line.expect(":");
        return name;
    }

    void array(Cursor& line, scalar::DType& dtype, std::vector<sym::Expr>& shape, std::vector<sym::Expr>& strides) {
        dtype = line.dtype();
        shape = line.list();
        line.expect("strides");
        strides = line.list();
    }

    void input(Cursor& line) {
        Input input;
        input.name = declared(line, Place::input, p_.inputs.size());
        if (line.take("int"))
            input.integer = true;
        else {
            array(line, input.dtype, input.shape, input.strides);
            input.frozen = line.take("frozen");
        }
        p_.inputs.push_back(std::move(input));
    }

    void size(Cursor& line) {
        Size size;
        size.symbol = line.name();
        line.expect("=");
        if (line.take("shape"))
            size.source = SizeSource::shape;
        else if (line.take("stride"))
            size.source = SizeSource::stride;
        else if (line.take("value"))
            size.source = SizeSource::value;
        else if (line.take("alignment"))
            size.source = SizeSource::alignment;
        else
            line.fail("expected 'shape', 'stride', 'value' or 'alignment'");
        line.expect("(");
        size.input = InputId(reference(line, {Place::input}).index);
        if (size.source == SizeSource::shape || size.source == SizeSource::stride) {
            line.expect(",");
            size.dimension = line.number();
        }
        line.expect(")");
        p_.sizes.push_back(std::move(size));
    }

    void constant(Cursor& line) {
        Constant constant;
        constant.name = declared(line, Place::constant, p_.constants.size());
        constant.dtype = line.dtype();
        const size_t column = line.column();
        for (const sym::Expr& extent : line.list()) {
            if (!extent.constant()) {
                line.back_to(column);
                line.fail("the shape of a constant has numbers only");
            }
            constant.shape.push_back(*extent.constant());
        }
        line.expect("=");
        constant.bytes = line.hexadecimal();
        p_.constants.push_back(std::move(constant));
    }

    PointerArgument reference(Cursor& line, std::initializer_list<Place> places) {
        const size_t column = line.column();
        const std::string name = line.name();
        const auto found = things_.find(name);
        if (found == things_.end() || std::ranges::find(places, found->second.place) == places.end()) {
            line.back_to(column);
            line.fail(found == things_.end() ? fmt::format("unknown name '{}'", name) : fmt::format("'{}' cannot stand here", name));
        }
        return found->second;
    }

    Launch launch(Cursor& line) {
        Launch launch;
        line.expect("launch");
        launch.kernel = line.name();
        line.expect("(");
        while (!line.take(")")) {
            if (line.take(";")) {
                do launch.integers.push_back(line.expr({",", ")"}));
                while (line.take(","));
                line.expect(")");
                break;
            }
            if (!launch.pointers.empty()) line.expect(",");
            PointerArgument pointer = reference(line, {Place::input, Place::constant, Place::prepared, Place::buffer, Place::storage});
            if (line.take("+")) pointer.offset_bytes = line.expr({",", ";", ")"});
            launch.pointers.push_back(std::move(pointer));
        }
        line.expect("tasks");
        launch.tasks = line.expr({"grain"});
        line.expect("grain");
        launch.grain = line.expr({"scratch", "work", "label"});
        if (line.take("scratch")) launch.scratch_bytes = line.expr({"work", "label"});
        if (line.take("work")) {
            launch.work.flops = line.expr({"flops"});
            line.expect("flops");
            launch.work.bytes = line.expr({"bytes"});
            line.expect("bytes");
            launch.work.dtype = line.dtype();
        }
        if (line.take("label")) launch.label = line.quoted();
        line.end();
        return launch;
    }

    Cursor call() {
        Cursor line = next("outputs");
        for (;;) {
            if (line.take("choice")) {
                line.end();
                Step step;
                for (line = next("when");;) {
                    Alternative alternative;
                    if (line.take("when")) {
                        do alternative.when.push_back(line.condition({","}));
                        while (line.take(","));
                    } else
                        line.expect("otherwise");
                    line.end();
                    for (line = next("launch"); is_launch(line); line = next("outputs")) alternative.launches.push_back(launch(line));
                    step.alternatives.push_back(std::move(alternative));
                    if (step.alternatives.back().when.empty()) break;
                }
                p_.call.push_back(std::move(step));
                continue;
            }
            if (!is_launch(line)) return line;
            p_.call.push_back(single(launch(line)));
            line = next("outputs");
        }
    }

    static bool is_launch(Cursor line) { return line.take("launch"); }

    void output(Cursor& line) {
        Output output;
        if (line.take("view")) {
            line.expect("of");
            const PointerArgument of = reference(line, {Place::storage, Place::input});
            output.place = of.place;
            output.index = of.index;
            line.expect(":");
            array(line, output.dtype, output.shape, output.strides);
            line.expect("offset");
            output.offset = line.expr({});
        } else if (line.take("input")) {
            output = same_input(InputId(reference(line, {Place::input}).index));
        } else if (line.take("size")) {
            output = size_output(line.expr({}));
        } else {
            line.expect("nothing");
            output.kind = OutputKind::nothing;
        }
        line.end();
        p_.outputs.push_back(std::move(output));
    }

    std::string_view text_;
    size_t number_ = 0;
    HostProgram p_;
    std::map<std::string, PointerArgument, std::less<>> things_;
};

} // namespace

HostProgram parse_host_program(std::string_view text) { return Parser(text).parse(); }

} // namespace codetta::runtime
