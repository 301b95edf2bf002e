#include "codetta/runtime/sized_program.h"

#include "codetta/base/error.h"
#include "codetta/runtime/arena_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

namespace codetta::runtime {

namespace {

/// Calls `visit` for every launch of the program in a fixed order: set-up, then step by step, alternative by alternative.
template <class Visit>
void for_each_launch(const HostProgram& program, Visit visit) {
    for (const Launch& launch : program.setup) visit(launch);
    for (const Step& step : program.call)
        for (const Alternative& alternative : step.alternatives)
            for (const Launch& launch : alternative.launches) visit(launch);
}

/// All expressions, then all conditions, in the order in which Evaluation takes them.
struct Collected {
    std::vector<sym::Expr> exprs;
    std::vector<sym::Condition> conditions;

    explicit Collected(const HostProgram& program) {
        for (const Input& input : program.inputs) array(input.shape, input.strides);
        for (const Storage& storage : program.storages) array(storage.shape, storage.strides);
        for (const Output& output : program.outputs) {
            array(output.shape, output.strides);
            exprs.push_back(output.offset);
        }
        for (const Prepared& prepared : program.prepared) exprs.push_back(prepared.bytes);
        for (const Buffer& buffer : program.buffers) exprs.push_back(buffer.bytes);
        for_each_launch(program, [&](const Launch& launch) {
            for (const PointerArgument& pointer : launch.pointers) exprs.push_back(pointer.offset_bytes);
            append(launch.integers);
            exprs.push_back(launch.tasks);
            exprs.push_back(launch.grain);
            exprs.push_back(launch.scratch_bytes);
        });
        append_conditions(program.requirements);
        for (const Step& step : program.call)
            for (const Alternative& alternative : step.alternatives) append_conditions(alternative.when);
    }

private:
    void append(const std::vector<sym::Expr>& more) { exprs.insert(exprs.end(), more.begin(), more.end()); }
    void append_conditions(const std::vector<sym::Condition>& more) { conditions.insert(conditions.end(), more.begin(), more.end()); }
    void array(const std::vector<sym::Expr>& shape, const std::vector<sym::Expr>& strides) {
        append(shape);
        append(strides);
    }
};

std::vector<std::string> symbols_of(const HostProgram& program) {
    std::vector<std::string> names;
    for (const Size& size : program.sizes) names.push_back(size.symbol);
    return names;
}

} // namespace

SizeCalculator::SizeCalculator(const HostProgram& program, const FindKernel& find_kernel) : program_(program) {
    const Collected all(program);
    expressions_ = sym::FlatProgram(symbols_of(program), all.exprs, all.conditions);
    expression_count_ = all.exprs.size();
    for_each_launch(program, [&](const Launch& launch) {
        const Kernel* kernel = find_kernel(launch.kernel);
        CODETTA_CHECK(kernel != nullptr, "program '{}' launches kernel '{}', which is in none of its code images", program.name,
                      launch.kernel);
        CODETTA_CHECK(launch.pointers.size() == kernel->signature.pointers.size() &&
                          launch.integers.size() == kernel->signature.integers.size(),
                      "program '{}' launches {} with {} pointers and {} integers; its signature is {}", program.name, launch.kernel,
                      launch.pointers.size(), launch.integers.size(), base::to_string(kernel->signature));
        kernels_.push_back(kernel);
    });
}

uint32_t SizeCalculator::base_of(Place place) const {
    size_t base = 0;
    if (place == Place::input) return static_cast<uint32_t>(base);
    base += program_.inputs.size();
    if (place == Place::constant) return static_cast<uint32_t>(base);
    base += program_.constants.size();
    if (place == Place::prepared) return static_cast<uint32_t>(base);
    base += program_.prepared.size();
    if (place == Place::storage) return static_cast<uint32_t>(base);
    return static_cast<uint32_t>(base + program_.storages.size()); // the arena, where all buffers lie
}

size_t SizeCalculator::base_count() const { return base_of(Place::buffer) + 1; }

/// One evaluation: takes the values in the order in which Collected put them.
class SizeCalculator::Evaluation {
public:
    Evaluation(const SizeCalculator& calculator, std::span<const int64_t> symbols)
        : calculator_(calculator), program_(calculator.program_), frame_(calculator.expressions_.frame_size()) {
        std::ranges::copy(symbols, frame_.begin());
        calculator.expressions_.evaluate(std::span<int64_t>(frame_));
        next_condition_ = calculator.expression_count_;
        sized_.symbols.assign(symbols.begin(), symbols.end());
    }

    SizedProgram run() {
        check_requirements();
        // The spans must not move: room for all is made at once.
        sized_.numbers.reserve(calculator_.expressions_.output_count());
        size_t pointers = 0;
        for_each_launch(program_, [&](const Launch& launch) { pointers += launch.pointers.size(); });
        sized_.pointers.reserve(pointers);

        for (const Input& input : program_.inputs) sized_.inputs.push_back(array(input.shape.size()));
        for (const Storage& storage : program_.storages) {
            sized_.storages.push_back(array(storage.shape.size()));
            check_extents(sized_.storages.back(), storage.name);
        }
        for (const Output& output : program_.outputs) add_output(output);
        for (const Prepared& prepared : program_.prepared) {
            sized_.prepared_bytes.push_back(bytes(prepared.name));
            sized_.setup_numbers.push_back(sized_.prepared_bytes.back());
        }
        lay_out_buffers();
        size_t launch_number = 0;
        for (const Launch& launch : program_.setup) add_launch(launch, launch_number++, sized_.setup);
        for (const SizedLaunch& launch : sized_.setup) add_setup_numbers(launch);
        const int64_t setup_scratch = sized_.scratch_bytes;

        // The launches of alternatives that are not taken are stepped over.
        sized_.scratch_bytes = 0;
        for (const Step& step : program_.call) {
            bool taken = false;
            for (const Alternative& alternative : step.alternatives) {
                bool holds = true;
                for (size_t i = 0; i < alternative.when.size(); i++) holds &= condition();
                std::vector<SizedLaunch> skipped;
                const int64_t scratch_before = sized_.scratch_bytes;
                const bool take = holds && !taken;
                for (const Launch& launch : alternative.launches) add_launch(launch, launch_number++, take ? sized_.call : skipped);
                if (!take) sized_.scratch_bytes = scratch_before;
                taken |= holds;
            }
        }
        sized_.scratch_bytes = std::max(sized_.scratch_bytes, setup_scratch);
        for (const SizedLaunch& launch : sized_.call) sized_.most_pointers += launch.pointers.size();
        return std::move(sized_);
    }

private:
    int64_t value() { return frame_[calculator_.expressions_.output(next_++)]; }
    bool condition() { return frame_[calculator_.expressions_.output(next_condition_++)] != 0; }

    int64_t bytes(std::string_view name) {
        const int64_t value = this->value();
        CODETTA_CHECK(value >= 0, "program '{}': '{}' has {} bytes", program_.name, name, value);
        return value;
    }

    std::span<const int64_t> numbers(size_t count) {
        const size_t begin = sized_.numbers.size();
        for (size_t i = 0; i < count; i++) sized_.numbers.push_back(value());
        return std::span(sized_.numbers).subspan(begin, count);
    }

    SizedArray array(size_t rank) {
        SizedArray made;
        made.shape = numbers(rank);
        made.strides = numbers(rank);
        for (int64_t extent : made.shape) made.empty |= extent == 0;
        return made;
    }

    void check_extents(const SizedArray& array, std::string_view name) const {
        for (int64_t extent : array.shape)
            CODETTA_USER_CHECK(extent >= 0, "'{}' cannot run with {}: '{}' would have an extent of {}", program_.name, values_of({}), name,
                               extent);
    }

    /// "s0 = 3 (dimension 0 of 'x'), ..." for the symbols asked for, or for all.
    std::string values_of(const std::set<std::string>& symbols) const {
        std::string values;
        for (size_t i = 0; i < program_.sizes.size(); i++) {
            const Size& size = program_.sizes[i];
            if (!symbols.empty() && !symbols.contains(size.symbol)) continue;
            const std::string& input = program_.inputs[size.input.value].name;
            values += fmt::format("{}{} = {} ({})", values.empty() ? "" : ", ", size.symbol, sized_.symbols[i], source_text(size, input));
        }
        return values;
    }

    void add_output(const Output& output) {
        const SizedArray view = array(output.shape.size());
        check_extents(view, fmt::format("output {}", sized_.outputs.size()));
        OutputValue made{output.kind, output.place, output.index, output.dtype, view.shape, view.strides, value(), false};
        if (output.kind == OutputKind::view && output.place == Place::storage) {
            const SizedArray& storage = sized_.storages[output.index];
            made.whole_storage = made.offset == 0 && output.dtype == program_.storages[output.index].dtype &&
                                 std::ranges::equal(view.shape, storage.shape) && std::ranges::equal(view.strides, storage.strides);
        }
        sized_.outputs.push_back(made);
    }

    void lay_out_buffers() {
        std::vector<BufferLife> lives;
        for (const Buffer& buffer : program_.buffers) lives.push_back({bytes(buffer.name), buffer.first, buffer.last});
        ArenaLayout layout = lay_out_arena(lives);
        buffer_offsets_ = std::move(layout.offsets);
        sized_.arena_bytes = layout.bytes;
    }

    void add_launch(const Launch& launch, size_t number, std::vector<SizedLaunch>& to) {
        SizedLaunch made;
        made.kernel = calculator_.kernels_[number];
        made.source = &launch;
        const size_t begin = sized_.pointers.size();
        for (const PointerArgument& pointer : launch.pointers) {
            const bool in_arena = pointer.place == Place::buffer;
            sized_.pointers.push_back({calculator_.base_of(pointer.place) + (in_arena ? 0 : pointer.index),
                                       value() + (in_arena ? buffer_offsets_[pointer.index] : 0)});
        }
        made.pointers = std::span(sized_.pointers).subspan(begin);
        made.integers = numbers(launch.integers.size());
        made.tasks = value();
        made.grain = std::max<int64_t>(1, value());
        made.scratch_bytes = bytes(launch.kernel);
        if (made.tasks <= 0) return;
        sized_.scratch_bytes = std::max(sized_.scratch_bytes, made.scratch_bytes);
        to.push_back(made);
    }

    void add_setup_numbers(const SizedLaunch& launch) {
        for (const SizedPointer& pointer : launch.pointers) sized_.setup_numbers.push_back(pointer.offset_bytes);
        sized_.setup_numbers.insert(sized_.setup_numbers.end(), launch.integers.begin(), launch.integers.end());
        sized_.setup_numbers.push_back(launch.tasks);
    }

    void check_requirements() {
        for (const sym::Condition& requirement : program_.requirements) {
            if (condition()) continue;
            std::set<std::string> symbols;
            sym::collect_symbols(requirement, symbols);
            throw base::UserError(fmt::format("'{}' needs {}, but {}", program_.name, sym::to_string(requirement), values_of(symbols)));
        }
    }

    static std::string source_text(const Size& size, const std::string& input) {
        switch (size.source) {
        case SizeSource::shape: return fmt::format("dimension {} of '{}'", size.dimension, input);
        case SizeSource::stride: return fmt::format("stride {} of '{}'", size.dimension, input);
        case SizeSource::value: return fmt::format("the value of '{}'", input);
        case SizeSource::alignment: return fmt::format("the alignment of '{}'", input);
        }
        return input;
    }

    const SizeCalculator& calculator_;
    const HostProgram& program_;
    std::vector<int64_t> frame_;
    size_t next_ = 0;
    size_t next_condition_ = 0;
    std::vector<int64_t> buffer_offsets_;
    SizedProgram sized_;
};

SizedProgram SizeCalculator::calculate(std::span<const int64_t> symbols) const { return Evaluation(*this, symbols).run(); }

} // namespace codetta::runtime
