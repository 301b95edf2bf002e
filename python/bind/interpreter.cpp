#include "codetta/base/error.h"
#include "codetta/graph/op_def.h"
#include "codetta/ops/list.h"
#include "python/bind/runner.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace codetta::python {
namespace {

using scalar::HostArray;

std::vector<int64_t> evaluate_all(const std::vector<sym::Expr>& exprs, const sym::Bindings& sizes) {
    std::vector<int64_t> numbers;
    for (const sym::Expr& e : exprs) numbers.push_back(sym::evaluate(e, sizes));
    return numbers;
}

void copy_elements(const std::byte* src, std::span<const int64_t> src_strides, std::byte* dst, std::span<const int64_t> dst_strides,
                   std::span<const int64_t> extents, int64_t bytes) {
    if (extents.empty()) {
        std::memcpy(dst, src, static_cast<size_t>(bytes));
        return;
    }
    for (int64_t i = 0; i < extents[0]; i++)
        copy_elements(src + i * src_strides[0] * bytes, src_strides.subspan(1), dst + i * dst_strides[0] * bytes, dst_strides.subspan(1),
                      extents.subspan(1), bytes);
}

/// Keeps the numbers that a Results' spans point into.
struct Kept {
    std::deque<std::vector<int64_t>> numbers;
    std::vector<runtime::OutputValue> outputs;
    std::span<const int64_t> keep(std::vector<int64_t> v) { return numbers.emplace_back(std::move(v)); }
};

class Interpreter : public Runner {
public:
    explicit Interpreter(graph::Graph graph) : ops_(ops::list()), graph_(std::move(graph)), storages_only_(graph_) {
        storages_only_.outputs.clear();
        for (const graph::Output& output : graph_.outputs) {
            using Kind = graph::Output::Kind;
            if (output.kind == Kind::size || find_input(graph_, output.value) || storage_of(output.value) < storages_.size()) continue;
            storages_.push_back(output.value);
            storages_only_.outputs.push_back({.kind = Kind::value, .value = output.value, .view_type = {}, .offset = 0, .size = 0});
        }
        for (const graph::Input& input : graph_.inputs)
            if (input.kind != graph::InputKind::constant) arguments_.push_back(input.value);
    }

    size_t storage_count() const override { return storages_.size(); }

    void run(std::span<const runtime::Argument> arguments, runtime::OutputAllocator& allocator, runtime::Results& results,
             const runtime::CallOptions&) const override {
        std::vector<HostArray> arrays;
        for (const runtime::Argument& a : arguments.first(arguments_.size()))
            arrays.push_back(HostArray::borrow(a.dtype, {a.shape, a.shape + a.rank}, {a.strides, a.strides + a.rank}, a.data));
        std::vector<int64_t> integers;
        for (const runtime::Argument& a : arguments.subspan(arguments_.size())) integers.push_back(a.integer);
        const sym::Bindings sizes = graph::bind_sizes(graph_, arrays, integers);

        auto kept = std::make_shared<Kept>();
        std::vector<HostArray> targets;
        for (size_t s = 0; s < storages_.size(); s++) {
            const graph::TensorType& type = graph_.type(storages_[s]);
            const auto shape = kept->keep(evaluate_all(type.shape, sizes)), strides = kept->keep(evaluate_all(type.strides, sizes));
            void* data = allocator.allocate(s, type.dtype, shape, strides);
            targets.push_back(HostArray::borrow(type.dtype, {shape.begin(), shape.end()}, {strides.begin(), strides.end()}, data));
        }
        const std::vector<HostArray> values = graph::interpret(storages_only_, ops_, arrays, integers);
        for (size_t s = 0; s < targets.size(); s++)
            copy_elements(values[s].data(), values[s].strides(), targets[s].data(), targets[s].strides(), targets[s].extents(),
                          scalar::bytes(targets[s].dtype()));
        for (const graph::Output& output : graph_.outputs) kept->outputs.push_back(describe(output, sizes, *kept));
        results.outputs = kept->outputs;
        results.keeper = std::shared_ptr<const runtime::SizedProgram>(std::move(kept), nullptr);
    }

private:
    size_t storage_of(graph::ValueId v) const {
        return static_cast<size_t>(std::find(storages_.begin(), storages_.end(), v) - storages_.begin());
    }

    runtime::OutputValue describe(const graph::Output& output, const sym::Bindings& sizes, Kept& kept) const {
        using Kind = graph::Output::Kind;
        runtime::OutputValue value;
        if (output.kind == Kind::size) {
            value.kind = runtime::OutputKind::size;
            value.offset = sym::evaluate(output.size, sizes);
            return value;
        }
        const auto argument = std::find(arguments_.begin(), arguments_.end(), output.value);
        const bool of_input = argument != arguments_.end();
        value.place = of_input ? runtime::Place::input : runtime::Place::storage;
        value.index = static_cast<uint32_t>(of_input ? static_cast<size_t>(argument - arguments_.begin()) : storage_of(output.value));
        if (output.kind == Kind::input) {
            value.kind = runtime::OutputKind::input;
            return value;
        }
        const graph::TensorType& type = output.kind == Kind::view ? output.view_type : graph_.type(output.value);
        value.kind = runtime::OutputKind::view;
        value.dtype = type.dtype;
        value.shape = kept.keep(evaluate_all(type.shape, sizes));
        value.strides = kept.keep(evaluate_all(type.strides, sizes));
        value.offset = output.kind == Kind::view ? sym::evaluate(output.offset, sizes) : 0;
        value.whole_storage = output.kind == Kind::value;
        return value;
    }

    graph::OpSet ops_;
    graph::Graph graph_, storages_only_; // the second returns each storage once
    std::vector<graph::ValueId> storages_, arguments_;
};

} // namespace

std::unique_ptr<Runner> make_interpreter(graph::Graph graph) { return std::make_unique<Interpreter>(std::move(graph)); }

} // namespace codetta::python
