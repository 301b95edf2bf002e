"""The numerics contract: no further from fp64 than eager is, up to a factor and one unit of the dtype."""

from __future__ import annotations

import torch

UNIT = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
FACTOR = 1.5


def relative_rms_error(actual: torch.Tensor, reference: torch.Tensor) -> float:
    """RMS of the difference over RMS of the reference (absolute where that is zero). NaN and Inf must stand at the same places."""
    actual, reference = actual.detach().double(), reference.detach().double()
    assert torch.equal(actual.isnan(), reference.isnan()), "NaN at other places"
    infinite = reference.isinf()
    assert torch.equal(actual[infinite], reference[infinite]), "Inf at other places"
    finite = reference.isfinite()
    difference, size = (actual - reference)[finite], reference[finite]
    if difference.numel() == 0:
        return 0.0
    scale = size.pow(2).mean().sqrt().item()
    return difference.pow(2).mean().sqrt().item() / (scale if scale > 0 else 1.0)


def check_tensor(name: str, ours: torch.Tensor, eager: torch.Tensor, reference: torch.Tensor, *, strides: bool = True) -> None:
    """dtype, shape and strides as eager's; values within the contract (integers and bool: equal).

    NaN and Inf must be eager's or fp64's, element by element: eager's own vectorised kernels disagree with fp64 in places (gelu(inf) is NaN
    in f32, inf in fp64), and there both are right.
    """
    assert ours.dtype == eager.dtype, f"{name}: {ours.dtype}, eager gives {eager.dtype}"
    assert ours.shape == eager.shape, f"{name}: shape {tuple(ours.shape)}, eager gives {tuple(eager.shape)}"
    same = all(a == b or n <= 1 for a, b, n in zip(ours.stride(), eager.stride(), eager.shape))
    assert same or eager.numel() == 0 or not strides, f"{name}: strides {ours.stride()}, eager gives {eager.stride()}"
    if not eager.dtype.is_floating_point:
        assert torch.equal(ours, eager), f"{name}: values differ"
        return
    reference = _with_eager_specials(ours, eager, reference)
    eager = torch.where(reference.isfinite(), eager, reference.to(eager.dtype))
    bound = max(FACTOR * relative_rms_error(eager, reference), UNIT[eager.dtype])
    error = relative_rms_error(ours, reference)
    assert error <= bound, f"{name}: relative RMS error {error:.3g} against fp64 exceeds {bound:.3g}"


def _with_eager_specials(ours: torch.Tensor, eager: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """The fp64 values; where eager has another NaN or Inf there and ours agrees with eager, eager's."""
    ours, eager, reference = ours.detach().double(), eager.detach().double(), reference.detach().double()
    differs = (eager.isnan() != reference.isnan()) | (eager.isinf() | reference.isinf()) & (eager != reference)
    same_as_eager = (ours.isnan() & eager.isnan()) | (ours.isinf() & (ours == eager))
    return torch.where(differs & same_as_eager, eager, reference)
