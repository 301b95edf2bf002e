// One compiled part of a model, called from Python with a list of tensors and integers.
#include "codetta/base/error.h"
#include "python/bind/bind.h"
#include "python/bind/runner.h"
#include "python/bind/torch_border.h"

#include <fmt/ranges.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace codetta::python {
namespace {

/// What one call works with; reused, so that a call allocates nothing of its own.
struct CallState {
    std::vector<runtime::Argument> arguments;
    std::vector<PyObject*> objects; ///< of the arguments, borrowed from the caller's list
    std::vector<nb::object> storages;
    runtime::Results results;
};

/// Torch tensors for the storages. Called under the GIL, which is given up after the last one: from there on only kernels run.
class TorchAllocator : public runtime::OutputAllocator {
public:
    TorchAllocator(const TorchBorder& border, std::vector<nb::object>& storages, size_t count)
        : border_(border), storages_(storages), left_(count) {
        if (left_ == 0) release();
    }
    ~TorchAllocator() override { acquire(); }
    TorchAllocator(const TorchAllocator&) = delete;
    TorchAllocator& operator=(const TorchAllocator&) = delete;

    void* allocate(size_t, scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) override {
        storages_.push_back(make(dtype, shape, strides));
        runtime::Argument made;
        border_.read(storages_.back().ptr(), made, 0);
        if (--left_ == 0) release();
        return made.data;
    }
    void acquire() {
        if (thread_) PyEval_RestoreThread(std::exchange(thread_, nullptr));
    }

private:
    nb::object make(scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) const {
        try {
            return border_.empty(dtype, shape, strides);
        } catch (nb::python_error& error) {
            if (!error.matches(PyExc_RuntimeError) || std::string_view(error.what()).find("allocate memory") == std::string_view::npos)
                throw;
            throw base::UserError(fmt::format("no memory for a result: {}[{}]", scalar::to_string(dtype), fmt::join(shape, ", ")),
                                  "call of a compiled graph", "use smaller inputs or a machine with more memory");
        }
    }
    void release() { thread_ = PyEval_SaveThread(); }

    const TorchBorder& border_;
    std::vector<nb::object>& storages_;
    size_t left_;
    PyThreadState* thread_ = nullptr;
};

using ProfileRow = std::tuple<std::string, std::string, int64_t, double, double, double, std::string>;

class Segment {
public:
    /// positions: where in the caller's list each argument of the runner lies (tensors, then integers).
    /// layout: which result of the runner stands in each place of the returned list; -1: None.
    /// frozen: which arguments are frozen weights. threads: 0 = as many as torch uses.
    Segment(std::shared_ptr<const TorchBorder> border, std::unique_ptr<Runner> runner, std::vector<uint32_t> positions, size_t integers,
            std::vector<int> layout, std::vector<uint32_t> frozen, int threads)
        : border_(std::move(border)), runner_(std::move(runner)), positions_(std::move(positions)), tensors_(positions_.size() - integers),
          layout_(std::move(layout)), frozen_(std::move(frozen)), threads_(threads) {
        if (!frozen_.empty()) watcher_ = border_->identities().watch([this](uint64_t token) { runner_->forget(token); });
    }
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;
    ~Segment() {
        if (watcher_ != 0) border_->identities().unwatch(watcher_);
    }

    nb::object call(const nb::list& arguments) {
        std::unique_ptr<CallState> state = take_state();
        const size_t given = static_cast<size_t>(PyList_Size(arguments.ptr()));
        for (size_t i = 0; i < positions_.size(); i++) {
            if (positions_[i] >= given)
                throw base::UserError(fmt::format("{} arguments, {} or more are needed", given, positions_[i] + 1),
                                      "call of a compiled graph");
            PyObject* object = PyList_GetItem(arguments.ptr(), static_cast<Py_ssize_t>(positions_[i]));
            state->objects[i] = object;
            if (i < tensors_) {
                border_->read(object, state->arguments[i], positions_[i]);
            } else {
                const long long value = PyLong_AsLongLong(object);
                if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
                state->arguments[i] = runtime::Argument::of_integer(value);
            }
        }
        for (uint32_t i : frozen_) border_->read_identity(state->objects[i], state->arguments[i]);
        runtime::CallOptions options;
        options.threads = threads_ > 0 ? threads_ : border_->threads();
        options.profile = profiling_ ? &profile_ : nullptr;
        {
            TorchAllocator allocator(*border_, state->storages, runner_->storage_count());
            runner_->run(state->arguments, allocator, state->results, options);
        }
        nb::object outputs = make_outputs(*state);
        give_back(std::move(state));
        return outputs;
    }

    void refresh() { runner_->refresh(); }
    std::string description() const { return runner_->description(); }
    void start_profile() {
        profile_.clear();
        profiling_ = true;
    }
    std::vector<ProfileRow> stop_profile() {
        profiling_ = false;
        std::vector<ProfileRow> rows;
        for (const runtime::LaunchTime& row : profile_)
            rows.emplace_back(row.kernel, row.label, row.tasks, row.time_us, row.flops, row.bytes, scalar::to_string(row.dtype));
        return rows;
    }

private:
    std::unique_ptr<CallState> take_state() {
        std::unique_ptr<CallState> state;
        if (!idle_.empty()) {
            state = std::move(idle_.back());
            idle_.pop_back();
            return state;
        }
        state = std::make_unique<CallState>();
        state->arguments.resize(positions_.size());
        state->objects.resize(positions_.size());
        return state;
    }

    void give_back(std::unique_ptr<CallState> state) {
        state->storages.clear();
        idle_.push_back(std::move(state));
    }

    nb::object make_outputs(CallState& state) const {
        nb::list outputs;
        for (int place : layout_) {
            if (place < 0)
                outputs.append(nb::none());
            else
                outputs.append(make_output(state, state.results.outputs[static_cast<size_t>(place)]));
        }
        return outputs;
    }

    nb::object make_output(CallState& state, const runtime::OutputValue& value) const {
        switch (value.kind) {
        case runtime::OutputKind::nothing: return nb::none();
        case runtime::OutputKind::size: return nb::int_(value.offset);
        case runtime::OutputKind::input: return nb::borrow(state.objects[value.index]);
        case runtime::OutputKind::view: break;
        }
        if (value.place == runtime::Place::storage && value.whole_storage) return state.storages[value.index];
        PyObject* base = value.place == runtime::Place::storage ? state.storages[value.index].ptr() : state.objects[value.index];
        return border_->view(base, value.shape, value.strides, value.offset);
    }

    std::shared_ptr<const TorchBorder> border_;
    std::unique_ptr<Runner> runner_;
    std::vector<uint32_t> positions_;
    size_t tensors_;
    std::vector<int> layout_;
    std::vector<uint32_t> frozen_;
    int threads_;
    uint64_t watcher_ = 0;
    std::vector<std::unique_ptr<CallState>> idle_; // under the GIL
    bool profiling_ = false;
    std::vector<runtime::LaunchTime> profile_;
};

} // namespace

void bind_segment(nb::module_& module) {
    nb::class_<TorchBorder>(module, "TorchBorder", "How tensors are read and made; one per process.")
        .def(
            "__init__",
            [](TorchBorder* border, nb::object exchange, nb::object empty_strided, nb::object as_strided, nb::object thread_count,
               nb::dict dtypes) {
                new (border) TorchBorder(std::move(exchange), std::move(empty_strided), std::move(as_strided), std::move(thread_count),
                                         std::move(dtypes));
            },
            nb::arg("exchange"), nb::arg("empty_strided"), nb::arg("as_strided"), nb::arg("thread_count"), nb::arg("dtypes"));

    nb::class_<Segment>(module, "Segment", "A compiled graph; called with a list of arguments, it returns the list of outputs.")
        .def("__call__", &Segment::call, nb::arg("arguments"))
        .def("refresh", &Segment::refresh, "Forget what was prepared from frozen weights.")
        .def_prop_ro("description", &Segment::description, "What the compiler says of it, for people.")
        .def("start_profile", &Segment::start_profile)
        .def("stop_profile", &Segment::stop_profile,
             "Rows (kernel, label, tasks, microseconds, flops, bytes, dtype of products) since start_profile.");

    module.def(
        "make_segment",
        [](std::shared_ptr<TorchBorder> border, const graph::Graph& graph, std::vector<uint32_t> positions, size_t integers,
           std::vector<int> layout, std::vector<uint32_t> frozen, const base::Options& options) {
            std::unique_ptr<Runner> runner;
            {
                nb::gil_scoped_release release;
                runner = options.interpreter ? make_interpreter(graph) : make_compiled(graph, options);
            }
            return new Segment(std::move(border), std::move(runner), std::move(positions), integers, std::move(layout), std::move(frozen),
                               options.threads);
        },
        nb::arg("border"), nb::arg("graph"), nb::arg("positions"), nb::arg("integers"), nb::arg("layout"), nb::arg("frozen"),
        nb::arg("options"), nb::rv_policy::take_ownership);
}

} // namespace codetta::python
