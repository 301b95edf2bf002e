#include "codetta/runtime/argument_check.h"

#include "codetta/base/error.h"
#include "codetta/runtime/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace codetta::runtime {

namespace {

std::string place_of(const HostProgram& program, size_t index) {
    return fmt::format("argument {} ('{}')", index, program.inputs[index].name);
}

std::string list(std::span<const int64_t> values) {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); i++) text += fmt::format("{}{}", i ? ", " : "", values[i]);
    return text + "]";
}

std::string list(const std::vector<sym::Expr>& exprs) {
    std::string text = "[";
    for (size_t i = 0; i < exprs.size(); i++) text += (i ? ", " : "") + sym::to_string(exprs[i]);
    return text + "]";
}

/// "[3, 768]", or "[s0, 768] = [3, 768]" where sizes are involved.
std::string expected_text(const std::vector<sym::Expr>& exprs, std::span<const int64_t> values) {
    const bool fixed = std::ranges::all_of(exprs, [](const sym::Expr& expr) { return expr.constant().has_value(); });
    return fixed ? list(values) : fmt::format("{} = {}", list(exprs), list(values));
}

[[noreturn]] void throw_rank(const HostProgram& program, size_t index, uint32_t rank) {
    throw base::UserError(fmt::format("has {} dimensions where {} is expected", rank, list(program.inputs[index].shape)),
                          place_of(program, index));
}

const char* device_name(Device device) { return device == Device::cuda ? "cuda" : "a device that Codetta does not know"; }

bool same(std::span<const int64_t> expected, const int64_t* given) {
    for (size_t i = 0; i < expected.size(); i++)
        if (expected[i] != given[i]) return false;
    return true;
}

/// Strides of dimensions of size 1 say nothing, nor do those of empty arrays.
bool same_strides(const SizedArray& expected, const int64_t* given) {
    if (expected.empty) return true;
    for (size_t i = 0; i < expected.shape.size(); i++)
        if (expected.strides[i] != given[i] && expected.shape[i] != 1) return false;
    return true;
}

bool fits(const Input& input, const SizedArray& expected, const Argument& argument) {
    return argument.dtype == input.dtype && argument.device == Device::cpu && argument.rank == expected.shape.size() &&
           same(expected.shape, argument.shape) && same_strides(expected, argument.strides) && (argument.data != nullptr || expected.empty);
}

[[noreturn]] void throw_misfit(const HostProgram& program, size_t index, const SizedArray& expected, const Argument& argument) {
    const Input& input = program.inputs[index];
    const std::string place = place_of(program, index);
    if (argument.device != Device::cpu)
        throw base::UserError(fmt::format("lies on {} where cpu is expected", device_name(argument.device)), place, "move it to the cpu");
    if (argument.dtype != input.dtype)
        throw base::UserError(
            fmt::format("has dtype {} where {} is expected", scalar::to_string(argument.dtype), scalar::to_string(input.dtype)), place,
            "convert it, or compile again for this dtype");
    if (argument.rank != expected.shape.size()) throw_rank(program, index, argument.rank);
    const std::span<const int64_t> shape(argument.shape, argument.rank), strides(argument.strides, argument.rank);
    if (!same(expected.shape, argument.shape))
        throw base::UserError(fmt::format("has shape {} where {} is expected", list(shape), expected_text(input.shape, expected.shape)),
                              place);
    if (!same_strides(expected, argument.strides))
        throw base::UserError(
            fmt::format("has strides {} where {} are expected", list(strides), expected_text(input.strides, expected.strides)), place,
            "copy it into an array with these strides");
    throw base::UserError("has no data", place, "pass a real array");
}

int64_t alignment_of(const void* data) {
    const auto address = reinterpret_cast<uintptr_t>(data);
    const uintptr_t divisor = address & (~address + 1); // the lowest bit that is set; 0 for null
    return divisor == 0 || divisor > memory_alignment_bytes ? static_cast<int64_t>(memory_alignment_bytes) : static_cast<int64_t>(divisor);
}

} // namespace

void gather_symbols(const HostProgram& program, std::span<const Argument> arguments, std::span<int64_t> symbols) {
    if (arguments.size() != program.inputs.size())
        throw base::UserError(fmt::format("'{}' takes {} arguments, got {}", program.name, program.inputs.size(), arguments.size()));
    for (size_t i = 0; i < program.sizes.size(); i++) {
        const Size& size = program.sizes[i];
        const Argument& argument = arguments[size.input.value];
        const bool has_dimension = size.source == SizeSource::shape || size.source == SizeSource::stride;
        if (has_dimension && argument.rank != program.inputs[size.input.value].shape.size())
            throw_rank(program, size.input.value, argument.rank);
        switch (size.source) {
        case SizeSource::shape: symbols[i] = argument.shape[size.dimension]; break;
        case SizeSource::stride: symbols[i] = argument.strides[size.dimension]; break;
        case SizeSource::value: symbols[i] = argument.integer; break;
        case SizeSource::alignment: symbols[i] = alignment_of(argument.data); break;
        }
    }
}

void check_arguments(const HostProgram& program, const SizedProgram& sized, std::span<const Argument> arguments) {
    for (size_t i = 0; i < arguments.size(); i++) {
        const Input& input = program.inputs[i];
        if (!input.integer && !fits(input, sized.inputs[i], arguments[i])) [[unlikely]]
            throw_misfit(program, i, sized.inputs[i], arguments[i]);
    }
}

} // namespace codetta::runtime
