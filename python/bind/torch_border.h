// The border to torch at call time, with no torch header: tensors are read through the DLPack exchange interface that torch publishes,
// outputs are made by torch's own allocating function, so that they are ordinary tensors in every respect.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "codetta/runtime/executable.h"
#include "python/bind/identities.h"

namespace codetta::python {

// The parts of DLPack 1.3's C interface that are used here (the layout is DLPack's, https://dmlc.github.io/dlpack/).
struct DlpackTensor {
    void* data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t type_code, type_bits;
    uint16_t type_lanes;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
};

struct DlpackExchange {
    uint32_t major, minor;
    const DlpackExchange* previous;
    void* managed_tensor_allocator;
    void* managed_tensor_from_py_object;
    void* managed_tensor_to_py_object;
    int (*tensor_from_py_object)(void* py_object, DlpackTensor* out);
    void* current_work_stream;
};

class TorchBorder {
public:
    /// exchange: the capsule torch.Tensor.__dlpack_c_exchange_api__; empty_strided(size, stride, dtype); as_strided(tensor, size, stride,
    /// offset); thread_count(); dtypes: torch's dtype objects by Codetta's spelling.
    TorchBorder(nanobind::object exchange, nanobind::object empty_strided, nanobind::object as_strided, nanobind::object thread_count,
                nanobind::dict dtypes);

    /// @post out describes the tensor; its shape and strides live as long as the tensor object
    /// @throws UserError "argument 2 (`x`) is no tensor", "... has no memory: it is a FakeTensor" ...
    void read(PyObject* tensor, runtime::Argument& out, size_t position) const;
    void read_identity(PyObject* tensor, runtime::Argument& out) const;
    nanobind::object empty(scalar::DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) const;
    nanobind::object view(PyObject* base, std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t offset) const;
    int threads() const;
    Identities& identities() const { return *identities_; }

private:
    const DlpackExchange* exchange_ = nullptr;
    nanobind::object keep_exchange_, empty_strided_, as_strided_, thread_count_, version_name_;
    std::array<nanobind::object, scalar::kDTypes.size()> dtypes_;
    std::shared_ptr<Identities> identities_ = std::make_shared<Identities>();
};

} // namespace codetta::python
