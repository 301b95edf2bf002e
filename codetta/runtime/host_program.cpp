#include "codetta/runtime/host_program.h"

#include <fmt/format.h>

namespace codetta::runtime {

Step single(Launch launch) { return {.alternatives = {{.when = {}, .launches = {std::move(launch)}}}}; }

Output whole(const HostProgram& program, StorageId id) {
    const Storage& storage = program.storages.at(id.value);
    return {.kind = OutputKind::view,
            .place = Place::storage,
            .index = id.value,
            .dtype = storage.dtype,
            .shape = storage.shape,
            .strides = storage.strides,
            .offset = 0};
}

Output same_input(InputId input) {
    return {.kind = OutputKind::input, .place = Place::input, .index = input.value, .shape = {}, .strides = {}};
}

Output size_output(sym::Expr value) { return {.kind = OutputKind::size, .shape = {}, .strides = {}, .offset = std::move(value)}; }

namespace {

std::string list(const std::vector<sym::Expr>& exprs) {
    std::string text = "[";
    for (size_t i = 0; i < exprs.size(); i++) text += (i ? ", " : "") + sym::to_string(exprs[i]);
    return text + "]";
}

std::string array(scalar::DType dtype, const std::vector<sym::Expr>& shape, const std::vector<sym::Expr>& strides) {
    return fmt::format("{}{} strides {}", scalar::to_string(dtype), list(shape), list(strides));
}

std::string hexadecimal(const std::vector<std::byte>& bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (std::byte b : bytes) {
        text += digits[std::to_integer<int>(b) >> 4];
        text += digits[std::to_integer<int>(b) & 15];
    }
    return text;
}

std::string quoted(const std::string& label) {
    std::string text = "\"";
    for (char c : label) {
        if (c == '\n') {
            text += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') text += '\\';
        text += c;
    }
    return text + "\"";
}

class Printer {
public:
    explicit Printer(const HostProgram& program) : p_(program) {}

    std::string print() {
        line(0, "program {}", p_.name);
        for (const Input& input : p_.inputs) {
            if (input.integer)
                line(1, "input {}: int", input.name);
            else
                line(1, "input {}: {}{}", input.name, array(input.dtype, input.shape, input.strides), input.frozen ? " frozen" : "");
        }
        for (const Size& size : p_.sizes) line(1, "size {} = {}", size.symbol, source(size));
        for (const sym::Condition& condition : p_.requirements) line(1, "require {}", sym::to_string(condition));
        for (const Constant& constant : p_.constants) {
            const std::vector<sym::Expr> shape(constant.shape.begin(), constant.shape.end());
            line(1, "constant {}: {}{} = {}", constant.name, scalar::to_string(constant.dtype), list(shape), hexadecimal(constant.bytes));
        }
        for (const Prepared& prepared : p_.prepared) line(1, "prepared {}: {}", prepared.name, sym::to_string(prepared.bytes));
        for (const Buffer& buffer : p_.buffers)
            line(1, "buffer {}: {} live {}..{}", buffer.name, sym::to_string(buffer.bytes), buffer.first, buffer.last);
        for (const Storage& storage : p_.storages)
            line(1, "storage {}: {}", storage.name, array(storage.dtype, storage.shape, storage.strides));
        line(0, "setup");
        for (const Launch& launch : p_.setup) print_launch(1, launch);
        line(0, "call");
        for (const Step& step : p_.call) print_step(step);
        line(0, "outputs");
        for (const Output& output : p_.outputs) line(1, "{}", print_output(output));
        line(0, "end");
        return std::move(text_);
    }

private:
    template <class... Args>
    void line(int depth, fmt::format_string<Args...> format, Args&&... args) {
        text_.append(static_cast<size_t>(2 * depth), ' ');
        text_ += fmt::format(format, std::forward<Args>(args)...);
        while (text_.ends_with(' ')) text_.pop_back(); // an empty constant
        text_ += '\n';
    }

    std::string source(const Size& size) const {
        const std::string& input = p_.inputs.at(size.input.value).name;
        switch (size.source) {
        case SizeSource::shape: return fmt::format("shape({}, {})", input, size.dimension);
        case SizeSource::stride: return fmt::format("stride({}, {})", input, size.dimension);
        case SizeSource::value: return fmt::format("value({})", input);
        case SizeSource::alignment: return fmt::format("alignment({})", input);
        }
        return "?";
    }

    const std::string& name_of(Place place, uint32_t index) const {
        switch (place) {
        case Place::input: return p_.inputs.at(index).name;
        case Place::constant: return p_.constants.at(index).name;
        case Place::prepared: return p_.prepared.at(index).name;
        case Place::buffer: return p_.buffers.at(index).name;
        case Place::storage: return p_.storages.at(index).name;
        }
        return p_.name;
    }

    void print_launch(int depth, const Launch& launch) {
        std::string arguments;
        for (const PointerArgument& pointer : launch.pointers) {
            arguments += (arguments.empty() ? "" : ", ") + name_of(pointer.place, pointer.index);
            if (!pointer.offset_bytes.is(0)) arguments += " + " + sym::to_string(pointer.offset_bytes);
        }
        for (size_t i = 0; i < launch.integers.size(); i++) arguments += (i ? ", " : "; ") + sym::to_string(launch.integers[i]);
        std::string tail = fmt::format("tasks {} grain {}", sym::to_string(launch.tasks), sym::to_string(launch.grain));
        if (!launch.scratch_bytes.is(0)) tail += " scratch " + sym::to_string(launch.scratch_bytes);
        if (launch.work != Work{})
            tail += fmt::format(" work {} flops {} bytes {}", sym::to_string(launch.work.flops), sym::to_string(launch.work.bytes),
                                scalar::to_string(launch.work.dtype));
        if (!launch.label.empty()) tail += " label " + quoted(launch.label);
        line(depth, "launch {}({}) {}", launch.kernel, arguments, tail);
    }

    void print_step(const Step& step) {
        if (step.alternatives.size() == 1 && step.alternatives[0].when.empty() && step.alternatives[0].launches.size() == 1)
            return print_launch(1, step.alternatives[0].launches[0]);
        line(1, "choice");
        for (const Alternative& alternative : step.alternatives) {
            std::string when;
            for (const sym::Condition& condition : alternative.when) when += (when.empty() ? "when " : ", ") + sym::to_string(condition);
            line(2, "{}", when.empty() ? "otherwise" : when);
            for (const Launch& launch : alternative.launches) print_launch(3, launch);
        }
    }

    std::string print_output(const Output& output) const {
        switch (output.kind) {
        case OutputKind::view:
            return fmt::format("view of {}: {} offset {}", name_of(output.place, output.index),
                               array(output.dtype, output.shape, output.strides), sym::to_string(output.offset));
        case OutputKind::input: return fmt::format("input {}", p_.inputs.at(output.index).name);
        case OutputKind::size: return fmt::format("size {}", sym::to_string(output.offset));
        case OutputKind::nothing: return "nothing";
        }
        return "?";
    }

    const HostProgram& p_;
    std::string text_;
};

} // namespace

std::string to_string(const HostProgram& program) { return Printer(program).print(); }

} // namespace codetta::runtime
