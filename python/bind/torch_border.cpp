#include "python/bind/torch_border.h"

#include <nanobind/stl/string.h>

#include "codetta/base/error.h"

namespace nb = nanobind;

namespace codetta::python {
namespace {

constexpr int32_t dlpack_cpu = 1;

// DLPack's type codes with their widths.
std::optional<scalar::DType> dtype_of(const DlpackTensor& tensor) {
    using scalar::DType;
    switch (tensor.type_code) {
    case 0:
        return tensor.type_bits == 64 ? DType::i64 : tensor.type_bits == 32 ? DType::i32 : tensor.type_bits == 16 ? DType::i16 : DType::i8;
    case 1: return tensor.type_bits == 8 ? std::optional(DType::u8) : std::nullopt;
    case 2: return tensor.type_bits == 64 ? DType::f64 : tensor.type_bits == 32 ? DType::f32 : DType::f16;
    case 4: return DType::bf16;
    case 6: return DType::boolean;
    default: return std::nullopt;
    }
}

nb::object to_tuple(std::span<const int64_t> numbers) {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
    if (!tuple) nb::raise_python_error();
    for (size_t i = 0; i < numbers.size(); i++) {
        PyObject* number = PyLong_FromLongLong(numbers[i]);
        if (!number || PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), number) != 0) {
            Py_DECREF(tuple);
            nb::raise_python_error();
        }
    }
    return nb::steal(tuple);
}

nb::object call(const nb::object& function, std::initializer_list<PyObject*> arguments) {
    std::array<PyObject*, 5> a = {};
    std::copy(arguments.begin(), arguments.end(), a.begin());
    PyObject* result = PyObject_CallFunctionObjArgs(function.ptr(), a[0], a[1], a[2], a[3], a[4], nullptr);
    if (!result) nb::raise_python_error();
    return nb::steal(result);
}

/// For the error: "a Tensor on device meta", "a Tensor of layout torch.sparse_coo", "of type int".
std::string what_it_is(PyObject* object) {
    const nb::handle given(object);
    const std::string type = nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))).attr("__name__"));
    if (!nb::hasattr(given, "device") || !nb::hasattr(given, "layout")) return "of type " + type;
    const auto text = [&](const char* attribute) { return nb::cast<std::string>(nb::str(nb::handle(nb::object(given.attr(attribute))))); };
    if (text("layout") != "torch.strided") return fmt::format("a {} of layout {}", type, text("layout"));
    return fmt::format("a {} on device {}", type, text("device"));
}

} // namespace

TorchBorder::TorchBorder(nb::object exchange, nb::object empty_strided, nb::object as_strided, nb::object thread_count, nb::dict dtypes)
    : keep_exchange_(std::move(exchange)), empty_strided_(std::move(empty_strided)), as_strided_(std::move(as_strided)),
      thread_count_(std::move(thread_count)), version_name_(nb::str("_version")) {
    const auto* api = static_cast<const DlpackExchange*>(PyCapsule_GetPointer(keep_exchange_.ptr(), "dlpack_exchange_api"));
    if (!api) nb::raise_python_error();
    while (api && api->major != 1) api = api->previous;
    if (!api || !api->tensor_from_py_object)
        throw base::UserError("this torch has no DLPack 1 exchange interface", "import codetta", "use torch 2.13.0 to 2.14.1");
    exchange_ = api;
    for (size_t i = 0; i < scalar::kDTypes.size(); i++) {
        const std::string name(scalar::to_string(scalar::kDTypes[i]));
        dtypes_[i] = dtypes[name.c_str()];
    }
}

void TorchBorder::read(PyObject* tensor, runtime::Argument& out, size_t position) const {
    DlpackTensor view;
    if (exchange_->tensor_from_py_object(tensor, &view) != 0) {
        PyErr_Clear();
        throw base::UserError(fmt::format("argument {} is {}", position, what_it_is(tensor)), "call of a compiled graph",
                              "pass a dense torch.Tensor on the CPU");
    }
    const std::optional<scalar::DType> dtype = dtype_of(view);
    if (!dtype)
        throw base::UserError(fmt::format("argument {} has a dtype that Codetta does not know", position), "call of a compiled graph");
    out.data = static_cast<std::byte*>(view.data) + view.byte_offset;
    out.shape = view.shape;
    out.strides = view.strides;
    out.rank = static_cast<uint32_t>(view.ndim);
    out.dtype = *dtype;
    out.device = view.device_type == dlpack_cpu ? runtime::Device::cpu
                 : view.device_type == 2        ? runtime::Device::cuda
                                                : runtime::Device::other;
    if (view.data == nullptr) {
        for (int32_t d = 0; d < view.ndim; d++)
            if (view.shape[d] == 0) return;
        throw base::UserError(fmt::format("argument {} has no memory: it is a FakeTensor, or its storage was freed", position),
                              "call of a compiled graph", "pass a tensor that holds data");
    }
}

void TorchBorder::read_identity(PyObject* tensor, runtime::Argument& out) const {
    out.token = identities_->token(tensor);
    PyObject* version = PyObject_GetAttr(tensor, version_name_.ptr());
    if (!version) { // inference tensors keep no version
        PyErr_Clear();
        out.version = 0;
        return;
    }
    out.version = static_cast<uint64_t>(PyLong_AsLongLong(version));
    Py_DECREF(version);
}

nb::object TorchBorder::empty(scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) const {
    const nb::object size = to_tuple(shape), stride = to_tuple(strides);
    return call(empty_strided_, {size.ptr(), stride.ptr(), dtypes_[static_cast<size_t>(dtype)].ptr()});
}

nb::object TorchBorder::view(PyObject* base, std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t offset) const {
    const nb::object size = to_tuple(shape), stride = to_tuple(strides);
    const nb::object first = nb::steal(PyLong_FromLongLong(offset));
    return call(as_strided_, {base, size.ptr(), stride.ptr(), first.ptr()});
}

int TorchBorder::threads() const { return static_cast<int>(PyLong_AsLong(call(thread_count_, {}).ptr())); }

} // namespace codetta::python
