#include "codetta/base/error.h"
#include "codetta/runtime/host_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace codetta::runtime {

namespace {

bool is_name(std::string_view name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$'; };
    return !name.empty() && letter(name[0]) &&
           std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '.'; });
}

class Verifier {
public:
    explicit Verifier(const HostProgram& program) : p_(program) {}

    void verify() {
        names();
        sizes();
        for (const sym::Condition& condition : p_.requirements) known(condition, "a requirement");
        constants();
        for (const Prepared& prepared : p_.prepared) known(prepared.bytes, prepared.name);
        for (const Buffer& buffer : p_.buffers) {
            known(buffer.bytes, buffer.name);
            require(buffer.first <= buffer.last && buffer.last < p_.call.size(), "buffer '{}' lives in steps {}..{} of {}", buffer.name,
                    buffer.first, buffer.last, p_.call.size());
        }
        for (const Storage& storage : p_.storages) array(storage.shape, storage.strides, storage.name);
        for (const Launch& launch : p_.setup) setup_launch(launch);
        for (size_t i = 0; i < p_.call.size(); i++) step(i);
        for (size_t i = 0; i < p_.outputs.size(); i++) output(i);
    }

private:
    template <class... Args>
    void require(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
        if (!condition)
            throw base::InternalError(fmt::format("host program '{}': {}", p_.name, fmt::format(format, std::forward<Args>(args)...)));
    }

    void names() {
        std::set<std::string> seen;
        const auto add = [&](const std::string& name) {
            require(is_name(name), "'{}' is no name", name);
            require(seen.insert(name).second, "two things named '{}'", name);
        };
        require(is_name(p_.name), "the program's name is no name");
        for (const Input& input : p_.inputs) add(input.name);
        for (const Constant& constant : p_.constants) add(constant.name);
        for (const Prepared& prepared : p_.prepared) add(prepared.name);
        for (const Buffer& buffer : p_.buffers) add(buffer.name);
        for (const Storage& storage : p_.storages) add(storage.name);
        for (const Size& size : p_.sizes) {
            require(is_name(size.symbol), "'{}' is no name of a size", size.symbol);
            require(sizes_.insert(size.symbol).second, "two sizes named '{}'", size.symbol);
        }
    }

    void sizes() {
        for (const Size& size : p_.sizes) {
            require(size.input.value < p_.inputs.size(), "size '{}' of an unknown input", size.symbol);
            const Input& input = p_.inputs[size.input.value];
            require(input.integer == (size.source == SizeSource::value), "size '{}' asks input '{}' for what it does not have", size.symbol,
                    input.name);
            if (size.source == SizeSource::shape || size.source == SizeSource::stride)
                require(size.dimension < input.shape.size(), "size '{}' of dimension {} of input '{}', which has {}", size.symbol,
                        size.dimension, input.name, input.shape.size());
        }
        for (const Input& input : p_.inputs) {
            if (input.integer)
                require(!input.frozen && input.shape.empty() && input.strides.empty(), "integer input '{}' is frozen or has a shape",
                        input.name);
            else
                array(input.shape, input.strides, input.name);
        }
    }

    void constants() {
        for (const Constant& constant : p_.constants) {
            int64_t elements = 1;
            for (int64_t extent : constant.shape) {
                require(extent >= 0 && (extent == 0 || elements <= INT64_MAX / 8 / extent), "constant '{}' has an impossible shape",
                        constant.name);
                elements *= extent;
            }
            const int64_t bytes = elements * scalar::bytes(constant.dtype);
            require(static_cast<int64_t>(constant.bytes.size()) == bytes, "constant '{}' has {} bytes where its shape needs {}",
                    constant.name, constant.bytes.size(), bytes);
        }
    }

    void known(const sym::Expr& expr, std::string_view where) const { known_symbols(sym::symbols(expr), where); }

    void known(const sym::Condition& condition, std::string_view where) const {
        std::set<std::string> symbols;
        sym::collect_symbols(condition, symbols);
        known_symbols(symbols, where);
    }

    void known_symbols(const std::set<std::string>& symbols, std::string_view where) const {
        for (const std::string& symbol : symbols) require(sizes_.contains(symbol), "'{}' uses the unknown size '{}'", where, symbol);
    }

    void array(const std::vector<sym::Expr>& shape, const std::vector<sym::Expr>& strides, std::string_view where) const {
        require(shape.size() == strides.size(), "'{}' has {} dimensions but {} strides", where, shape.size(), strides.size());
        for (const sym::Expr& extent : shape) known(extent, where);
        for (const sym::Expr& stride : strides) known(stride, where);
    }

    size_t count_of(Place place) const {
        switch (place) {
        case Place::input: return p_.inputs.size();
        case Place::constant: return p_.constants.size();
        case Place::prepared: return p_.prepared.size();
        case Place::buffer: return p_.buffers.size();
        case Place::storage: return p_.storages.size();
        }
        return 0;
    }

    void launch(const Launch& launch) const {
        require(is_name(launch.kernel), "'{}' is no name of a kernel", launch.kernel);
        for (const PointerArgument& pointer : launch.pointers) {
            require(pointer.index < count_of(pointer.place), "{} reads something unknown", launch.kernel);
            if (pointer.place == Place::input)
                require(!p_.inputs[pointer.index].integer, "{} takes the address of integer input '{}'", launch.kernel,
                        p_.inputs[pointer.index].name);
            known(pointer.offset_bytes, launch.kernel);
        }
        for (const sym::Expr& integer : launch.integers) known(integer, launch.kernel);
        known(launch.tasks, launch.kernel);
        known(launch.grain, launch.kernel);
        known(launch.scratch_bytes, launch.kernel);
        known(launch.work.flops, launch.kernel);
        known(launch.work.bytes, launch.kernel);
    }

    void setup_launch(const Launch& l) const {
        launch(l);
        for (const PointerArgument& pointer : l.pointers) {
            require(pointer.place != Place::buffer && pointer.place != Place::storage, "{} in setup touches memory of a call", l.kernel);
            if (pointer.place == Place::input)
                require(p_.inputs[pointer.index].frozen, "{} in setup reads input '{}', which is not frozen", l.kernel,
                        p_.inputs[pointer.index].name);
        }
    }

    void step(size_t number) const {
        const Step& step = p_.call[number];
        require(!step.alternatives.empty() && step.alternatives.back().when.empty(), "step {} has no unconditional last alternative",
                number);
        for (const Alternative& alternative : step.alternatives) {
            require(&alternative == &step.alternatives.back() || !alternative.when.empty(),
                    "step {} has an alternative behind an unconditional one", number);
            for (const sym::Condition& condition : alternative.when) known(condition, "a condition");
            for (const Launch& l : alternative.launches) {
                launch(l);
                for (const PointerArgument& pointer : l.pointers) {
                    if (pointer.place != Place::buffer) continue;
                    const Buffer& buffer = p_.buffers[pointer.index];
                    require(buffer.first <= number && number <= buffer.last, "{} in step {} uses buffer '{}' outside its life {}..{}",
                            l.kernel, number, buffer.name, buffer.first, buffer.last);
                }
            }
        }
    }

    void output(size_t number) const {
        const Output& output = p_.outputs[number];
        const std::string where = fmt::format("output {}", number);
        known(output.offset, where);
        switch (output.kind) {
        case OutputKind::view:
            require(output.place == Place::storage || output.place == Place::input, "{} is a view of neither a storage nor an input",
                    where);
            require(output.index < count_of(output.place), "{} is a view of something unknown", where);
            require(output.place == Place::storage || !p_.inputs[output.index].integer, "{} is a view of an integer", where);
            return array(output.shape, output.strides, where);
        case OutputKind::input: return require(output.index < p_.inputs.size(), "{} is an unknown input", where);
        case OutputKind::size:
        case OutputKind::nothing: return;
        }
    }

    const HostProgram& p_;
    std::set<std::string> sizes_;
};

} // namespace

void verify(const HostProgram& program) { Verifier(program).verify(); }

} // namespace codetta::runtime
