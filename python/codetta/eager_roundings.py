"""numerics="eager": Python numbers beside 16-bit tensors, rounded where ATen's CPU kernels round them before they compute.

Multiplication, division and most others take the number as it is; these convert it to the tensor's dtype first.
"""

from __future__ import annotations

import torch

_NARROW = (torch.bfloat16, torch.float16)
_ROUNDING = {  # packet: which numeric arguments
    "aten::add": ("other", "alpha"),
    "aten::sub": ("other", "alpha"),
    "aten::rsub": ("other", "alpha"),
    "aten::pow": ("exponent",),
    "aten::remainder": ("other",),
    "aten::fmod": ("other",),
}


def rounded_argument(target: torch._ops.OpOverload, name: str, value: object, dtype: torch.dtype | None) -> object:
    """`value`, or where ATen rounds it to `dtype` (of the node's result) what becomes of it."""
    if dtype not in _NARROW or not isinstance(value, float) or name not in _ROUNDING.get(target._schema.name, ()):
        return value
    return float(torch.tensor(value, dtype=torch.float64).to(dtype))
