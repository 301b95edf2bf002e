// torch.result_type: which dtype an operation on several operands computes in.
#pragma once

#include <optional>

#include "codetta/scalar/dtype.h"

namespace codetta::frontends::aten {

/// Collects operands and gives their common dtype. Tensors with dimensions rank over 0-d tensors, those over Python numbers; a lower rank
/// only matters when it is of a higher kind (bool < integer < float).
class Promotion {
public:
    void add_tensor(scalar::DType dtype, bool zero_dimensional);
    void add_number(scalar::DType dtype); ///< boolean, i64 or f64: a Python bool, int or float
    /// @post f32 (torch's default dtype) where only Python floats decide; nullopt when nothing was added
    std::optional<scalar::DType> result() const;

private:
    std::optional<scalar::DType> dimensional_, zero_, number_;
};

} // namespace codetta::frontends::aten
