#include "codetta/frontends/tensor/compiled.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codetta/base/error.h"
#include "codetta/base/log.h"
#include "codetta/base/options.h"
#include "codetta/compile/compile.h"
#include "codetta/compile/report_text.h"
#include "codetta/frontends/tensor/traced_node.h"
#include "codetta/graph/op_def.h"
#include "codetta/runtime/detect_machine.h"
#include "codetta/runtime/executable.h"

namespace codetta::frontends::tensor {

struct Compiled::State {
    graph::Graph graph;
    std::vector<std::shared_ptr<const TracedNode>> parameters; // behind the call's inputs, in the graph's order
    size_t inputs = 0;
    compile::Report report;
    std::string target;
    int threads = 0;
    std::optional<runtime::Executable> executable; // none: the option `interpreter`

    std::vector<Buffer> arguments(const std::vector<Buffer>& given) const;
    void run(const std::vector<Buffer>& given, std::vector<Array>* results, const std::vector<Buffer>* outputs) const;
    void interpret(const std::vector<Buffer>& given, std::vector<Array>* results, const std::vector<Buffer>* outputs) const;
};

namespace {

scalar::HostArray host_array(const Buffer& b) { return scalar::HostArray::borrow(b.dtype(), b.shape(), b.strides(), b.data()); }

void copy(const scalar::HostArray& from, const scalar::HostArray& to) {
    const auto bytes = static_cast<size_t>(scalar::bytes(from.dtype()));
    scalar::for_each_coordinate(from.extents(), [&](std::span<const int64_t> at) { std::memcpy(to.address(at), from.address(at), bytes); });
}

/// The bytes from the first to behind the last element.
std::pair<const std::byte*, const std::byte*> reach(const Buffer& b) {
    const auto* first = static_cast<const std::byte*>(b.data());
    if (b.size() == 0) return {first, first};
    int64_t lo = 0, hi = 1;
    for (size_t d = 0; d < b.shape().size(); ++d) (b.strides()[d] < 0 ? lo : hi) += (b.shape()[d] - 1) * b.strides()[d];
    return {first + lo * scalar::bytes(b.dtype()), first + hi * scalar::bytes(b.dtype())};
}

bool overlap(const Buffer& a, const Buffer& b) {
    const auto [a_begin, a_end] = reach(a);
    const auto [b_begin, b_end] = reach(b);
    return a_begin < b_end && b_begin < a_end;
}

void check_outputs(const std::vector<Buffer>& arguments, const std::vector<Buffer>& outputs, size_t wanted) {
    CODETTA_USER_CHECK(outputs.size() == wanted, "{} outputs are given, {} are computed", outputs.size(), wanted);
    for (size_t i = 0; i < outputs.size(); ++i) {
        CODETTA_USER_CHECK(!outputs[i].read_only(), "output {} can't be written: its pointer is const", i);
        for (size_t a = 0; a < arguments.size(); ++a)
            CODETTA_USER_CHECK(!overlap(outputs[i], arguments[a]), "output {} overlaps argument {}; give it memory of its own", i, a);
        for (size_t j = 0; j < i; ++j)
            CODETTA_USER_CHECK(!overlap(outputs[i], outputs[j]), "output {} overlaps output {}; give it memory of its own", i, j);
    }
}

void check_output(const Buffer& output, size_t index, DType dtype, std::span<const int64_t> shape) {
    CODETTA_USER_CHECK(output.dtype() == dtype, "output {} has dtype {} where {} is computed", index, scalar::to_string(output.dtype()),
                       scalar::to_string(dtype));
    CODETTA_USER_CHECK(std::ranges::equal(output.shape(), shape), "output {} has shape [{}] where [{}] is computed", index,
                       fmt::join(output.shape(), ", "), fmt::join(shape, ", "));
}

/// Gives a result's memory to the program: the caller's where it fits as it is, else an array of our own.
class Allocator : public runtime::OutputAllocator {
public:
    Allocator(const runtime::HostProgram& program, const std::vector<Buffer>* outputs) : program_(program), outputs_(outputs) {}

    void* allocate(size_t storage, DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) override {
        memory.resize(std::max(memory.size(), storage + 1));
        if (const std::optional<size_t> o = output_of(storage)) {
            const Buffer& buffer = (*outputs_)[*o];
            check_output(buffer, *o, dtype, shape);
            if (buffer.contiguous() && std::ranges::equal(strides, scalar::contiguous_strides(shape)))
                return memory[storage].data = buffer.data();
        }
        memory[storage].own.emplace(dtype, std::vector<int64_t>(shape.begin(), shape.end()));
        return memory[storage].data = memory[storage].own->data();
    }

    struct Place {
        void* data = nullptr;
        std::optional<Array> own;
    };
    std::vector<Place> memory;

private:
    /// The first output that is all of this storage.
    std::optional<size_t> output_of(size_t storage) const {
        for (size_t o = 0; outputs_ && o < program_.outputs.size(); ++o) {
            const runtime::Output& output = program_.outputs[o];
            if (output.kind == runtime::OutputKind::view && output.place == runtime::Place::storage && output.index == storage) return o;
        }
        return std::nullopt;
    }

    const runtime::HostProgram& program_;
    const std::vector<Buffer>* outputs_;
};

} // namespace

std::vector<Buffer> Compiled::State::arguments(const std::vector<Buffer>& given) const {
    CODETTA_USER_CHECK(given.size() == inputs, "'{}' takes {} inputs, got {}", graph.name, inputs, given.size());
    std::vector<Buffer> all = given;
    for (const auto& parameter : parameters) all.push_back(*parameter->data);
    return all;
}

void Compiled::State::run(const std::vector<Buffer>& given, std::vector<Array>* results, const std::vector<Buffer>* outputs) const {
    if (!executable) return interpret(given, results, outputs);
    const std::vector<Buffer> all = arguments(given);
    if (outputs) check_outputs(all, *outputs, graph.outputs.size());
    std::vector<runtime::Argument> passed;
    for (size_t i = 0; i < all.size(); ++i) {
        runtime::Argument a;
        a.data = all[i].data();
        a.shape = all[i].shape().data();
        a.strides = all[i].strides().data();
        a.rank = static_cast<uint32_t>(all[i].shape().size());
        a.dtype = all[i].dtype();
        // The record of a parameter lives as long as what is packed from it, so its address names it.
        if (i >= inputs) a.token = reinterpret_cast<uintptr_t>(parameters[i - inputs].get());
        passed.push_back(a);
    }
    Allocator allocator(executable->program(), outputs);
    runtime::Results made;
    runtime::CallOptions options;
    options.threads = threads;
    executable->run(passed, allocator, made, options);
    for (size_t o = 0; o < made.outputs.size(); ++o) {
        const runtime::OutputValue& value = made.outputs[o];
        CODETTA_CHECK(value.kind == runtime::OutputKind::view || value.kind == runtime::OutputKind::input, "output {} is no array", o);
        scalar::HostArray array;
        if (value.kind == runtime::OutputKind::input)
            array = host_array(all[value.index]);
        else {
            void* base = value.place == runtime::Place::storage ? allocator.memory[value.index].data : all[value.index].data();
            array = scalar::HostArray::borrow(value.dtype, {value.shape.begin(), value.shape.end()},
                                              {value.strides.begin(), value.strides.end()},
                                              static_cast<std::byte*>(base) + value.offset * scalar::bytes(value.dtype));
        }
        const bool in_storage = value.kind == runtime::OutputKind::view && value.place == runtime::Place::storage;
        if (outputs) {
            const Buffer& wanted = (*outputs)[o];
            if (in_storage && array.data() == wanted.data()) continue;
            check_output(wanted, o, array.dtype(), array.extents());
            copy(array, host_array(wanted));
        } else if (in_storage && value.whole_storage && allocator.memory[value.index].own) {
            results->push_back(*allocator.memory[value.index].own);
        } else {
            results->emplace_back(array.dtype(), array.extents());
            copy(array, host_array(results->back()));
        }
    }
}

void Compiled::State::interpret(const std::vector<Buffer>& given, std::vector<Array>* results, const std::vector<Buffer>* outputs) const {
    const std::vector<Buffer> all = arguments(given);
    if (outputs) check_outputs(all, *outputs, graph.outputs.size());
    std::vector<scalar::HostArray> arrays;
    for (const Buffer& b : all) arrays.push_back(host_array(b));
    const std::vector<scalar::HostArray> made = graph::interpret(graph, vocabulary(), arrays, {});
    for (size_t o = 0; o < made.size(); ++o) {
        if (outputs)
            check_output((*outputs)[o], o, made[o].dtype(), made[o].extents());
        else
            results->emplace_back(made[o].dtype(), made[o].extents());
        copy(made[o], host_array(outputs ? (*outputs)[o] : results->back()));
    }
}

std::vector<Array> Compiled::operator()(const std::vector<Buffer>& inputs) const {
    std::vector<Array> results;
    state_->run(inputs, &results, nullptr);
    return results;
}

void Compiled::operator()(const std::vector<Buffer>& inputs, const std::vector<Buffer>& outputs) const {
    state_->run(inputs, nullptr, &outputs);
}

void Compiled::refresh() {
    if (state_->executable) state_->executable->refresh();
}

std::string Compiled::explain() const {
    return compile::in_short(state_->graph.name, state_->report, state_->target) + compile::at_length(state_->report);
}

const graph::Graph& Compiled::graph() const { return state_->graph; }

Compiled compile(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, const OptionList& option_list,
                 const std::string& name) {
    const base::Options options = base::apply_options(base::apply_environment(), option_list);
    base::set_log_level(base::parse_log_level(options.log_level));
    auto state = std::make_shared<Compiled::State>();
    state->graph = trace(inputs, outputs, name);
    for (graph::Input& input : state->graph.inputs) input.frozen |= options.freeze && input.kind == graph::InputKind::parameter;
    state->parameters = parameters_of(outputs);
    state->inputs = inputs.size();
    state->threads = options.threads;
    const base::Target target = runtime::host_target(options.target);
    state->target = options.interpreter ? "the interpreter" : target.name;
    if (!options.interpreter) state->executable.emplace(codetta::compile::compile(state->graph, target, options, {}, &state->report));
    return Compiled(std::move(state));
}

} // namespace codetta::frontends::tensor
